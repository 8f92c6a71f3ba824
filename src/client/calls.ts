/**
 * The calls, what each must have, and the check of one call. The texts for what is missing, and
 * their order, are those of the Go library.
 */

import { AnalyticsError } from "./errors.ts";

export type CallType = "identify" | "track" | "page" | "screen" | "group" | "alias";

export type Members = { readonly [name: string]: unknown };

export type Common = {
  /** The time of the event; now when left out. A string goes out as it is. */
  timestamp?: string | Date | null;
  /** About the call, not about the user. */
  context?: Members | null;
  /** Destinations on or off by name; `All` for those that are not named. */
  integrations?: Members | null;
  /** A new one when left out. The same one twice is the same message. */
  messageId?: string | null;
};

export type Identity =
  | { userId: string; anonymousId?: string | null }
  | { userId?: string | null; anonymousId: string };

export type Identify = Common & Identity & { traits?: Members | null };
export type Track = Common & Identity & { event: string; properties?: Members | null };
/** Without `userId` only with the option `strict: false`. */
export type Page = Common &
  Identity & { category?: string | null; name?: string | null; properties?: Members | null };
export type Screen = Page;
export type Group = Common & Identity & { groupId: string; traits?: Members | null };
export type Alias = Common & { userId: string; previousId: string };

type Kind = "text" | "object" | "time";

const common: [string, Kind][] = [
  ["timestamp", "time"],
  ["context", "object"],
  ["integrations", "object"],
  ["messageId", "text"],
  ["userId", "text"],
];
const either: [string, Kind][] = [...common, ["anonymousId", "text"]];
const view: [string, Kind][] = [
  ...either,
  ["category", "text"],
  ["name", "text"],
  ["properties", "object"],
];

const fields: Record<CallType, ReadonlyMap<string, Kind>> = {
  identify: new Map([...either, ["traits", "object"]]),
  track: new Map([...either, ["event", "text"], ["properties", "object"]]),
  page: new Map(view),
  screen: new Map(view),
  group: new Map([...either, ["groupId", "text"], ["traits", "object"]]),
  alias: new Map([...common, ["previousId", "text"]]),
};

/** What each call must have besides an identity: asked first, as the Go library does. */
const needed: Partial<Record<CallType, { field: string; text: string }>> = {
  track: { field: "event", text: "You must pass 'event'." },
  group: { field: "groupId", text: "You must pass a 'groupId'." },
};

/** Throws what is wrong with the call, first what is missing, then what is not of its kind. */
export function checkCall(type: CallType, call: unknown, strict: boolean): Members {
  if (!Object.hasOwn(fields, type))
    throw invalid(`'${type as string}' is not one of ${Object.keys(fields).join(", ")}.`, "type");
  if (typeof call !== "object" || call === null || Array.isArray(call))
    throw invalid(`You must pass an object to ${type}.`, null);
  const members = call as Members;
  const first = needed[type];
  if (first !== undefined && isMissing(members[first.field]))
    throw invalid(first.text, first.field);
  if (isMissing(members["userId"])) {
    if (type === "alias" || (type === "page" && strict))
      throw invalid("You must pass a 'userId'.", "userId");
    if (isMissing(members["anonymousId"]))
      throw invalid("You must pass either an 'anonymousId' or 'userId'.", "userId");
  }
  if (type === "alias" && isMissing(members["previousId"]))
    throw invalid("You must pass a 'previousId'.", "previousId");
  for (const field of Object.keys(members)) {
    const kind = fields[type].get(field);
    const value = members[field];
    if (kind === undefined)
      throw invalid(
        `'${field}' is not a field of ${type}: it has ${[...fields[type].keys()].join(", ")}.`,
        field,
      );
    if (value === undefined || value === null) continue;
    if (!isOf(kind, value)) throw invalid(`'${field}' must be ${wanted[kind]}.`, field);
  }
  return members;
}

function invalid(text: string, field: string | null): AnalyticsError {
  return new AnalyticsError("invalid_call", text, field);
}

function isMissing(value: unknown): boolean {
  return value === undefined || value === null || value === "";
}

const wanted: Record<Kind, string> = {
  text: "a string",
  object: "an object",
  time: "a string or a valid Date",
};

function isOf(kind: Kind, value: unknown): boolean {
  if (kind === "object") return typeof value === "object" && !Array.isArray(value);
  return (
    typeof value === "string" ||
    (kind === "time" && value instanceof Date && !Number.isNaN(value.getTime()))
  );
}
