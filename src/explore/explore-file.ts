/**
 * Reads a file with an `explore` section: a receiver, the messages that it gets, what may vary, and
 * what must always hold. Problems have their places, as those of other scenario files do.
 */

import { z } from "zod";
import { checkMessage } from "../domain/check.ts";
import { isObject, type Json, type JsonObject } from "../domain/json.ts";
import { makePayload } from "../domain/payload.ts";
import type { EffectsSource } from "../receiver/effects.ts";
import { formatDuration } from "../scenarios/file/duration.ts";
import { duration, expectedNumber, type Range } from "../scenarios/file/matcher.ts";
import { members } from "../scenarios/file/members.ts";
import { maxApartMs } from "../scenarios/file/request-schema.ts";
import { callTypes, defaultStartAt } from "../scenarios/file/scenario-schema.ts";
import { problemsOf } from "../scenarios/file/sentences.ts";
import { name, oneOf, text, whole } from "../scenarios/file/setup-schema.ts";
import { readYaml, type FileProblem, type PlacedValue } from "../scenarios/file/yaml-places.ts";
import type { RequestSpec } from "../receiver/request-spec.ts";
import { placed, wrongPlaceholders, wrongToken } from "./placeholders.ts";

/** In a header of the receiver. */
export const environmentVariable = /\{\{env\.(\w+)\}\}/g;

const flag = z.boolean({ error: "true or false" });
const url = z.url({ protocol: /^https?$/, error: "a full http or https URL" });
const source = z.union([url, members({ url }), members({ command: name })], {
  error: "a URL, or a mapping of url or command",
});
const action = z.union(
  [
    name,
    members({ run: name, listens: url.optional() }),
    members({ url, method: text.optional() }),
  ],
  {
    error: "a command, or a mapping of run and listens, or of url and method",
  },
);
const maxMessages = 20;
const limit = z.union(
  [
    flag,
    whole(0, 10),
    members({
      atMost: whole(1, 10).optional(),
      of: z.array(whole(1, maxMessages)).min(1, "a list that is not empty"),
    }),
  ],
  {
    error: "how many at most, true, or a mapping of atMost and of",
  },
);
const message = z.looseObject(
  { type: oneOf(callTypes) },
  { error: "a message: a mapping with a type" },
);
const claim = members({ effects: members({ token: name, times: expectedNumber }) });

const exploreFile = members({
  name,
  description: text.optional(),
  seed: whole(0, 2 ** 31 - 1).optional(),
  explore: members({
    receiver: members({
      url,
      headers: z.record(z.string(), text).optional(),
      effects: source.optional(),
      state: source.optional(),
      restart: action.optional(),
      reset: action.optional(),
    }),
    messages: z
      .array(message, { error: "a list of messages" })
      .min(1, "at least one message")
      .max(maxMessages, `at most ${maxMessages} messages`),
    vary: members({
      order: flag.optional(),
      duplicates: limit.optional(),
      together: limit.optional(),
      lostAnswers: limit.optional(),
      restarts: whole(0, 5).optional(),
      delays: z.array(duration, { error: "a list of durations" }).optional(),
    }).optional(),
    always: members({
      answers: flag.optional(),
      effects: oneOf(["once", "at most once", "any number"]).optional(),
      state: oneOf(["same", "any"]).optional(),
      ignore: z.array(name).optional(),
      expect: z.array(claim, { error: "a list of expectations of effects" }).optional(),
    }).optional(),
  }),
});
type Read = z.output<typeof exploreFile>["explore"];

/** A command for the shell, or a request. */
export type Action =
  | { run: string; listens?: string | undefined }
  | { url: string; method?: string | undefined };

/** In texts, `{{token}}` stands for what is new in each run of a schedule. */
type ExploredMessage = {
  title: string;
  body: string;
  /** Only its newest has to be seen: a later one of the same user takes its place. */
  replaces: string | null;
  timestamp: number;
  /** Null where the message has no place for one. */
  token: string | null;
};

export type Limit = { atMost: number; of: ReadonlySet<number> };

export type Exploration = {
  name: string;
  seed: number | undefined;
  receiver: Pick<RequestSpec, "headers"> & {
    url: string;
    effects: EffectsSource | null;
    restart: Action | null;
    reset: Action | null;
  };
  messages: readonly ExploredMessage[];
  vary: {
    order: boolean;
    duplicates: Limit;
    together: Limit;
    lostAnswers: Limit;
    restarts: number;
    delays: readonly number[];
  };
  always: {
    answers: boolean;
    effects: "once" | "at most once" | "any number";
    /** What they show is as if the same messages had come once each, in the order of the file. */
    same: readonly EffectsSource[];
    ignore: readonly string[];
    expect: readonly { token: string; times: Range; of: readonly number[] }[];
  };
};

