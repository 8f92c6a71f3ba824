/**
 * Checks one message and reads the members that the pipeline uses. Ingest calls it for each message
 * of each request; an invalid message does not affect the others. It never changes the message or
 * the frame.
 */

import { isObject, type Json, type JsonObject } from "./json.ts";
import { messageTypes, type MessageType } from "./states.ts";
import { formatTimestamp, parseTimestamp } from "./timestamp.ts";
import { utf8Bytes } from "./utf8.ts";

/** What a message takes from its request. */
export type RequestFrame = {
  context: JsonObject | null;
  integrations: JsonObject | null;
  /** Of messages without their own. */
  sentAt: SentAt | null;
  /**
   * From the User-Agent, for messages whose library is named neither in the message nor in the
   * batch.
   */
  library: JsonObject | null;
  ip: string | null;
  /** The address is that of a message only if its context says `direct: true`. */
  isIpOfDirect?: boolean;
  /** Any length when left out. */
  maxMessageIdLength?: number | undefined;
  now: number;
  /** What the message's time became when it came first, if it is sent again. */
  timestampBefore?: number | null;
  correctClockSkew: boolean | MovedClock;
};

type SentAt = { time: number; text: string } | { warning: string };

/**
 * How far the clock is from the machine's time, which was `wallAt` when the request came.
 * `sendsNoSentAt`: the client is one that never sends it.
 */
type MovedClock = { byMs: number; wallAt: number; sendsNoSentAt: boolean };

export type CheckedMessage = {
  type: MessageType;
  messageId: string | null;
  userId: string | null;
  anonymousId: string | null;
  /** The event of a track, the name of a page or screen, the group of a group. */
  event: string | null;
  timestamp: number;
  /** The client's time before any correction; null when it sent none that can be parsed. */
  originalTimestamp: number | null;
  sentAt: string | null;
  /** The message as received, but for the traits of a page, which are its properties. */
  members: JsonObject;
  context: JsonObject;
  integrations: JsonObject;
  warnings: string[];
};

export type Rejection = { reason: string; detail: string };

type SeenMembers = Pick<CheckedMessage, "messageId" | "userId" | "anonymousId" | "event"> & {
  type: MessageType | null;
};

export type CheckResult =
  | {
      ok: true;
      message: CheckedMessage;
      /** What the merging of its request's defaults costs: the bytes, and a share for each member. */
      mergeCost: number;
    }
  | {
      ok: false;
      rejection: Rejection;
      /** What could still be read, for the list. */ seen: SeenMembers;
    };

export const maxMessageBytes = 32_768;

/** The cost of merging a member beside its bytes, in bytes that take as long. */
const memberCost = 32;

const knownTypes: ReadonlySet<string> = new Set(messageTypes);
const textMembers = [
  "messageId",
  "userId",
  "anonymousId",
  "event",
  "name",
  "category",
  "groupId",
  "previousId",
];
const objectMembers = ["traits", "properties", "context", "integrations"];

