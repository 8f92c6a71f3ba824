/**
 * What the flow view shows, in words and figures: the configuration joined with what moves. The map
 * and the list are two drawings of it.
 */

import type { AnswerOf } from "../../../contract/contract.ts";
import type { Outcome } from "../../../domain/states.ts";
import { count, dayAndTime, duration, some } from "../../kit/words.ts";

export type FlowAnswer = AnswerOf<"flow.get">;
type SourceAnswer = AnswerOf<"sources.list">["items"][number];
type DestinationAnswer = AnswerOf<"destinations.list">["items"][number];
type AudienceAnswer = AnswerOf<"audiences.list">["items"][number];
type TraitAnswer = AnswerOf<"computedTraits.list">["items"][number];

/** Where messages come from: a source, or the audience or computed trait that a source is of. */
export type Origin = {
  id: string;
  kind: "source" | "audience" | "trait";
  name: string;
  /** Of the audience or the trait, where it is one. */
  ownerId: string;
  perSecond: number;
  count: number;
  shares: boolean;
  /** Of an audience: how many users are in. */
  size: number | null;
};

export type LineState = "idle" | "works" | "partly" | "failing" | "hanging" | "off";

export type FlowLine = {
  key: string;
  from: string;
  to: string;
  fromName: string;
  toName: string;
  perSecond: number;
  count: number;
  /** What is counted. */
  unit: "message" | "attempt";
  /** Beside rate and count; empty when there is nothing to say. */
  words: string;
  /** The words without the queue, where that is drawn. */
  brief: string;
  state: LineState;
  outcome: Outcome | null;
  /** Of the last minute's attempts, 0 to 1. */
  failedShare: number;
  /** Too many to draw one by one. */
  shares: boolean;
};

type Attempt = FlowAnswer["webhooks"][number]["last"][number];

export type FlowWebhook = {
  id: string;
  host: string;
  rest: string;
  url: string;
  line: FlowLine;
  last: readonly Attempt[];
  inFlight: number;
};

export type FlowDestination = {
  id: string;
  name: string;
  enabled: boolean;
  perSecond: number;
  count: number;
  lines: readonly FlowLine[];
  webhooks: readonly FlowWebhook[];
  queued: number;
  waiting: number;
  due: readonly number[];
  /** The state of its worst webhook. */
  state: LineState;
  /** Of a row that shows several. */
  members?: readonly FlowDestination[];
};

export type FlowModel = {
  origins: readonly Origin[];
  destinations: readonly FlowDestination[];
  since: number;
};

type Configured = {
  sources: readonly SourceAnswer[];
  destinations: readonly DestinationAnswer[];
  audiences: readonly AudienceAnswer[];
  traits: readonly TraitAnswer[];
};

/** An attempt that has been in flight for longer hangs: most answers take milliseconds. */
const hangsAfterMs = 2000;

/** So many failures one after the other are an outage, however many succeeded before. */
const failsAfter = 5;

const movingRestMs = 1000;
const failuresRestMs = 5000;

/**
 * When to ask again though nothing changes: rates return to zero, and failures leave the last
 * minute. Null when neither will happen.
 */
export function restOf({ webhooks, sources }: FlowAnswer): number | null {
  const isMoving =
    webhooks.some(({ perSecond, inFlight }) => perSecond > 0 || inFlight > 0) ||
    sources.some(({ perSecond }) => perSecond > 0);
  if (isMoving) return movingRestMs;
  return webhooks.some(({ lastMinute }) => lastMinute.failed > 0) ? failuresRestMs : null;
}

export const lineKey = (from: string, to: string): string => `${from}>${to}`;

/** `0.4/s`, `812/s`, nothing when nothing moves. */
export function rateWords(perSecond: number): string {
  if (perSecond === 0) return "";
  return `${perSecond >= 100 ? count(Math.round(perSecond)) : perSecond}/s`;
}

export function flowModel(
  { sources, destinations, audiences, traits }: Configured,
  flow: FlowAnswer,
  now: number,
): FlowModel {
  const figures = new Map(flow.sources.map((source) => [source.id, source]));
  const origins = sources.map((source): Origin => {
    const figure = figures.get(source.id);
    const audience = audiences.find(({ sourceId }) => sourceId === source.id);
    const trait = traits.find(({ sourceId }) => sourceId === source.id);
    return {
      id: source.id,
      kind: audience !== undefined ? "audience" : trait !== undefined ? "trait" : "source",
      name: audience?.name ?? trait?.name ?? source.name,
      ownerId: audience?.id ?? trait?.id ?? source.id,
      perSecond: figure?.perSecond ?? 0,
      count: figure?.count ?? 0,
      shares: figure?.shares ?? false,
      size: audience?.size ?? null,
    };
  });
  return {
    origins,
    destinations: destinations.map((destination) => destinationOf(destination, origins, flow, now)),
    since: Date.parse(flow.since),
  };
}