export function readExploration(content: string): Exploration | { problems: FileProblem[] } {
  const file = readYaml(content.replace(/^\uFEFF/, ""), { maxValues: 50_000 });
  if ("problems" in file) return file;
  if (isObject(file.value) && !("explore" in file.value))
    return {
      problems: [
        {
          line: 1,
          column: 1,
          message: "The file has no explore section. hookyard run runs scenarios without one.",
        },
      ],
    };
  const read = exploreFile.safeParse(file.value, { reportInput: true });
  if (!read.success) return { problems: problemsOf(read.error.issues, file) };
  const { explore } = read.data;
  const problems: FileProblem[] = [];
  const messages = explore.messages.map((one, index) =>
    messageOf(one as JsonObject, index, file, problems),
  );
  problems.push(...contradictions(explore, file));
  if (problems.length > 0) return { problems };
  return {
    name: read.data.name,
    seed: read.data.seed,
    messages: messages.map(withOwnTitle),
    ...partsOf(explore),
  };
}

function partsOf({
  receiver,
  messages,
  vary = {},
  always = {},
}: Read): Pick<Exploration, "receiver" | "vary" | "always"> {
  const { effects = null, state = null, restart = null, reset = null, ...rest } = receiver;
  const all = new Set(messages.keys());
  const limitOf = (given: z.output<typeof limit> = true): Limit => {
    if (typeof given === "boolean") return { atMost: given ? 1 : 0, of: all };
    if (typeof given === "number") return { atMost: given, of: all };
    return { atMost: given.atMost ?? 1, of: new Set(given.of.map((nth) => nth - 1)) };
  };
  const sourceOf = (given: z.output<typeof source> | null): EffectsSource | null =>
    typeof given === "string" ? { url: given } : given;
  const shown = sourceOf(state ?? effects);
  const isSame = (always.state ?? (state === null ? "any" : "same")) === "same";
  const actionOf = (given: z.output<typeof action> | null): Action | null =>
    typeof given === "string" ? { run: given } : given;
  return {
    receiver: {
      ...rest,
      effects: sourceOf(effects),
      restart: actionOf(restart),
      reset: actionOf(reset),
    },
    vary: {
      order: vary.order ?? true,
      duplicates: limitOf(vary.duplicates),
      together: limitOf(vary.together),
      lostAnswers: limitOf(vary.lostAnswers),
      restarts: restart === null ? 0 : (vary.restarts ?? 1),
      delays: vary.delays ?? [10, 50],
    },
    always: {
      answers: always.answers ?? true,
      effects: effects === null ? "any number" : (always.effects ?? "once"),
      same: shown !== null && isSame ? [shown] : [],
      ignore: always.ignore ?? [],
      expect: (always.expect ?? []).map(({ effects: { token, times } }) => ({
        token: placed(token, 0),
        times,
        of: [...token.matchAll(/\{\{message(\d+)\}\}/g)].map(([, nth]) => Number(nth) - 1),
      })),
    },
  };
}