export function checkMessage(
  item: Json,
  size: number,
  frame: RequestFrame,
  typeFromPath: MessageType | null,
): CheckResult {
  if (!isObject(item)) {
    return { ok: false, rejection: notAnObject(item), seen: seenOf({}, typeFromPath) };
  }
  const type = typeFromPath ?? typeOf(item);
  const defaults = defaultsFor(item, frame);
  const rejection =
    reject(item, size, defaults.bytes, type, typeFromPath) ?? tooLongId(item, frame);
  if (rejection !== null || type === null) {
    return {
      ok: false,
      rejection: rejection ?? unknownType(item["type"]),
      seen: seenOf(item, type),
    };
  }

  const warnings: string[] = [];
  if (typeFromPath !== null) {
    const own = item["type"];
    if (own !== undefined && own !== null && own !== typeFromPath) {
      warnings.push(
        `The message has the type ${quoted(own)}, but it came to /v1/${typeFromPath}. It counts as ${typeFromPath}.`,
      );
    }
  }
  const context = mergeContext(item["context"], frame);
  const { traits } = context;
  if (type === "identify" && (item["traits"] ?? null) === null && isObject(traits))
    if (Object.keys(traits).length > 0) warnings.push(traitsInContext);
  const read = readSentAt(item["sentAt"]) ?? frame.sentAt;
  if (read !== null && "warning" in read) warnings.push(read.warning);
  const sentAt = read !== null && "time" in read ? read : null;
  const given =
    readTime("timestamp", item["timestamp"], warnings) ??
    ((item["timestamp"] ?? null) === null
      ? readTime("originalTimestamp", item["originalTimestamp"], warnings)
      : null);
  const { correctClockSkew: correction, timestampBefore = null } = frame;
  let timestamp = given ?? frame.now;
  if (given !== null && timestampBefore !== null) {
    const isMoved = typeof correction === "object" && timestampBefore !== given;
    timestamp = isMoved
      ? moved(given, { byMs: timestampBefore - given }, warnings)
      : timestampBefore;
    if (correction === true) noteSkew(given, timestamp, warnings);
  } else if (given !== null && typeof correction === "object") {
    const sent = sentAt?.time ?? (correction.sendsNoSentAt ? given : null);
    if (sent !== null && isLive(sent, correction)) timestamp = moved(given, correction, warnings);
  } else if (correction === true && given !== null && sentAt !== null)
    timestamp = correctSkew(given, sentAt.time, frame.now, warnings);
  return {
    ok: true,
    message: {
      type,
      messageId: text(item["messageId"]),
      userId: text(item["userId"]),
      anonymousId: text(item["anonymousId"]),
      event: text(eventOf(item, type)),
      timestamp,
      originalTimestamp: given,
      sentAt: sentAt === null ? null : sentAt.text,
      members: membersOf(item, type),
      context,
      integrations: mergeIntegrations(
        item["integrations"],
        context["integrations"],
        frame.integrations,
        warnings,
      ),
      warnings,
    },
    mergeCost: defaults.cost,
  };
}

// The checks, the most helpful message first.

function reject(
  item: JsonObject,
  size: number,
  defaultBytes: number,
  type: MessageType | null,
  typeFromPath: MessageType | null,
): Rejection | null {
  if (size > maxMessageBytes) {
    const detail = `The message has ${size} bytes, more than the ${maxMessageBytes} allowed. Send less in it, or split it into several.`;
    return { reason: "message_too_large", detail };
  }
  // Apart from the message's own bytes: a client that checks those does not know what its batch
  // adds.
  if (defaultBytes > maxMessageBytes) {
    const detail = `The batch's \`context\` and \`integrations\` add ${defaultBytes} bytes to the message, more than the ${maxMessageBytes} allowed. Send less there.`;
    return { reason: "message_too_large", detail };
  }
  const ownType = item["type"];
  if (ownType !== undefined && ownType !== null && typeof ownType !== "string")
    return wrongKind("type", "a string", ownType);
  if (type === null)
    return typeFromPath === null && (ownType ?? "") === "" ? missingType : unknownType(ownType);
  for (const name of textMembers) {
    const value = item[name];
    if (value !== undefined && value !== null && typeof value !== "string")
      return wrongKind(name, "a string", value);
  }
  for (const name of objectMembers) {
    const value = item[name];
    if (value !== undefined && value !== null && !isObject(value))
      return wrongKind(name, "an object", value);
  }
  if (text(item["userId"]) === null) {
    if (type === "alias")
      return missing("missing_user_id", "An alias needs `userId`, the new identity of the user.");
    if (type === "delete")
      return missing("missing_user_id", "A delete needs `userId`, the user to delete.");
    if (text(item["anonymousId"]) === null) {
      const article = type === "identify" ? "An" : "A";
      return missing(
        "missing_user_id",
        `${article} ${type} needs \`userId\` or \`anonymousId\`. Send one of them as a string that is not empty.`,
      );
    }
  }
  if (type === "track" && text(item["event"]) === null) {
    return missing("missing_event", "A track needs `event`, the name of what the user did.");
  }
  if (type === "group" && text(item["groupId"]) === null) {
    return missing(
      "missing_group_id",
      "A group needs `groupId`, the group that the user belongs to.",
    );
  }
  if (type === "alias" && text(item["previousId"]) === null) {
    return missing(
      "missing_previous_id",
      "An alias needs `previousId`, the previous identity of the user.",
    );
  }
  return null;
}

function tooLongId(
  { messageId }: JsonObject,
  { maxMessageIdLength: max }: RequestFrame,
): Rejection | null {
  if (max === undefined || typeof messageId !== "string" || messageId.length <= max) return null;
  const detail = `\`messageId\` has ${messageId.length} characters, and the limit is ${max}. Send a shorter one, or leave it out.`;
  return { reason: "message_id_too_long", detail };
}

function missing(reason: string, detail: string): Rejection {
  return { reason, detail };
}

