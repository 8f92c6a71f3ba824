/**
 * The scenario of one delivery, as it was and with one answer changed. Its message is sent again to
 * endpoints that answer each attempt as its receiver did, in rounds that come when they came.
 * Nothing else belongs to it: no answer of a receiver depends on another message of the record.
 */

import type { AttemptAnswer, DeliveryDetailsAnswer } from "../../contract/deliveries.ts";
import type { DestinationAnswer } from "../../contract/destinations.ts";
import type { MessageDetailsAnswer } from "../../contract/messages.ts";
import type { RetryProfile } from "../../domain/configuration.ts";
import { headersWithoutCredentials } from "../../domain/credentials.ts";
import { deliveryIds } from "../../domain/ids.ts";
import { isObject, type Json, type JsonObject } from "../../domain/json.ts";
import { maxDelays, plannedRounds } from "../../domain/retry.ts";
import { isSettled } from "../../domain/states.ts";
import { formatDuration } from "../file/duration.ts";
import { callTypes, misspelledMembers, type ScenarioInput } from "../file/scenario-schema.ts";
import { certificateOf, didOf, type Did } from "../record/programs.ts";
import { fileRetryProfile } from "../run/drafts.ts";

export type Recorded = {
  message: MessageDetailsAnswer;
  delivery: DeliveryDetailsAnswer;
  /** Null when it has been deleted. */
  destination: DestinationAnswer | null;
  profile: RetryProfile;
  /** Whether a test endpoint answers here by itself: how long it takes is in its program alone. */
  isAnsweredHere: (url: string) => boolean;
  seed: number;
  jitter: boolean;
  vendor: string;
  /** The clock of the record. */
  now: number;
};

export type RecordedWebhook = { id: string; url: string; endpoint: string };

type Step = ScenarioInput["steps"][number];
type Destinations = NonNullable<ScenarioInput["destinations"]>;
type ProgramStep = Did & { delay?: string; times?: number; match?: { type: "delete" } };
type Note = (sentence: string) => void;

/** A mapping made its requests. */
export const isMapped = ({ delivery }: Recorded): boolean => delivery.url !== undefined;

const destinationName = (recorded: Recorded): string =>
  recorded.destination?.name ?? "A deleted destination";

/** Those of the destination, and those that only attempts know. */
export function webhooksOf({ destination, delivery }: Recorded): RecordedWebhook[] {
  const webhooks: { id: string; url: string }[] = [];
  const attempted = delivery.attempts.map(({ webhookId, webhookUrl }) => ({
    id: webhookId,
    url: webhookUrl,
  }));
  for (const webhook of [...(destination?.webhooks ?? []), ...attempted])
    if (!webhooks.some(({ id }) => id === webhook.id)) webhooks.push(webhook);
  return webhooks
    .filter(({ id }) => attempted.some((each) => each.id === id))
    .map(({ id, url }, place, all) => ({
      id,
      url,
      endpoint:
        all.filter((other) => shortName(other.url) === shortName(url)).length === 1
          ? shortName(url)
          : `receiver ${place + 1}`,
    }));
}

/** What tells a receiver apart: its host, or the path of one on this machine. */
export function shortName(url: string): string {
  if (!URL.canParse(url)) return url;
  const { hostname, host, pathname } = new URL(url);
  const isHere = /(^|\.)localhost$|^127\.|^\[::1\]$/.test(hostname);
  return isHere && pathname !== "/" ? pathname.slice(1).slice(0, 60) : host;
}

/** As it was without a change. */
export function scenarioOf(
  recorded: Recorded,
  { about, answer }: { about: AttemptAnswer; answer: Did | null },
  note: Note,
): ScenarioInput {
  const { message, delivery, destination, seed, vendor } = recorded;
  const webhooks = webhooksOf(recorded);
  const isDelete = message.type === "delete";
  const headersOf = (id: string): Record<string, string> =>
    headersWithoutCredentials(destination?.webhooks.find((each) => each.id === id)?.headers ?? {});
  const windows = windowsOf(recorded);
  if (windows.some(({ isCut }) => isCut))
    note(
      "A retry profile of a scenario has at most a thousand delays: the rounds after them are left out.",
    );
  const name = destinationName(recorded);
  return {
    name:
      answer === null
        ? `Round ${about.round} as it was`
        : `What if round ${about.round} had answered ${answerWords(answer)}`,
    seed,
    startAt: delivery.attempts[0]?.startedAt ?? delivery.createdAt,
    ...(vendor === "Hookyard" ? {} : { settings: { vendor } }),
    sources: { Recorded: {} },
    endpoints: Object.fromEntries(
      webhooks.map(({ id, endpoint }) => [
        endpoint,
        programOf({ recorded, webhookId: id, about, answer, isDelete, note }),
      ]),
    ),
    retryProfiles: Object.fromEntries(
      windows.map((window, place) => [
        windowName(place),
        {
          ...fileRetryProfile(recorded.profile),
          delays: window.delays.map(formatDuration),
          jitter: 0,
        },
      ]),
    ),
    destinations: {
      [name]: {
        webhooks: webhooks.map(({ id, url, endpoint }) => {
          const own = delivery.attempts.filter(({ webhookId }) => webhookId === id);
          const kept = answer === null ? own : own.filter((attempt) => attempt !== about);
          const certificate = certificateOf(url, kept, note);
          const headers = headersOf(id);
          return {
            endpoint,
            ...(certificate === null ? {} : { certificate }),
            ...(Object.keys(headers).length === 0 ? {} : { headers }),
          };
        }),
        ...(destination?.hasSharedSecret === true
          ? { sharedSecret: "stands in for the recorded secret" }
          : {}),
        retryProfile: windowName(0),
        ...(destination?.payload === undefined || destination.payload === "documented"
          ? {}
          : { payload: destination.payload }),
        ...notFilled(recorded),
      },
    },
    steps: stepsOf(recorded, name),
  };
}

