/** What a webhook's URL says to the sending side, worked out once per URL. */

import { isIP } from "node:net";

export type Target = {
  /** Connections are shared by requests to the same origin. */
  origin: string;
  secure: boolean;
  /** Without brackets and without the dot of a fully qualified name. */
  host: string;
  port: number;
  /** `localhost` and everything below it: loopback, without asking anybody. */
  loopback: boolean;
  /** The host is an address: it has no server name in TLS. */
  literal: boolean;
  /** Request line and `Host`, and `Authorization` for the credentials of the URL. */
  opening: string;
  authorization: string;
};

/** Null for what is not a full http or https URL. */
export function parseTarget(text: string): Target | null {
  if (!URL.canParse(text)) return null;
  const url = new URL(text);
  const secure = url.protocol === "https:";
  if (!secure && url.protocol !== "http:") return null;
  const host = url.hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
  return {
    origin: url.origin,
    secure,
    host,
    port: url.port === "" ? (secure ? 443 : 80) : Number(url.port),
    loopback: host === "localhost" || host.endsWith(".localhost"),
    literal: isIP(host) !== 0,
    opening: `POST ${requestTarget(url)} HTTP/1.1\r\nHost: ${url.host}\r\n`,
    authorization: authorization(url),
  };
}

/** Path and query as written: `pathname + search` would lose the `?` of an empty query. */
function requestTarget(url: URL): string {
  const withoutFragment = url.href.split("#", 1)[0] ?? "";
  return withoutFragment.slice(withoutFragment.indexOf("/", url.protocol.length + 2));
}

function authorization(url: URL): string {
  if (url.username === "" && url.password === "") return "";
  const credentials = `${decode(url.username)}:${decode(url.password)}`;
  return `Authorization: Basic ${Buffer.from(credentials).toString("base64")}\r\n`;
}

/** A stray percent sign stays what it is. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