const missingType = missing(
  "missing_type",
  `A message in a batch needs \`type\`: one of ${messageTypes.join(", ")}.`,
);

function unknownType(value: Json | undefined): Rejection {
  const lower = typeof value === "string" ? value.trim().toLowerCase() : "";
  const advice = knownTypes.has(lower)
    ? `Types are lower case: write "${lower}".`
    : `Write one of ${messageTypes.join(", ")}.`;
  return { reason: "unknown_type", detail: `${quoted(value)} is not a message type. ${advice}` };
}

function wrongKind(name: string, wanted: string, value: Json): Rejection {
  return {
    reason: "invalid_type",
    detail: `\`${name}\` must be ${wanted}, but it is ${kindOf(value)}. Send ${wanted}, or leave it out.`,
  };
}

function notAnObject(item: Json): Rejection {
  return {
    reason: "not_an_object",
    detail: `A message must be a JSON object, but this one is ${kindOf(item)}.`,
  };
}

// The members of the message, with those of its request.

/** The Go library's document has a page's properties under the name `Traits`. */
function membersOf(item: JsonObject, type: MessageType): JsonObject {
  if (type !== "page" || !isObject(item["traits"]) || isObject(item["properties"])) return item;
  const { traits: properties, ...rest } = item;
  return { ...rest, properties };
}

function typeOf(item: JsonObject): MessageType | null {
  const type = item["type"];
  return typeof type === "string" && knownTypes.has(type) ? (type as MessageType) : null;
}

function eventOf(item: JsonObject, type: MessageType | null): Json | undefined {
  if (type === "track") return item["event"];
  if (type === "page" || type === "screen") return item["name"];
  if (type === "group") return item["groupId"];
  return undefined;
}

function seenOf(item: JsonObject, type: MessageType | null): SeenMembers {
  return {
    type,
    messageId: text(item["messageId"]),
    userId: text(item["userId"]),
    anonymousId: text(item["anonymousId"]),
    event: text(eventOf(item, type)),
  };
}

/** An empty string counts as missing. */
function text(value: Json | undefined): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

function mergeContext(value: Json | undefined, frame: RequestFrame): JsonObject {
  const own = isObject(value) ? value : null;
  const library = own?.["library"] ?? frame.context?.["library"] ?? frame.library;
  const isDirect = (own?.["direct"] ?? frame.context?.["direct"]) === true;
  const address = frame.isIpOfDirect === true && !isDirect ? null : frame.ip;
  const ip = own?.["ip"] ?? frame.context?.["ip"] ?? address;
  // Spreading copies a member `__proto__` as a member.
  const context: JsonObject = frame.context === null ? { ...own } : { ...frame.context, ...own };
  if (ip !== null && ip !== context["ip"]) context["ip"] = ip;
  if (library !== null && library !== context["library"]) context["library"] = library;
  return context;
}

function mergeIntegrations(
  value: Json | undefined,
  fromContext: Json | undefined,
  batch: JsonObject | null,
  warnings: string[],
): JsonObject {
  const own = isObject(value) ? value : null;
  const inContext = isObject(fromContext) ? fromContext : null;
  if (inContext === null && fromContext !== undefined && fromContext !== null) {
    warnings.push(
      `\`context.integrations\` changes nothing, because it is ${kindOf(fromContext)} and not an object.`,
    );
  }
  if (own !== null && inContext === null && batch === null) return own;
  return { ...batch, ...inContext, ...own };
}

type Sizes = {
  total: number;
  members: ReadonlyMap<string, number>;
  /** Members of a context's `integrations`, which are merged with those of the message. */
  integrations: number;
};

/** The defaults of a batch are measured once. */
const measured = new WeakMap<JsonObject, Sizes>();

function sizesOf(defaults: JsonObject): Sizes {
  let sizes = measured.get(defaults);
  if (sizes === undefined) {
    const members = new Map(
      Object.entries(defaults).map(([name, value]) => [
        name,
        spelledSize(name) + spelledSize(value) + 2,
      ]),
    );
    const total = [...members.values()].reduce((sum, size) => sum + size, 0);
    const { integrations } = defaults;
    const merged = isObject(integrations) ? Object.keys(integrations).length : 0;
    sizes = { total, members, integrations: merged };
    measured.set(defaults, sizes);
  }
  return sizes;
}

function spelledSize(value: Json): number {
  return utf8Bytes(JSON.stringify(value)).length;
}

