/** `analytics-go (version: 2.1.0)`, as the Go library writes it. */
const versionInComment = /^([^\s/(]+)\s*\(version:\s*([^)\s]+)\s*\)/;
const product = /^([^\s/(]+)(?:\/(\S*))?/;

/** What a client says of itself in its User-Agent; the version is empty when it names none. */
export function libraryFromUserAgent(userAgent: string | undefined): { name: string; version: string } | null {
  if (userAgent === undefined) return null;
  const text = userAgent.trim();
  const match = versionInComment.exec(text) ?? product.exec(text);
  return match?.[1] === undefined ? null : { name: match[1], version: match[2] ?? "" };
}
