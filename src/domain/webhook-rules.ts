/**
 * What a webhook may look like. Answers are sentences for the person who typed it, or null when all
 * is well.
 */

/** Every host has it; the types of this folder know none. */
declare const URL: { canParse(text: string): boolean };

export const maxWebhooks = 5;
export const maxHeaders = 5;

const parts = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)/i;
const blankOrControl = /[\s\u0000-\u0020\u007f-\u009f]/;
const forbiddenInHost = /[<>^|%[\]@\\:"`{}]/;

export function checkWebhookUrl(url: string): string | null {
  if (url === "") return "Enter the full URL of the webhook, for example https://example.com/hook.";
  if (blankOrControl.test(url))
    return "The URL must not contain spaces, line breaks or control characters. Write a space as %20.";
  const match = parts.exec(url);
  if (match === null) return "Write the full URL, beginning with http:// or https://.";
  const [, scheme = "", authority = ""] = match;
  if (!/^https?$/i.test(scheme))
    return `The URL must start with http:// or https://, not ${scheme}://.`;
  const foreign = /[^\u0000-\u007f]+/.exec(url.slice(match[0].length).replace(/#.*/s, ""))?.[0];
  if (foreign !== undefined) {
    return `Write ${encodeURIComponent(foreign.toWellFormed())} instead of ${foreign} in the URL: its path and query are sent exactly as they are written.`;
  }
  if (authority.includes("\\")) return "Write / instead of \\ in the URL.";
  const hostAndPort = authority.slice(authority.lastIndexOf("@") + 1);
  const bracket = hostAndPort.startsWith("[") ? hostAndPort.indexOf("]") : -1;
  if (hostAndPort.startsWith("[") && bracket === -1)
    return "The IPv6 address in the URL lacks its closing bracket.";
  const colon = hostAndPort.indexOf(":", bracket + 1);
  const host = colon === -1 ? hostAndPort : hostAndPort.slice(0, colon);
  if (host === "") return "The URL has no host name.";
  return checkHost(host) ?? (colon === -1 ? null : checkPort(hostAndPort.slice(colon + 1)));
}

function checkHost(host: string): string | null {
  if (host.startsWith("[")) {
    return host.endsWith("]") && isIpv6(host.slice(1, -1))
      ? null
      : `${host} is not an IPv6 address.`;
  }
  if (forbiddenInHost.test(host)) return illegalIn(host);
  const labels = host.replace(/\.$/, "").split(".");
  if (labels.includes("")) return `The host name ${host} has an empty part between its dots.`;
  // A host whose last part is a number is an IPv4 address everywhere, or nothing.
  if (/^(?:\d+|0x[0-9a-f]*)$/i.test(labels.at(-1) ?? "") && !isIpv4(labels))
    return `${host} is not an IPv4 address.`;
  // Such as a sign that stands for nothing, or for a slash, in the form that DNS knows.
  return URL.canParse(`http://${host}`) ? null : illegalIn(host);
}

function illegalIn(host: string): string {
  return `The host name ${host} contains a character that host names cannot have.`;
}

function isIpv4(labels: string[]): boolean {
  return (
    labels.length === 4 &&
    labels.every((label) => /^(?:0|[1-9]\d{0,2})$/.test(label) && Number(label) <= 255)
  );
}

function isIpv6(text: string): boolean {
  const halves = text.split("::");
  if (halves.length > 2) return false;
  let groups = 0;
  for (const [index, half] of halves.entries()) {
    if (half === "") continue;
    const pieces = half.split(":");
    const last = pieces.at(-1) ?? "";
    if (last.includes(".") && index === halves.length - 1) {
      if (!isIpv4(last.split("."))) return false;
      pieces.pop();
      groups += 2;
    }
    if (!pieces.every((piece) => /^[0-9a-f]{1,4}$/i.test(piece))) return false;
    groups += pieces.length;
  }
  return halves.length === 2 ? groups <= 7 : groups === 8;
}

function checkPort(port: string): string | null {
  const number = /^\d{1,5}$/.test(port) ? Number(port) : 0;
  return number >= 1 && number <= 65_535
    ? null
    : `The port in the URL must be a number from 1 to 65535, not "${port}".`;
}

const ownHeaders = new Set(["x-signature", "content-type", "user-agent", "host", "content-length"]);
const hopByHopHeaders = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "trailers",
  "proxy-authenticate",
  "proxy-authorization",
  "transfer-encoding",
  "upgrade",
  "expect",
]);
/** Of HTTP: names of headers and products. */
export const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** The name in lower case. */
export function isHopByHop(name: string): boolean {
  return hopByHopHeaders.has(name);
}

export function checkHeader(name: string, value: string): string | null {
  if (name === "") return "A header needs a name.";
  if (!token.test(name)) {
    return `"${name}" is not a legal header name. It may contain letters, digits and the signs ! # $ % & ' * + - . ^ _ \` | ~ only.`;
  }
  const lower = name.toLowerCase();
  if (ownHeaders.has(lower))
    return `Hookyard sets the header ${name} itself. Remove it from the webhook.`;
  if (hopByHopHeaders.has(lower))
    return `The header ${name} belongs to the connection, which Hookyard manages. Remove it from the webhook.`;
  if (/[\r\n]/.test(value)) return `The value of ${name} must not contain line breaks.`;
  if (!/^[\t\u0020-\u007e\u0080-\u00ff]*$/.test(value)) {
    return `The value of ${name} contains a character that HTTP cannot carry. Only printable Latin-1 characters are legal there.`;
  }
  if (/^[\t ]|[\t ]$/.test(value))
    return `The value of ${name} must not start or end with a space.`;
  return null;
}