function destinationOf(
  { id, name, enabled, sourceIds, webhooks: configured, mappings }: DestinationAnswer,
  origins: readonly Origin[],
  flow: FlowAnswer,
  now: number,
): FlowDestination {
  const under = flow.waiting.find(({ destinationId }) => destinationId === id);
  const used = new Map(
    flow.lines
      .filter(({ destinationId }) => destinationId === id)
      .map((line) => [line.sourceId, line]),
  );
  const lines = sourceIds.flatMap((sourceId): FlowLine[] => {
    const from = origins.find((origin) => origin.id === sourceId);
    if (from === undefined) return [];
    const { count: routed, perSecond, filtered } = used.get(sourceId) ?? unused;
    return [
      {
        key: lineKey(sourceId, id),
        from: sourceId,
        to: id,
        fromName: from.name,
        toName: name,
        perSecond,
        count: routed,
        unit: "message",
        words: filtered === 0 ? "" : `${count(filtered)} filtered`,
        brief: "",
        state: !enabled ? "off" : routed === 0 ? "idle" : "works",
        outcome: null,
        failedShare: 0,
        shares: from.shares,
      },
    ];
  });
  const waiting = { queued: under?.queued ?? 0, waiting: under?.waiting ?? 0 };
  const due = (under?.due ?? []).map((at) => Date.parse(at));
  const webhooks = configured.map((webhook): FlowWebhook => {
    const figure = flow.webhooks.find((each) => each.id === webhook.id);
    return webhookOf({
      webhook,
      mapping: mappings.find((mapping) => mapping.id === webhook.id)?.name ?? "",
      destination: { id, name, enabled, ...waiting, due },
      figure,
      now,
    });
  });
  return {
    id,
    name,
    enabled,
    perSecond: sum(lines.map((line) => line.perSecond)),
    count: sum(lines.map((line) => line.count)),
    lines,
    webhooks,
    ...waiting,
    due,
    state: worst(webhooks.map(({ line }) => line.state)),
  };
}

const unused = { count: 0, perSecond: 0, filtered: 0 };

type WebhookOptions = {
  webhook: DestinationAnswer["webhooks"][number];
  /** Its name stands for a URL that each message gives. */
  mapping: string;
  destination: Pick<FlowDestination, "id" | "name" | "enabled" | "queued" | "waiting" | "due">;
  figure: FlowAnswer["webhooks"][number] | undefined;
  now: number;
};

function webhookOf(options: WebhookOptions): FlowWebhook {
  const {
    webhook: { id, url: own },
    mapping,
    destination,
    figure,
  } = options;
  const url = own === "" ? mapping : own;
  const { host, rest } = own === "" ? { host: mapping, rest: "" } : addressOf(own);
  const { state, words, brief = words } = standing(options);
  return {
    id,
    host,
    rest,
    url,
    last: figure?.last ?? [],
    inFlight: figure?.inFlight ?? 0,
    line: {
      key: lineKey(destination.id, id),
      from: destination.id,
      to: id,
      fromName: destination.name,
      toName: `${host}${rest}`,
      perSecond: figure?.perSecond ?? 0,
      count: figure?.count ?? 0,
      unit: "attempt",
      words,
      brief,
      state,
      outcome:
        state === "hanging"
          ? "timeout"
          : state === "failing" || state === "partly"
            ? (figure?.lastFailure?.outcome ?? "http_error")
            : null,
      failedShare: shareOf(figure),
      shares: figure?.shares ?? false,
    },
  };
}

const shareOf = (figure: WebhookOptions["figure"]): number =>
  figure === undefined || figure.lastMinute.ended === 0
    ? 0
    : figure.lastMinute.failed / figure.lastMinute.ended;