/** The bytes that the request's defaults add to a message, and the cost of merging them. */
function defaultsFor(
  { context, integrations }: JsonObject,
  frame: RequestFrame,
): { bytes: number; cost: number } {
  let bytes = 0;
  let members = 0;
  for (const [defaults, own] of [
    [frame.context, context],
    [frame.integrations, integrations],
  ] as const) {
    if (defaults === null) continue;
    const sizes = sizesOf(defaults);
    bytes += sizes.total;
    members += sizes.members.size;
    if (defaults === frame.context && !(isObject(own) && "integrations" in own))
      members += sizes.integrations;
    if (isObject(own)) for (const name in own) bytes -= sizes.members.get(name) ?? 0;
  }
  return { bytes, cost: bytes + members * memberCost };
}

function readTime(
  name: "timestamp" | "originalTimestamp",
  value: Json | undefined,
  warnings: string[],
): number | null {
  if (value === undefined || value === null) return null;
  const time = parseTimestamp(value);
  if (time === null) warnings.push(noTime(name, value, "the message gets its time of arrival"));
  return time;
}

/** A live sender's `sentAt` is at most this far from the machine's time. */
const liveWithinMs = 60_000;
/** A clock that is off by less was not moved: a start after a kill adds a second, a network too. */
const movedFromMs = 5000;

/** Not so a client that lives by the clock itself, as simulated ones do. */
function isLive(sentAt: number, { byMs, wallAt }: MovedClock): boolean {
  const off = Math.abs(sentAt - wallAt);
  return (
    Math.abs(byMs) >= movedFromMs && off <= liveWithinMs && off < Math.abs(sentAt - (wallAt + byMs))
  );
}

function moved(given: number, { byMs }: Pick<MovedClock, "byMs">, warnings: string[]): number {
  const timestamp = given + byMs;
  if (!isWritable(timestamp)) return given;
  const why = "the clock was moved by as much, and the client was not";
  warnings.push(became(given, timestamp, why));
  return timestamp;
}

/** Times have years of four digits, also after a correction. */
function isWritable(time: number): boolean {
  const year = new Date(time).getUTCFullYear();
  return year >= 0 && year <= 9999;
}

/** So do RudderStack's libraries. */
const traitsInContext =
  "The identify has no `traits`. Those in `context.traits` are delivered there, and set nothing on the profile: send them as `traits`.";

function correctSkew(given: number, sentAt: number, now: number, warnings: string[]): number {
  const corrected = now - (sentAt - given);
  if (isWritable(corrected)) {
    noteSkew(given, corrected, warnings);
    return corrected;
  }
  warnings.push(
    "The `timestamp` is not corrected by `sentAt`, because the two are thousands of years apart.",
  );
  return given;
}

function noteSkew(given: number, corrected: number, warnings: string[]): void {
  const why = "`sentAt` was as far from the time of arrival, and the hosted service corrects that";
  if (Math.abs(corrected - given) >= movedFromMs) warnings.push(became(given, corrected, why));
}

function became(given: number, timestamp: number, why: string): string {
  return `The \`timestamp\` ${formatTimestamp(given)} became ${formatTimestamp(timestamp)}: ${why}. The source's setting correctClockSkew turns this off.`;
}

/** Messages of one request mostly have the same. */
let lastSentAt: { value: Json; time: number; text: string } = { value: null, time: 0, text: "" };

/** Null when there is none. That of a batch is read once, and can be as long as a request. */
export function readSentAt(value: Json | undefined): SentAt | null {
  if (value === undefined || value === null) return null;
  if (value === lastSentAt.value) return lastSentAt;
  const time = parseTimestamp(value);
  if (time === null) return { warning: noTime("sentAt", value, "it is ignored") };
  lastSentAt = { value, time, text: formatTimestamp(time) };
  return lastSentAt;
}

function noTime(name: string, value: Json, consequence: string): string {
  return `\`${name}\` is ${quoted(value)}, which is not a valid time: ${consequence}.`;
}

function kindOf(value: Json): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object") return "an object";
  return typeof value === "string"
    ? value === ""
      ? "an empty string"
      : "a string"
    : `a ${typeof value}`;
}

const maxQuoted = 60;

function quoted(value: Json | undefined): string {
  if (value !== null && typeof value === "object") return kindOf(value);
  const shown = typeof value === "string" ? value.slice(0, maxQuoted + 1) : (value ?? null);
  const spelling = JSON.stringify(shown);
  return spelling.length > maxQuoted ? `${spelling.slice(0, maxQuoted)}…` : spelling;
}
