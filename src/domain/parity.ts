/**
 * What is like the hosted service by a switch, piece by piece, and what works here and would not
 * there.
 */

import type { DestinationId, MessageRowId, SourceId, WebhookId } from "./ids.ts";
import { isObject, type Json } from "./json.ts";
import { defaultSettings, type Destination, type Settings, type Source } from "./configuration.ts";
import { defaultProfile } from "./retry.ts";

const pieceNames = [
  "answers",
  "unknownKeys",
  "vendor",
  "correctClockSkew",
  "retryProfile",
  "contextIp",
  "limitMessageIds",
] as const;
type PieceName = (typeof pieceNames)[number];

/** The last one cannot be changed. */
export const hostedPieces = [...pieceNames, "messagesPerBatch"] as const;

const hosted: Pick<Settings, PieceName> = {
  answers: "production",
  unknownKeys: "production",
  vendor: "Segment.io",
  correctClockSkew: true,
  retryProfile: "hosted",
  contextIp: "direct",
  limitMessageIds: true,
};

const titles: Record<PieceName, string> = {
  answers: "Answers of sources",
  unknownKeys: "Answers to unknown write keys",
  vendor: "User-Agent of deliveries",
  correctClockSkew: "Correction of timestamps",
  retryProfile: "Retry profile of destinations",
  contextIp: "context.ip comes from",
  limitMessageIds: "messageId under 100 characters",
};

/** The changes that the switch stands for. What is not as at the hosted service stays on its way back. */
export function pieceChanges(parity: Settings["parity"], settings: Settings): Partial<Settings> {
  if (parity === "hosted") return { ...hosted };
  const back = pieceNames.filter((name) => settings[name] === hosted[name]);
  return Object.fromEntries(back.map((name) => [name, defaultSettings[name]]));
}

/** In requests of Webhooks (Actions) the hosted service has another name than in all others. */
export const actionsVendor = (vendor: string): string =>
  vendor === hosted.vendor ? "Segment" : vendor;

type Piece = {
  name: (typeof hostedPieces)[number];
  title: string;
  value: string | boolean | number;
  hosted: string | boolean | number;
  isHosted: boolean;
  /** Sources or destinations with a value of their own. */
  others: string[];
};

export function piecesOf(
  settings: Settings,
  sources: readonly Source[],
  destinations: readonly Destination[],
  maxBatchMessages: number,
): Piece[] {
  const others: Partial<Record<PieceName, string[]>> = {
    answers: namesWhere(sources, ({ mode }) => mode !== settings.answers),
    correctClockSkew: namesWhere(
      sources,
      (source) => source.correctClockSkew !== settings.correctClockSkew,
    ),
    retryProfile: namesWhere(
      destinations,
      (destination) => destination.retryProfile !== defaultProfile(destination, settings),
    ),
  };
  const pieces = pieceNames.map((name): Piece => {
    const own = others[name] ?? [];
    return {
      name,
      title: titles[name],
      value: settings[name],
      hosted: hosted[name],
      isHosted: settings[name] === hosted[name] && own.length === 0,
      others: own,
    };
  });
  return [
    ...pieces,
    {
      name: "messagesPerBatch",
      title: "Messages in a batch, at most",
      value: maxBatchMessages,
      hosted: 2500,
      isHosted: maxBatchMessages === 2500,
      others: [],
    },
  ];
}

function namesWhere<One extends { name: string }>(
  all: readonly One[],
  isOther: (one: One) => boolean,
): string[] {
  return all.filter(isOther).map(({ name }) => name);
}

/**
 * `local_url`          a loopback or private address is refused there
 * `plain_http`         requests there are expected over TLS
 * `local_certificate`  TLS at a name below localhost, whose certificate only this machine trusts
 * `wrong_case`         a name in `integrations` changes nothing, here and there
 * `too_large`          a message over 32 KB; a batch answers 200 there, and the message is gone
 * `batch_too_long`     over 2,500 messages; the same
 * `long_message_id`    100 characters or more
 * `too_fast`           more than 1,000 requests a second are answered 429 there
 */