/** What the schema cannot see. */
function contradictions(
  { receiver, messages, vary = {}, always = {} }: Read,
  file: PlacedValue,
): FileProblem[] {
  const problems: FileProblem[] = [];
  const add = (path: (string | number)[], sentence: string): void =>
    void problems.push({ ...file.placeOf(["explore", ...path]), message: sentence });
  if ((vary.restarts ?? 0) > 0 && receiver.restart === undefined)
    add(["vary", "restarts"], "Say how the receiver is restarted: receiver: { restart: … }.");
  if (always.effects !== undefined && receiver.effects === undefined)
    add(
      ["always", "effects"],
      "Say where the receiver lists its effects: receiver: { effects: … }.",
    );
  if (always.expect !== undefined && receiver.effects === undefined)
    add(
      ["always", "expect"],
      "Say where the receiver lists its effects: receiver: { effects: … }.",
    );
  if (always.state === "same" && receiver.state === undefined && receiver.effects === undefined)
    add(["always", "state"], "Say where the receiver shows its state: receiver: { state: … }.");
  for (const [index, ms] of (vary.delays ?? []).entries())
    if (ms > maxApartMs)
      add(
        ["vary", "delays", index],
        `A delay is at most ${formatDuration(maxApartMs)}, as between the copies of a request in a scenario.`,
      );
  for (const [header, value] of Object.entries(receiver.headers ?? {}))
    for (const [, variable = ""] of value.matchAll(environmentVariable))
      if (!/^HOOKYARD_\w/.test(variable))
        add(
          ["receiver", "headers", header],
          `Name the variable HOOKYARD_${variable}: the scenario that is written reads only names that begin with HOOKYARD_.`,
        );
  for (const [index, one] of messages.entries()) {
    const path = ["explore", "messages", index];
    for (const wrong of wrongPlaceholders(one as Json, path, messages.length))
      problems.push({
        ...(wrong.isName ? file.placeOfName(wrong.path) : file.placeOf(wrong.path)),
        message: wrong.message,
      });
  }
  for (const [index, { effects }] of (always.expect ?? []).entries()) {
    const path = ["always", "expect", index, "effects", "token"];
    const [wrong] = wrongPlaceholders(effects.token, path, messages.length);
    const sentence = wrong?.message ?? wrongToken(effects.token);
    if (sentence !== null) add(path, sentence);
  }
  for (const kind of ["duplicates", "together", "lostAnswers"] as const) {
    const given = vary[kind];
    if (typeof given !== "object") continue;
    for (const [index, nth] of given.of.entries())
      if (nth > messages.length)
        add(
          ["vary", kind, "of", index],
          `There is no message ${nth}: there are ${messages.length}.`,
        );
  }
  return problems;
}

/**
 * Each message is a second younger than the one before it, unless it has a timestamp of its own.
 */
const startAt = Date.parse(defaultStartAt);
/** A constant one would be shared by schedules that run at the same time. */
const ids = ["messageId", "userId", "anonymousId"];

function messageOf(
  given: JsonObject,
  index: number,
  file: PlacedValue,
  problems: FileProblem[],
): ExploredMessage {
  const path = ["explore", "messages", index];
  const fixed = ids.find((id) => typeof given[id] === "string" && !given[id].includes("{{"));
  if (fixed !== undefined)
    problems.push({
      ...file.placeOf([...path, fixed]),
      message: `${fixed} must be new in each schedule: leave it out, or write {{user}}, {{user2}} or {{message}} in it.`,
    });
  const written = withToken({
    ...given,
    ...(given["userId"] === undefined && given["anonymousId"] === undefined
      ? { userId: "{{user}}" }
      : {}),
  });
  const item = JSON.parse(placed(JSON.stringify(written), index + 1)) as JsonObject;
  const frame = {
    context: null,
    integrations: null,
    sentAt: null,
    library: null,
    ip: null,
    correctClockSkew: false,
  };
  const checked = checkMessage(item, 0, { ...frame, now: startAt + index * 1000 }, null);
  if (!checked.ok) {
    problems.push({ ...file.placeOf(path), message: checked.rejection.detail });
    return { title: "", body: "", replaces: null, timestamp: 0, token: null };
  }
  const own = checked.message;
  const { type, event, timestamp } = own;
  const payload = makePayload(
    { ...own, messageId: own.messageId ?? placed("{{message}}", index + 1) },
    "documented",
    timestamp,
  );
  return {
    title: [type === "track" ? null : type, event]
      .filter((word) => word !== null && word !== "")
      .join(" "),
    body: payload,
    replaces:
      type === "identify" || type === "group"
        ? `${type} ${own.userId ?? own.anonymousId} ${event ?? ""}`
        : null,
    timestamp,
    token: type === "alias" ? null : placed("{{message}}", index + 1),
  };
}

/** Two identifies are `identify (message 1)` and `identify (message 5)`. */
function withOwnTitle(
  message: ExploredMessage,
  index: number,
  all: readonly ExploredMessage[],
): ExploredMessage {
  const isOnly = all.filter(({ title }) => title === message.title).length === 1;
  return isOnly ? message : { ...message, title: `${message.title} (message ${index + 1})` };
}

function withToken(message: JsonObject): JsonObject {
  const { type } = message;
  if (type === "alias") return message;
  const holder = type === "identify" || type === "group" ? "traits" : "properties";
  const held: Json = message[holder] ?? {};
  return isObject(held) ? { ...message, [holder]: { token: "{{message}}", ...held } } : message;
}
