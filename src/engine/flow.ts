/**
 * What moves through the pipeline: how many messages went along each line between two of its parts
 * since Hookyard started or was reset, how many per second now, how the attempts at each webhook
 * ended, and the newest messages one by one while somebody looks. `assembly.ts` feeds it with what
 * is on record; the API reads it. It keeps no rows, and never asks the store for messages.
 *
 * Rates are per second of real time, like those of `stats.get`.
 */

import type { Destination, Source } from "../domain/configuration.ts";
import type { DestinationId, MessageRowId, SourceId, WebhookId } from "../domain/ids.ts";
import type { Outcome } from "../domain/states.ts";
import type { CommittedMessage, QueryStore, RecordedAttempt, UnderWay } from "./ports.ts";

/** The last attempts at a webhook, which are shown one by one. */
const lastShown = 10;
/** Those at all webhooks: with a thousand of them, ten of each would take 600 KB. */
const lastInAll = 2000;

/** Attempts of the record that the first look reads, so that a webhook's last ones are known. */
const seeded = 500;

/** Above this many a second nobody can follow a single one; below the other, one can again. */
const sharesAbove = 40;
const sharesBelow = 30;

/** Somebody looks for this long after a look. */
const lookMs = 10_000;

/** Single messages stay this long in the answer: a page that looks once a second sees each. */
const movingMs = 4000;

const maxMoving = 1000;

/** Due times of a destination that are listed; the rest is a number. */
const maxDue = 60;
/** Those of all destinations: each of a thousand that fail would take 1.5 KB. */
const dueInAll = 1200;

/** Lines of an answer: those of two hundred sources and destinations would take 4 MB. */
const maxLines = 4000;

const rateSeconds = 5;

type FlowRate = {
  count: number;
  perSecond: number;
  /** There are too many to follow one by one, so that `moving` has none of them. */
  shares: boolean;
};

type FlowWebhook = FlowRate & {
  id: WebhookId;
  destinationId: DestinationId;
  /** Of the last minute. */
  lastMinute: { ended: number; failed: number };
  /** The last ones, oldest first. */
  last: LastAttempt[];
  /** The last attempts that failed one after the other; 0 when the last one succeeded. */
  failedInARow: number;
  lastFailure: LastAttempt | null;
  inFlight: number;
  /** How long the oldest of them has been in flight. */
  inFlightMs: number | null;
};

type LastAttempt = { outcome: Outcome; status: number | null; durationMs: number };

type MovingMessage = {
  id: MessageRowId;
  sourceId: SourceId;
  destinationIds: DestinationId[];
  agoMs: number;
};

type MovingAttempt = {
  messageId: MessageRowId;
  destinationId: DestinationId;
  webhookId: WebhookId;
  round: number;
  /** Null while it is in flight. */
  outcome: Outcome | null;
  agoMs: number;
};

export type FlowNow = {
  since: number;
  sources: (FlowRate & { id: SourceId })[];
  /** Of more than `maxLines`, those with the most messages, and none without. */
  lines: {
    sourceId: SourceId;
    destinationId: DestinationId;
    count: number;
    perSecond: number;
    /** Messages that a decision kept from the destination. */
    filtered: number;
  }[];
  webhooks: FlowWebhook[];
  waiting: {
    destinationId: DestinationId;
    queued: number;
    sending: number;
    waiting: number;
    due: number[];
  }[];
  moving: { messages: MovingMessage[]; attempts: MovingAttempt[] };
};

const span = 64;

/** How many of something there were in each of the last seconds. */
class Tally {
  readonly #slots = new Uint32Array(span);
  #newest = -Infinity;
  count = 0;

  add(second: number): void {
    this.#forget(second);
    this.#slots[second % span] = (this.#slots[second % span] as number) + 1;
    this.count += 1;
  }

  sum(second: number, seconds: number): number {
    this.#forget(second);
    let sum = 0;
    for (let ago = 0; ago < seconds; ago += 1)
      sum += this.#slots[(second - ago + span) % span] as number;
    return sum;
  }

  perSecond(second: number): number {
    return Math.round((this.sum(second, rateSeconds) / rateSeconds) * 10) / 10;
  }

  /** Empties the slots of the seconds that have passed since the newest one. */
  #forget(second: number): void {
    const passed = Math.min(span, second - this.#newest);
    for (let ago = 0; ago < passed; ago += 1) this.#slots[(second - ago + span) % span] = 0;
    if (passed > 0) this.#newest = second;
  }
}

class Followed extends Tally {
  #shares = false;

  rate(second: number): FlowRate {
    return {
      count: this.count,
      perSecond: this.perSecond(second),
      shares: this.isInShares(second),
    };
  }

