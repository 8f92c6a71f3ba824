/** `analytics-go (version: 2.1.0)`, as the Go library writes it. */
const versionInComment = /^([^\s/(]+)\s*\(version:\s*([^)\s]+)\s*\)/;
const product = /^([^\s/(]+)(?:\/(\S*))?/;

/** A User-Agent may have 16 KB, and every message of a batch carries what is read out of it. */
const maxLength = 100;

/** What a client says of itself in its User-Agent; the version is empty when it names none. */
export function libraryFromUserAgent(userAgent: string | undefined): { name: string; version: string } | null {
  if (userAgent === undefined) return null;
  const text = userAgent.trim();
  const match = versionInComment.exec(text) ?? product.exec(text);
  return match?.[1] === undefined ? null : { name: match[1].slice(0, maxLength), version: (match[2] ?? "").slice(0, maxLength) };
}