/** What ingest fills in here, and did not for the client that was recorded. */
function notFilled(recorded: Recorded): Pick<Destinations[string], "filters"> {
  const { context } = objectOf(recorded.delivery.payload);
  if (isMapped(recorded) || !isObject(context)) return {};
  const properties = ["ip", "library"].filter((member) => !Object.hasOwn(context, member));
  if (properties.length === 0) return {};
  const filter = {
    action: "drop-properties" as const,
    properties: properties.map((each) => `context.${each}`),
  };
  return { filters: [{ name: "As recorded", ...filter }] };
}

export function answerWords({ do: does, status }: Did): string {
  return does === "hang" ? "nothing in time" : does === "reset" ? "a reset" : String(status ?? 200);
}

const windowName = (place: number): string =>
  place === 0 ? "as-recorded" : `as-recorded-${place + 1}`;

type Window = {
  /** From the start of each round to when the next was due. */
  delays: number[];
  /** There were more than a profile may have. */
  isCut: boolean;
};

type Round = { at: number; dueAt: number };

/** That somebody asked for. `dueAt`: of the round that waited; null where it opens a window. */
type Retry = { at: number; dueAt: number | null };

function retryOf({ transitions }: Recorded["delivery"], place: number): Retry | null {
  const [before, transition] = [transitions[place - 1], transitions[place]];
  if (before === undefined || transition?.state !== "queued") return null;
  const at = Date.parse(transition.at);
  if (isSettled(before.state)) return { at, dueAt: null };
  return transition.reason === "retry_now" && before.nextAttemptAt !== null
    ? { at, dueAt: Date.parse(before.nextAttemptAt) }
    : null;
}

/** The rounds of each retry window as they came, then those that were planned. */
function windowsOf({ delivery, profile, seed, jitter }: Recorded): Window[] {
  const retries = [...delivery.transitions.keys()].flatMap(
    (place) => retryOf(delivery, place) ?? [],
  );
  const opened = retries.filter(({ dueAt }) => dueAt === null).map(({ at }) => at);
  const early = retries.filter((retry): retry is Round => retry.dueAt !== null);
  const starts = new Map<number, number>();
  for (const { round, startedAt } of delivery.attempts)
    starts.set(round, Math.min(Date.parse(startedAt), starts.get(round) ?? Infinity));
  const all = [...starts.values()].toSorted((a, b) => a - b);
  return [null, ...opened].map((openedAt, place): Window => {
    const until = opened[place] ?? Infinity;
    const own = all.filter((at) => at >= (openedAt ?? -Infinity) && at < until);
    const first = own[0] ?? openedAt ?? Date.parse(delivery.createdAt);
    const rounds = own.slice(1).map((at, index): Round => {
      const asked = early.findIndex((one) => one.at >= (own[index] ?? at) && one.at <= at);
      if (asked !== -1) return early.splice(0, asked + 1).at(-1) as Round;
      // They are due at a whole second, and start some milliseconds later.
      const dueAt = Math.round(at / 1000) * 1000;
      return { at: dueAt, dueAt };
    });
    const next = {
      ...{ profile, seed, jitter, sequence: deliveryIds.parse(delivery.id) ?? 0 },
      round: rounds.length + 1,
      roundStartedAt: rounds.at(-1)?.at ?? first,
      firstAttemptAt: first,
    };
    const planned = plannedRounds(next, maxDelays + 1);
    const dues = [...rounds.map(({ dueAt }) => dueAt), ...planned];
    const from = [first, ...rounds.map(({ at }) => at), ...planned];
    const delays = dues.map((dueAt, index) => Math.max(0, dueAt - (from[index] ?? dueAt)));
    return { delays: delays.slice(0, maxDelays), isCut: delays.length > maxDelays };
  });
}