/** Whether a webhook works, and the sentence for it. */
function standing({
  destination: { enabled, waiting, due },
  figure,
  now,
}: Pick<WebhookOptions, "destination" | "figure" | "now">): {
  state: LineState;
  words: string;
  brief?: string;
} {
  if (!enabled) return { state: "off", words: "disabled" };
  if (figure === undefined) return { state: "idle", words: "" };
  const { last, lastMinute, failedInARow, lastFailure, inFlight, inFlightMs } = figure;
  const next = due[0];
  const queue = waiting === 0 ? "" : some(waiting, "waiting", "waiting");
  const then = next === undefined ? queue : `${queue}, next ${dayAndTime(next, now)}`;
  const said = (state: LineState, brief: string) => ({
    state,
    brief,
    words: then === "" ? brief : `${brief}, ${then}`,
  });
  if (inFlightMs !== null && inFlightMs >= hangsAfterMs)
    return said("hanging", `hangs, ${count(inFlight)} in flight`);
  const share = shareOf(figure);
  if (
    lastFailure !== null &&
    failedInARow > 0 &&
    (failedInARow >= failsAfter || share >= 0.5 || lastMinute.ended === 0)
  )
    return said(
      "failing",
      failedInARow === 1
        ? answerWords(lastFailure)
        : `${answerWords(lastFailure)}, the last ${count(failedInARow)}`,
    );
  const latest = last.at(-1);
  if (latest === undefined) return { state: "idle", words: "" };
  if (share > 0 && lastFailure !== null) {
    const percent = Math.max(1, Math.round(share * 100));
    return said("partly", `${percent} % fail with ${answerWords(lastFailure)}`);
  }
  return { state: "works", words: `${answerWords(latest)} in ${duration(latest.durationMs)}` };
}

const answerWords = ({ outcome, status }: Attempt): string =>
  outcome === "http_error" || outcome === "success"
    ? String(status ?? outcome)
    : outcome.replace("_", " ");

const gravity: readonly LineState[] = ["off", "idle", "works", "partly", "failing", "hanging"];

function worst(states: readonly LineState[]): LineState {
  return states.reduce<LineState>(
    (most, state) => (gravity.indexOf(state) > gravity.indexOf(most) ? state : most),
    "off",
  );
}

/** Rates have one decimal. */
export const sum = (numbers: readonly number[]): number =>
  Math.round(numbers.reduce((total, each) => total + each, 0) * 10) / 10;

/** What is no URL is as it is. */
export function addressOf(url: string): { host: string; rest: string } {
  try {
    const { host, pathname } = new URL(url);
    return { host, rest: pathname === "/" ? "" : pathname };
  } catch {
    return { host: url, rest: "" };
  }
}

/** All lines in the order of the map: what the list shows, and what the arrows walk. */
export function linesOf({ destinations, origins }: FlowModel): readonly FlowLine[] {
  return [
    ...origins.flatMap(({ id }) =>
      destinations.flatMap(({ lines }) => lines.filter(({ from }) => from === id)),
    ),
    ...destinations.flatMap(({ webhooks }) => webhooks.map(({ line }) => line)),
  ];
}

/** The webhooks that need attention, in the order of the map. */
export function troubles(
  { destinations }: FlowModel,
  state: "failing" | "hanging",
): readonly FlowWebhook[] {
  return destinations.flatMap(({ webhooks }) =>
    webhooks.filter(({ line }) => line.state === state),
  );
}

/** The newest message that went along a line, among those that are named one by one. */
export function newestOn({ moving }: FlowAnswer, line: string): string | null {
  const named = [
    ...moving.messages.flatMap(({ id, sourceId, destinationIds, agoMs }) =>
      destinationIds.map((to) => ({ id, agoMs, key: lineKey(sourceId, to) })),
    ),
    ...moving.attempts.map(({ messageId, destinationId, webhookId, agoMs }) => ({
      id: messageId,
      agoMs,
      key: lineKey(destinationId, webhookId),
    })),
  ].filter(({ key }) => key === line);
  return named.toSorted((a, b) => a.agoMs - b.agoMs)[0]?.id ?? null;
}

/** What a screen reader says of a line. */
export function lineSentence({
  fromName,
  toName,
  perSecond,
  count: n,
  unit,
  words,
}: FlowLine): string {
  const rate = perSecond === 0 ? "nothing moves" : `${perSecond} a second`;
  return [`${fromName} to ${toName}: ${rate}`, some(n, unit), words]
    .filter((part) => part !== "")
    .join(", ");
}

/** By second; by minute when the last one is more than five minutes away. */
export function dueGroups(due: readonly number[]): { at: number; size: number }[] {
  const [first] = due;
  const last = due.at(-1);
  if (first === undefined || last === undefined) return [];
  const step = last - first > 300_000 ? 60_000 : 1000;
  const groups = Map.groupBy(due, (at) => Math.floor(at / step));
  return [...groups.values()].map((all) => ({ at: all[0] as number, size: all.length }));
}