  isInShares(second: number): boolean {
    const current = this.sum(second, 1);
    const before = (this.sum(second, 3) - current) / 2;
    const most = Math.max(current, before);
    if (most > sharesAbove) this.#shares = true;
    else if (most < sharesBelow) this.#shares = false;
    return this.#shares;
  }
}

class WebhookTally extends Followed {
  readonly failed = new Tally();
  last: LastAttempt[] = [];
  failedInARow = 0;
  lastFailure: LastAttempt | null = null;

  ended(attempt: LastAttempt): void {
    this.last.push(attempt);
    if (this.last.length > lastShown) this.last.shift();
    if (attempt.outcome === "success") this.failedInARow = 0;
    else {
      this.failedInARow += 1;
      this.lastFailure = attempt;
    }
  }
}

type Line = { routed: Tally; filtered: number };
type At<Kind> = Omit<Kind, "agoMs"> & { at: number };

type FlowOptions = {
  configuration: { sources(): Source[]; destinations(): Destination[] };
  store: Pick<QueryStore, "deliveriesByDestination" | "dueTimes" | "newestAttempts">;
  clock: { now(): number };
  /** Real time in milliseconds, the same as that of the attempts; a story's clock in a story. */
  monotonic: () => number;
  /** The attempts in flight. */
  underWay: () => UnderWay[];
};

export class Flow {
  readonly #options: FlowOptions;
  #since: number;
  #sources = new Map<SourceId, Followed>();
  #lines = new Map<SourceId, Map<DestinationId, Line>>();
  #webhooks = new Map<WebhookId, WebhookTally>();
  #lookedAt: number | null = null;
  #messages: At<MovingMessage>[] = [];
  #attempts: At<MovingAttempt>[] = [];

  constructor(options: FlowOptions) {
    this.#options = options;
    this.#since = options.clock.now();
  }

  /** After a reset. */
  reload(): void {
    this.#since = this.#options.clock.now();
    this.#sources = new Map();
    this.#lines = new Map();
    this.#webhooks = new Map();
    this.#lookedAt = null;
    this.#messages = [];
    this.#attempts = [];
  }