/** Below this an answer came at once. */
const slowMs = 100;

/** The last answer of the record is repeated. */
const forever = 1_000_000;

function programOf({
  recorded: { delivery, isAnsweredHere },
  webhookId,
  about,
  answer,
  isDelete,
  note,
}: {
  recorded: Recorded;
  webhookId: string;
  about: AttemptAnswer;
  answer: Did | null;
  isDelete: boolean;
  note: Note;
}): ProgramStep[] {
  const own = delivery.attempts.filter((attempt) => attempt.webhookId === webhookId);
  const steps: (ProgramStep & { times: number })[] = [];
  let isApart = false;
  const delayOf = ({ outcome, durationMs, simulated, webhookUrl }: AttemptAnswer) =>
    outcome === "timeout" ||
    outcome === "tls_error" ||
    durationMs < slowMs ||
    (!simulated && isAnsweredHere(webhookUrl))
      ? {}
      : { delay: formatDuration(Math.round(durationMs)) };
  for (const attempt of own) {
    const isChanged = attempt === about;
    const step: ProgramStep =
      isChanged && answer !== null ? answer : { ...didOf(attempt, note), ...delayOf(attempt) };
    const last = steps.at(-1);
    // The changed answer has a line of its own, also where none is changed.
    if (last === undefined || isChanged || isApart || !isSame(last, step))
      steps.push({ ...step, times: 1 });
    else last.times += 1;
    isApart = isChanged;
  }
  const last = own.at(-1);
  if (last !== undefined) {
    if (last === about) steps.push({ ...didOf(last, note), ...delayOf(last), times: forever });
    else (steps.at(-1) as ProgramStep).times = forever;
  }
  const written = steps.map(({ times, ...step }): ProgramStep => ({
    ...(isDelete ? { match: { type: "delete" as const } } : {}),
    ...step,
    ...(times === 1 ? {} : { times }),
  }));
  return isDelete ? [...written, { status: 200 }] : written;
}

function isSame({ times: _, ...one }: ProgramStep, other: ProgramStep): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function stepsOf(recorded: Recorded, destination: string): Step[] {
  const { message, delivery, now } = recorded;
  const messageId = message.messageId;
  const of = message.type === "delete" ? { destination } : { messageId, destination };
  const startedAt = Date.parse(delivery.attempts[0]?.startedAt ?? delivery.createdAt);
  const steps: Step[] = sending(message, isMapped(recorded) ? null : delivery.payload);
  let at = startedAt;
  let window = 0;
  for (const [place, { at: time, reason }] of delivery.transitions.entries()) {
    const retry = retryOf(delivery, place);
    if (retry === null && reason !== "cancelled") continue;
    const doneAt = Date.parse(time);
    if (doneAt > at) steps.push({ advance: formatDuration(doneAt - at) });
    at = Math.max(at, doneAt);
    if (retry?.dueAt === null) {
      window += 1;
      const retryProfile = windowName(window);
      steps.push({ change: { destinations: { [destination]: { retryProfile } } } });
    }
    // With another answer, the delivery may be over by then, or being sent.
    steps.push({ ...(retry === null ? { cancel: of } : { retry: of }), ifPossible: true });
  }
  // What is not over in the record is compared as it stands now.
  if (isSettled(delivery.state)) steps.push({ advance: "idle" });
  else if (now > at) steps.push({ advance: formatDuration(now - at) });
  return steps;
}

/** `body` is null where a mapping made another one. */
function sending(
  message: MessageDetailsAnswer,
  body: DeliveryDetailsAnswer["payload"] | null,
): Step[] {
  const { userId, type, raw, messageId } = message;
  if (type === "delete")
    return [{ send: { type: "identify", userId } }, { delete: [userId ?? ""] }] as Step[];
  const value = objectOf(raw);
  const { writeKey: _, sentAt: __, type: ___, ...members } = value;
  const call = callTypes.find((one) => one === type) ?? "track";
  // They name the kind of the mapping's destination, and this one is of the other kind.
  if (body === null) {
    delete members["integrations"];
    if (isObject(members["context"])) delete members["context"]["integrations"];
  }
  // What the request filled in, and filters and a plan removed, is taken from the payload, so that
  // the body is the same.
  const payload = objectOf(body ?? "");
  const filled = Object.fromEntries(
    ["timestamp", "context", "properties", "traits"].flatMap((member) =>
      payload[member] === undefined ? [] : [[member, payload[member]]],
    ),
  );
  const sent = { ...members, messageId, ...filled };
  return misspelledMembers(sent).length === 0
    ? [{ send: { type: call, ...sent } }]
    : [{ post: JSON.stringify(sent), call }];
}

function objectOf(bytes: MessageDetailsAnswer["raw"]): JsonObject {
  try {
    const value = typeof bytes === "string" ? (JSON.parse(bytes) as Json) : null;
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}