export const hostedFindings = [
  "local_url",
  "plain_http",
  "local_certificate",
  "wrong_case",
  "too_large",
  "batch_too_long",
  "long_message_id",
  "too_fast",
] as const;
type FindingCode = (typeof hostedFindings)[number];

export type Finding = {
  code: FindingCode;
  sentence: string;
  destinationId?: DestinationId;
  webhookId?: WebhookId;
  sourceId?: SourceId;
  messageId?: MessageRowId;
};

/**
 * What the URL of a mapping is known to begin with: up to the first `{{` of a template, unless that
 * is in the host. Null when it has no such text.
 */
export function knownUrl(url: unknown): string | null {
  if (typeof url === "string") return url;
  const directive = url as Json | undefined;
  const template = isObject(directive) ? directive["@template"] : null;
  if (typeof template !== "string") return null;
  const [head = ""] = template.split("{{");
  return head === template || /^https?:\/\/[^/?#]*[/?#]/i.test(head) ? head : null;
}

/** What is wrong with a URL at the hosted service, each with a sentence. */
export function findingsOfUrl(url: string): { code: FindingCode; sentence: string }[] {
  const match = /^(https?):\/\/(?:[^/?#]*@)?(\[[^\]]*\]|[^/?#:]*)/i.exec(url);
  if (match === null) return [];
  const [, scheme = "", host = ""] = match;
  const kind = kindOfHost(host.toLowerCase().replace(/\.$/, ""));
  const findings: { code: FindingCode; sentence: string }[] = [];
  if (kind !== null) {
    const sentence = `${host} is ${kind}. The hosted service refuses such a URL: it sends to public addresses only.`;
    findings.push({ code: "local_url", sentence });
  }
  if (scheme.toLowerCase() === "http") {
    const sentence = `${host} gets requests over plain HTTP. Give the receiver a certificate and use https:// for the hosted service.`;
    findings.push({ code: "plain_http", sentence });
  }
  if (scheme.toLowerCase() === "https" && /(?:^|\.)localhost$/i.test(host)) {
    const sentence = `The certificate of ${host} is self-signed or signed by this installation's authority, which the hosted service does not trust.`;
    findings.push({ code: "local_certificate", sentence });
  }
  return findings;
}

const loopbackAddress = /^127\.|^0\.0\.0\.0$/;
const privateAddress =
  /^(?:10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|169\.254\.|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.)/;
/** This network, documentation, multicast, and the rest above it. */
const reservedAddress = /^(?:0\.|192\.0\.[02]\.|198\.51\.100\.|203\.0\.113\.|22[4-9]\.|2[3-5]\d\.)/;
/** An IPv4 address in IPv6, dotted or as two groups. */
const mappedAddress = /^\[[0:]*:ffff:(?:(\d+(?:\.\d+){3})|([0-9a-f]{1,4}):([0-9a-f]{1,4}))\]$/;

/** Reserved for local networks and tests, or in wide use there; never public. */
const localName =
  /\.(?:local|localdomain|internal|intranet|lan|corp|home|home\.arpa|test|invalid)$/;

/** Null for a public name or address. No name is looked up. */
function kindOfHost(host: string): string | null {
  const loopback = "a loopback address";
  const local = "a private address";
  if (/^\d+(?:\.\d+){3}$/.test(host)) {
    if (loopbackAddress.test(host)) return loopback;
    if (reservedAddress.test(host)) return "a reserved address";
    return privateAddress.test(host) ? local : null;
  }
  const [isMapped, dotted, high = "", low = ""] = mappedAddress.exec(host) ?? [];
  if (isMapped !== undefined) {
    const [one, other] = [parseInt(high, 16), parseInt(low, 16)];
    return kindOfHost(dotted ?? [one >> 8, one & 255, other >> 8, other & 255].join("."));
  }
  if (host.startsWith("[")) {
    if (/^\[[0:]*:0*[01]?\]$/.test(host)) return loopback;
    return /^\[(?:f[cd]|fe[89ab])/.test(host) ? local : null;
  }
  if (/(?:^|\.)localhost$/.test(host)) return loopback;
  if (localName.test(host)) return "a name that public DNS does not have";
  return host.includes(".") ? null : "a name without a domain";
}