  committed(messages: readonly CommittedMessage[]): void {
    const now = this.#options.monotonic();
    const second = secondOf(now);
    const isWatched = this.#isWatched(now);
    for (const { id, sourceId, decisions } of messages) {
      const source = known(this.#sources, sourceId, () => new Followed());
      source.add(second);
      const lines = known(this.#lines, sourceId, () => new Map<DestinationId, Line>());
      for (const { destinationId, routed } of decisions) {
        const line = known(lines, destinationId, newLine);
        if (routed) line.routed.add(second);
        else line.filtered += 1;
      }
      if (!isWatched || this.#messages.length >= maxMoving || source.isInShares(second)) continue;
      const to = decisions.filter(({ routed }) => routed);
      const destinationIds = to.map(({ destinationId }) => destinationId);
      this.#messages.push({ id, sourceId, destinationIds, at: now });
    }
  }

  recorded(attempts: readonly RecordedAttempt[]): void {
    const now = this.#options.monotonic();
    const second = secondOf(now);
    const isWatched = this.#isWatched(now);
    for (const { messageRow, destinationId, webhookId, round, ...attempt } of attempts) {
      const webhook = known(this.#webhooks, webhookId, () => new WebhookTally());
      webhook.add(second);
      if (attempt.outcome !== "success") webhook.failed.add(second);
      const { outcome, response, durationMs } = attempt;
      webhook.ended({ outcome, status: response?.status ?? null, durationMs });
      if (!isWatched || this.#attempts.length >= maxMoving || webhook.isInShares(second)) continue;
      const messageId = messageRow;
      this.#attempts.push({ messageId, destinationId, webhookId, round, outcome, at: now });
    }
  }

  look(): FlowNow {
    const now = this.#options.monotonic();
    const second = secondOf(now);
    if (this.#lookedAt === null) this.#seed();
    if (!this.#isWatched(now)) {
      this.#messages = [];
      this.#attempts = [];
    }
    this.#lookedAt = now;
    const recent = ({ at }: { at: number }): boolean => at > now - movingMs;
    this.#messages = this.#messages.filter(recent);
    this.#attempts = this.#attempts.filter(recent);
    const { configuration } = this.#options;
    const destinations = configuration.destinations();
    const underWay = this.#options.underWay();
    const ago = <Kind>({ at, ...rest }: At<Kind>) => ({ ...rest, agoMs: Math.round(now - at) });
    return {
      since: this.#since,
      sources: configuration.sources().map(({ id }) => ({
        id,
        ...known(this.#sources, id, () => new Followed()).rate(second),
      })),
      lines: this.#linesNow(destinations, second),
      webhooks: this.#webhooksNow(destinations, underWay, now),
      waiting: this.#waitingNow(destinations),
      moving: {
        messages: this.#messages.map(ago<MovingMessage>),
        attempts: [
          ...this.#attempts.map(ago<MovingAttempt>),
          ...underWay
            .filter(({ webhookId }) => this.#webhooks.get(webhookId)?.isInShares(second) !== true)
            .slice(0, maxMoving)
            .map(({ startedAt, ...attempt }) => ({
              ...attempt,
              outcome: null,
              agoMs: Math.round(now - startedAt),
            })),
        ],
      },
    };
  }

  #isWatched(now: number): boolean {
    return this.#lookedAt !== null && now - this.#lookedAt < lookMs;
  }

  /** What ended before this Hookyard started is not counted, but how it ended is shown. */
  #seed(): void {
    const before = this.#options.store.newestAttempts(seeded).reverse();
    const counted = new Set(this.#webhooks.keys());
    for (const { webhookId, ...attempt } of before)
      if (!counted.has(webhookId))
        known(this.#webhooks, webhookId, () => new WebhookTally()).ended(attempt);
  }

  #linesNow(destinations: readonly Destination[], second: number): FlowNow["lines"] {
    const all = destinations.reduce((sum, { sourceIds }) => sum + sourceIds.length, 0);
    const found = destinations.flatMap(({ id: destinationId, sourceIds }) =>
      sourceIds.flatMap((sourceId) => {
        const line = this.#lines.get(sourceId)?.get(destinationId);
        if (line === undefined && all > maxLines) return [];
        const { routed, filtered } = line ?? noMessages;
        return [
          {
            sourceId,
            destinationId,
            count: routed.count,
            perSecond: routed.perSecond(second),
            filtered,
          },
        ];
      }),
    );
    if (found.length <= maxLines) return found;
    return found.sort((a, b) => b.count + b.filtered - a.count - a.filtered).slice(0, maxLines);
  }

  #webhooksNow(
    destinations: readonly Destination[],
    underWay: readonly UnderWay[],
    now: number,
  ): FlowWebhook[] {
    const second = secondOf(now);
    const flying = Map.groupBy(underWay, ({ webhookId }) => webhookId);
    const all = destinations.reduce((sum, { webhooks }) => sum + webhooks.length, 0);
    const shown = shareOf(lastInAll, all, lastShown);
    return destinations.flatMap(({ id: destinationId, webhooks }) =>
      webhooks.map(({ id }) => {
        const webhook = known(this.#webhooks, id, () => new WebhookTally());
        const inFlight = flying.get(id) ?? [];
        return {
          id,
          destinationId,
          ...webhook.rate(second),
          lastMinute: { ended: webhook.sum(second, 60), failed: webhook.failed.sum(second, 60) },
          last: webhook.last.slice(-shown),
          failedInARow: webhook.failedInARow,
          lastFailure: webhook.lastFailure,
          inFlight: inFlight.length,
          inFlightMs:
            inFlight.length === 0
              ? null
              : Math.round(now - Math.min(...inFlight.map(({ startedAt }) => startedAt))),
        };
      }),
    );
  }

  #waitingNow(destinations: readonly Destination[]): FlowNow["waiting"] {
    const { store } = this.#options;
    const states = store.deliveriesByDestination();
    const waitingNow = destinations.filter(({ id }) => (states.get(id)?.waiting ?? 0) > 0);
    const most = shareOf(dueInAll, waitingNow.length, maxDue);
    return destinations.flatMap(({ id: destinationId }) => {
      const { queued = 0, sending = 0, waiting = 0 } = states.get(destinationId) ?? {};
      if (queued + sending + waiting === 0) return [];
      const due = waiting === 0 ? [] : store.dueTimes(destinationId, most);
      return [{ destinationId, queued, sending, waiting, due }];
    });
  }
}

/** What each of so many may have, at least one. */
const shareOf = (inAll: number, among: number, most: number): number =>
  Math.min(most, Math.max(1, Math.floor(inAll / Math.max(1, among))));

const secondOf = (ms: number): number => Math.floor(ms / 1000);

const newLine = (): Line => ({ routed: new Tally(), filtered: 0 });
const noMessages = newLine();

function known<Key, Value>(map: Map<Key, Value>, key: Key, create: () => Value): Value {
  let value = map.get(key);
  if (value === undefined) {
    value = create();
    map.set(key, value);
  }
  return value;
}
