/**
 * From the URL of a webhook to an open socket: parses the target, chooses the authorities,
 * connects. Called by the sender and its connections.
 */

import { lookup } from "node:dns";
import { connect as connectTcp, isIP } from "node:net";
import type { LookupFunction, OnReadOpts, Socket } from "node:net";
import { connect as connectTls, createSecureContext, getCACertificates } from "node:tls";
import type { SecureContext } from "node:tls";

/** What a webhook's URL means for sending, parsed once per URL. */
export type Target = {
  /** Connections are shared by requests to the same origin. */
  origin: string;
  secure: boolean;
  /** Without brackets and without the dot of a fully qualified name. */
  host: string;
  port: number;
  /** `localhost` and everything below it: loopback, without a lookup. */
  loopback: boolean;
  /** The host is an address: it has no server name in TLS. */
  literal: boolean;
  /**
   * The rest of the first line and the `Host` after the method, and `Authorization` for the
   * credentials of the URL.
   */
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
    loopback: isLoopback(host),
    literal: isIP(host) !== 0,
    opening: `${requestTarget(text, url)} HTTP/1.1\r\nHost: ${url.host}\r\n`,
    authorization: authorization(text),
  };
}

// A lane has one URL at a time, and a few over its lifetime, when the user changes it.
const knownTargets = 100;

/** Parses each URL once. */
export function createTargets(): (url: string) => Target | null {
  const targets = new Map<string, Target | null>();
  return (url) => {
    let target = targets.get(url);
    if (target === undefined) {
      target = parseTarget(url);
      if (targets.size === knownTargets) targets.clear();
      targets.set(url, target);
    }
    return target;
  };
}

const written = /^https?:\/\/[^/?#\\]*([/?][\x21-\x22\x24-\x7e]*)?(?:#|$)/i;

/**
 * Path and query as written: a parsed URL has no `..`, and lacks the `?` of an empty query. What
 * HTTP cannot carry is written as the URL standard has it.
 */
function requestTarget(text: string, url: URL): string {
  const match = written.exec(text);
  if (match !== null) {
    const target = match[1] ?? "/";
    return target.startsWith("/") ? target : `/${target}`;
  }
  const withoutFragment = url.href.split("#", 1)[0] ?? "";
  return withoutFragment.slice(withoutFragment.indexOf("/", url.protocol.length + 2));
}

/** Of the text, because a parsed URL has other spellings of some characters. */
function authorization(text: string): string {
  const credentials = /^https?:\/\/([^/?#\\]*)@/i.exec(text)?.[1] ?? "";
  const colon = credentials.indexOf(":");
  const user = colon === -1 ? credentials : credentials.slice(0, colon);
  const password = colon === -1 ? "" : credentials.slice(colon + 1);
  if (user === "" && password === "") return "";
  const pair = Buffer.from(`${decode(user)}:${decode(password)}`);
  return `Authorization: Basic ${pair.toString("base64")}\r\n`;
}

/** A stray percent sign stays as it is. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * The authorities that deliveries over TLS trust: those that come with Node, those of
 * `NODE_EXTRA_CA_CERTS`, those of the system, and the local authority behind the test endpoints.
 * There are no exceptions for single certificates.
 */
export type Trust = {
  secureContext(): SecureContext;
  /** A PEM certificate; null when there is none. */
  localAuthority(): string | null;
};

/**
 * `localAuthority` returns a PEM certificate. It is called at the first use, because the
 * certificate is created then.
 */
export function createTrust({
  localAuthority,
}: { localAuthority?: () => string | null } = {}): Trust {
  let context: SecureContext | null = null;
  return {
    localAuthority: () => localAuthority?.() ?? null,
    // At the first use, because reading the system's store takes tens of milliseconds that most
    // runs never need.
    secureContext() {
      context ??= createSecureContext({
        ca: authorities([localAuthority?.() ?? []].flat()),
      });
      return context;
    },
  };
}

function authorities(added: string[]): string[] {
  return [...new Set([...getCACertificates("default"), ...systemAuthorities(), ...added])];
}

/** If the system's store cannot be read, only its authorities are missing. */
function systemAuthorities(): string[] {
  try {
    return getCACertificates("system");
  } catch {
    return [];
  }
}

// Loopback accepts or refuses at once. If it takes longer, this process is busy, and giving up on
// the address would only end in the refusal of the other one. Longer than any deadline: the
// attempt's own decides.
const loopbackAttemptMs = 2 ** 31 - 1;
/**
 * At other hosts the next address is tried after this long, in place of Node's 250 ms: a far host
 * may take longer, and its other address may not be reachable at all. The attempt has five seconds.
 */
const attemptMs = 2_000;

const loopback = [
  { address: "127.0.0.1", family: 4 },
  { address: "::1", family: 6 },
];

type DialOptions = {
  target: Target;
  trust: Trust;
  onread: OnReadOpts;
  /** DNS has answered; not called when it is not asked. */
  onLookup(): void;
};

export function dial({ target, trust, onread, onLookup }: DialOptions): Socket {
  const options = {
    host: target.host,
    port: target.port,
    noDelay: true,
    onread,
    autoSelectFamily: true,
    lookup: target.loopback ? lookupWithLoopback : lookupFor(onLookup),
    autoSelectFamilyAttemptTimeout: target.loopback ? loopbackAttemptMs : attemptMs,
  };
  if (!target.secure) return connectTcp(options);
  return connectTls({
    ...options,
    secureContext: trust.secureContext(),
    ALPNProtocols: ["http/1.1"],
    // Explicit, because an environment variable can change the default.
    rejectUnauthorized: true,
    ...(target.literal ? {} : { servername: target.host }),
  });
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host.endsWith(".localhost");
}

/**
 * For connections of Node's own client: `localhost` and the names below it are loopback, whatever
 * the machine's resolver returns.
 */
export const withLoopback = (host: string): LoopbackOptions =>
  isLoopback(host)
    ? { lookup: lookupWithLoopback, autoSelectFamilyAttemptTimeout: loopbackAttemptMs }
    : {};

type LoopbackOptions = { lookup?: LookupFunction; autoSelectFamilyAttemptTimeout?: number };

const lookupWithLoopback: LookupFunction = (host, options, answer) => {
  if (!isLoopback(host)) lookup(host, options, answer);
  else if (options.all === true) answer(null, loopback);
  else answer(null, "127.0.0.1", 4);
};

/** Who waits for the addresses of a host, for each lookup in progress. */
const lookups = new Map<string, Parameters<LookupFunction>[2][]>();

/**
 * One lookup per host at a time, which all its connections wait for. A lookup runs in a thread of a
 * small pool and cannot be cancelled: those of a host whose DNS server does not answer would take
 * all threads from the other hosts.
 */
function lookupFor(onLookup: () => void): LookupFunction {
  return (host, options, answer) => {
    const waiting = lookups.get(host);
    const answerOne: typeof answer = (error, addresses) => {
      if (!error) onLookup();
      answer(error, addresses);
    };
    if (waiting !== undefined) return void waiting.push(answerOne);
    const all = [answerOne];
    lookups.set(host, all);
    lookup(host, { ...options, all: true }, (error, addresses) => {
      lookups.delete(host);
      for (const each of all) each(error, addresses);
    });
  };
}
