/**
 * The client libraries that Hookyard recognises, and the lines of a program that point each of them
 * here. The API serves the line that mends a refused request, and the inspector's programs contain
 * the same lines.
 */

import { shellQuoted } from "./shell-quoted.ts";

export type LibraryId =
  | "curl"
  | "node"
  | "node-classic"
  | "go"
  | "go-classic"
  | "python"
  | "ruby"
  | "php"
  | "java"
  | "browser"
  | "react-native"
  | "kotlin"
  | "swift"
  | "rudderstack";

export type ClientLibrary = {
  /** Null for one whose lines are not known. */
  id: LibraryId | null;
  name: string;
  version: string | null;
  recognisedBy: "user-agent" | "body" | null;
};

const unknownLibrary: ClientLibrary = {
  id: null,
  name: "unknown",
  version: null,
  recognisedBy: null,
};

/** What a User-Agent or `context.library` has of a name, and the library. The first match counts. */
const known: readonly (readonly [pattern: RegExp, id: LibraryId | null, name: string])[] = [
  [/rudder/i, "rudderstack", "RudderStack"],
  [/^analytics-go \(version: [12]\./, "go-classic", "analytics-go"],
  [/analytics-go/i, "go", "analytics-go"],
  [/^analytics-node\/|^analytics-node$/i, "node-classic", "analytics-node"],
  [/analytics-node/i, "node", "@segment/analytics-node"],
  [/analytics-python/i, "python", "segment-analytics-python"],
  [/analytics-?ruby/i, "ruby", "analytics-ruby"],
  [/analytics-php/i, "php", "analytics-php"],
  [/analytics-java/i, "java", "analytics-java"],
  [/analytics-react-native/i, "react-native", "@segment/analytics-react-native"],
  [/analytics-kotlin/i, "kotlin", "analytics-kotlin"],
  [/analytics-swift|analytics-ios/i, "swift", "analytics-swift"],
  [/analytics[-.]?(?:\.net|csharp)/i, null, "Analytics.NET"],
  [/^analytics\.js$/i, "browser", "@segment/analytics-next"],
  [/^hookyard-composer/, null, "the composer"],
];

/** Programs that are no client library. */
const others: typeof known = [
  [/^curl\//i, "curl", "cURL"],
  [/^Mozilla\//, "browser", "a browser"],
];

const maxNameLength = 60;
/** Longer than the User-Agent of any library. The search for a version is quadratic in this length. */
const maxAgentLength = 300;

/** `body` may be cut, damaged or missing: a library is found in it by its name. */
export function recognise(userAgent: string | null, body: string | null): ClientLibrary {
  const agent = (userAgent ?? "").slice(0, maxAgentLength);
  for (const [pattern, id, name] of known)
    if (pattern.test(agent))
      return { id, name, version: digits(agent), recognisedBy: "user-agent" };
  const library = body === null ? null : libraryIn(body);
  if (library !== null) {
    for (const [pattern, id, name] of known)
      if (pattern.test(library.name)) {
        const isClassic = id === "go" && /^[12]\./.test(library.version ?? "");
        return {
          id: isClassic ? "go-classic" : id,
          name,
          version: library.version,
          recognisedBy: "body",
        };
      }
    return { id: null, ...library, recognisedBy: "body" };
  }
  for (const [pattern, id, name] of others)
    if (pattern.test(agent))
      return {
        id,
        name,
        version: id === "curl" ? digits(agent) : null,
        recognisedBy: "user-agent",
      };
  const token = /^[^\s/(]+/.exec(agent)?.[0];
  if (token === undefined) return unknownLibrary;
  return {
    id: null,
    name: token.slice(0, maxNameLength),
    version: digits(agent),
    recognisedBy: "user-agent",
  };
}

function digits(agent: string): string | null {
  return /\d+(?:\.\d+)+/.exec(agent)?.[0].slice(0, maxNameLength) ?? null;
}

function libraryIn(body: string): { name: string; version: string | null } | null {
  const members = /"library"\s*:\s*\{([^{}]{0,400})/.exec(body)?.[1] ?? "";
  const member = (key: string): string | null =>
    new RegExp(`"${key}"\\s*:\\s*"([^"\\\\]{1,${maxNameLength}})"`).exec(members)?.[1] ?? null;
  const name = member("name");
  return name === null ? null : { name, version: member("version")?.replace(/^npm:/, "") ?? null };
}

type Place = { ingestUrl: string; writeKey: string };

/** The line that has the address, and the line that has the write key. */
export type PointingLines = { address: string; key: string };

export function pointingLines(id: LibraryId, { ingestUrl, writeKey }: Place): PointingLines {
  const host = ingestUrl.replace(/^\w+:\/\//, "");
  const [, hostname = host, port = "80"] = /^(.*):(\d+)$/.exec(host) ?? [];
  const url = JSON.stringify(ingestUrl);
  const key = JSON.stringify(writeKey);
  const hostV1 = JSON.stringify(`${host}/v1`);
  const urlV1 = JSON.stringify(`${ingestUrl}/v1`);
  switch (id) {
    case "curl":
      return { address: `curl ${ingestUrl}/v1/track`, key: `-u ${shellQuoted(`${writeKey}:`)}` };
    case "node":
      return { address: `host: ${url},`, key: `writeKey: ${key},` };
    case "node-classic":
      return { address: `host: ${url},`, key: `new Analytics(${key}, {` };
    case "go":
      return {
        address: `Endpoint: ${url},`,
        key: `analytics.NewWithConfig(${key}, analytics.Config{`,
      };
    case "go-classic":
      return { address: `client.Endpoint = ${url}`, key: `client := analytics.New(${key})` };
    case "python":
      return { address: `analytics.host = ${url}`, key: `analytics.write_key = ${key}` };
    case "ruby":
      return {
        address: `host: ${JSON.stringify(hostname)},\n  port: ${port}`,
        key: `write_key: ${rubyString(writeKey)},`,
      };
    case "php":
      return {
        address: `'host' => ${phpString(host)},`,
        key: `Segment::init(${phpString(writeKey)}, [`,
      };
    case "java":
      return { address: `.endpoint(${url})`, key: `Analytics.builder(${key})` };
    case "browser":
      return {
        address: `apiHost: ${hostV1},`,
        key: `{ writeKey: ${key}, cdnURL: ${url} },`,
      };
    case "react-native":
      return {
        address: `proxy: ${urlV1},\n  cdnProxy: ${urlV1},\n  allowInsecureProxy: true,`,
        key: `writeKey: ${key},`,
      };
    case "kotlin":
      return { address: `apiHost = ${hostV1}`, key: `Analytics(${key}, applicationContext) {` };
    case "swift":
      return { address: `.apiHost(${hostV1})`, key: `Configuration(writeKey: ${key})` };
    case "rudderstack":
      return { address: `configUrl: ${url},`, key: `analytics.load(${key}, ${url}, {` };
  }
}

/** JSON's escapes are Ruby's, where `#` may begin an expression. */
function rubyString(text: string): string {
  return JSON.stringify(text).replaceAll("#", "\\#");
}

function phpString(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}

/** What to do about a refused request, and the line of code to change. */
export type Advice = { advice: string | null; line: string | null };

/**
 * By the code of the refusal. A refusal whose own sentence says what to do needs none: advice is
 * for those where the program's configuration is wrong, not what it sends.
 */
export function adviceFor(code: string, library: LibraryId | null, place: Place): Advice {
  const lines = library === null ? null : pointingLines(library, place);
  switch (code) {
    case "unknown_path":
      return {
        advice: `Set the client's address to ${place.ingestUrl}, as its library expects it.`,
        line: lines?.address ?? null,
      };
    case "missing_write_key":
    case "unknown_write_key":
      return { advice: null, line: lines?.key ?? null };
    case "tls_on_plain_port":
      return {
        advice: `Use ${place.ingestUrl} in the client, not https. For a library that allows only TLS, start Hookyard with --ingest-tls-port.`,
        line: lines?.address ?? null,
      };
    case "certificate_not_trusted":
      return {
        advice:
          "Let the client trust the local authority: certificates/authority.pem in the data directory. For Node, its path is the value of NODE_EXTRA_CA_CERTS; for Go, Python, Ruby and PHP, that of SSL_CERT_FILE.",
        line: null,
      };
    case "not_a_proxy":
      return {
        advice: "Exclude this machine from the proxy settings of the client.",
        line: "NO_PROXY=127.0.0.1,localhost",
      };
    case "method_not_allowed":
      return { advice: "Send messages with POST.", line: null };
    default:
      return { advice: null, line: null };
  }
}
