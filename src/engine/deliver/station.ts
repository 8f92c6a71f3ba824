/**
 * Sends deliveries. Takes up those that are queued or due, a round at a time: one attempt at every eligible
 * webhook, each in its webhook's lane; puts attempts and changes of state on record in batches; asks the store for
 * the next due time and sleeps until then.
 *
 * A round is over when all its attempts are. The delivery becomes
 *   delivered  at the first success, while siblings run to their end
 *   waiting    when a webhook is left that may be tried again and the profile gives a time for it
 *   expired    when that time would lie beyond the window
 *   failed     when no eligible webhook is left
 *
 * A delivery is `sending` in the store from the moment it is taken up, and is in `#rounds` for as long as an
 * attempt of it is under way: it is never taken up twice.
 */

import type { Destination, RetryProfile, Settings, Webhook } from "../../domain/configuration.ts";
import { deliveryIds, messageIds, type DeliveryId, type DestinationId, type WebhookId } from "../../domain/ids.ts";
import { isRetryable, nextRoundAt } from "../../domain/retry.ts";
import type { DeliveryState } from "../../domain/states.ts";
import type { Activity, Work } from "../clock/activity.ts";
import type { Clock, ClockTimer } from "../clock/clock.ts";
import type { Holds } from "../clock/holds.ts";
import type { Changes } from "../pipeline.ts";
import type { ClaimedDelivery, DeliveryStore } from "../ports.ts";
import { startTimer, type WallTimer } from "../wall.ts";
import { startAttempt, type AttemptResult, type RunningAttempt } from "./attempt.ts";
import { createDeliveryHeaders } from "./delivery-headers.ts";
import type { Trust } from "./exchange.ts";
import { createLanes, type Lanes } from "./lanes.ts";
import { Recorder } from "./recorder.ts";

/** Bodies of rounds under way that a destination may hold in memory; beyond it, it takes up no more. */
const maxBytesUnderWay = 32 * 1024 * 1024;

/** How many deliveries are taken up at once: long enough to keep the lanes busy, short enough for the event loop. */
const claimAtOnce = 128;

/** Overdue deliveries start this far apart, all of them within a minute. */
const overdueGapMs = 250;
const overdueSpreadMs = 60_000;

/** How long a stop waits for attempts under way. */
const drainMs = 3000;

type StationOptions = {
  store: DeliveryStore;
  configuration: {
    destinations(): Destination[];
    destination(id: DestinationId): Destination | undefined;
    retryProfile(name: string): RetryProfile | undefined;
    settings(): Settings;
  };
  clock: Clock;
  activity: Activity;
  holds: Holds;
  trust: Trust;
  changes: Changes;
  onAttempts: (n: number) => void;
  report: (error: unknown) => void;
};

type Round = {
  delivery: ClaimedDelivery;
  destination: Destination;
  profile: RetryProfile;
  startedAt: number;
  /** Attempts that have not ended. */
  open: number;
  finished: Set<WebhookId>;
  succeeded: boolean;
};

export class Station {
  readonly #options: StationOptions;
  readonly #recorder: Recorder;
  readonly #lanes: Lanes;
  readonly #headersOf: ReturnType<typeof createDeliveryHeaders>;
  readonly #rounds = new Map<DeliveryId, Round>();
  readonly #bytesUnderWay = new Map<DestinationId, number>();
  readonly #running = new Set<RunningAttempt>();
  #pumping: Work | null = null;
  #dueTimer: { at: number; timer: ClockTimer } | null = null;
  #stopping = false;
  #retryAfterError: WallTimer | null = null;

  constructor(options: StationOptions) {
    this.#options = options;
    const settings = (): Settings => options.configuration.settings();
    this.#lanes = createLanes({ trust: options.trust, connections: () => settings().laneConnections, report: options.report });
    this.#headersOf = createDeliveryHeaders({ vendor: () => settings().vendor });
    this.#recorder = new Recorder({
      store: options.store,
      changes: options.changes,
      attemptsUnderWay: () => this.#running.size,
      onReady: () => this.kick(),
      onRecorded: options.onAttempts,
      report: options.report,
    });
  }

  get attemptsMade(): number {
    return this.#recorder.attempts;
  }

  start(): void {
    const { store, clock } = this.#options;
    store.requeueInterrupted(clock.now());
    this.spreadOverdue();
    this.kick();
  }

  /** After a time in which nothing could run: each overdue delivery runs once, apart from the others. */
  spreadOverdue(): void {
    this.#options.store.spreadOverdue(this.#options.clock.now(), overdueGapMs, overdueSpreadMs);
    this.kick();
  }

  /**
   * Something may have become ready: looked at in the next turn of the event loop. In a stop nothing is taken up any
   * more, but what ends is still put on record: the stop waits for that.
   */
  kick(): void {
    if (this.#pumping !== null) return;
    this.#pumping = this.#options.activity.begin();
    setImmediate(() => {
      const work = this.#pumping;
      this.#pumping = null;
      try {
        if (this.#stopping) this.#recorder.flush();
        else this.#pump();
      } catch (error) {
        this.#options.report(error);
        this.#retryAfterError?.cancel();
        this.#retryAfterError = startTimer(1000, () => this.kick());
      }
      work?.end();
    });
  }

  /**
   * Whether anything is queued, sending or waiting that the clock or the network can still move, or an attempt is under
   * way beside one that succeeded.
   */
  hasWork(): boolean {
    if (this.#rounds.size > 0) return true;
    const { queued, sending, waiting } = this.#options.store.countByState();
    if (sending + waiting > 0) return true;
    if (queued === 0) return false;
    const enabled = this.#options.configuration.destinations().filter((destination) => destination.enabled);
    return enabled.some(({ id }) => this.#options.store.countRunnable(id, this.#options.clock.now(), 1) > 0);
  }

  /** Ends what is under way as if it had not been made, lets `empty` empty the store, and goes on. */
  async clear(empty: () => void): Promise<void> {
    this.#stopping = true;
    try {
      await this.#abandon();
      this.#recorder.flush();
      empty();
      this.#recorder.forget();
      this.#rounds.clear();
      this.#bytesUnderWay.clear();
    } finally {
      this.#stopping = false;
      this.kick();
    }
  }

  /**
   * Nothing new starts; what is under way gets a moment to end, and is as if not made if it does not. What a test
   * endpoint holds gets it too, unless the clock is paused: then it cannot end.
   */
  async stop(): Promise<void> {
    const { activity, clock } = this.#options;
    this.#stopping = true;
    this.#dueTimer?.timer.cancel();
    this.#retryAfterError?.cancel();
    this.#lanes.clear();
    if (this.#running.size > 0) {
      const signal = new AbortController();
      const limit = startTimer(drainMs, () => signal.abort());
      await activity.whenQuiet({ includeHeld: clock.isRunning(), signal: signal.signal });
      limit.cancel();
      await this.#abandon();
    }
    this.#recorder.stop();
    this.#lanes.close();
  }

  async #abandon(): Promise<void> {
    this.#lanes.clear();
    const running = [...this.#running];
    for (const attempt of running) attempt.stop();
    await Promise.all(running.map((attempt) => attempt.done));
  }

  #pump(): void {
    this.#recorder.flush();
    const { configuration, store, clock } = this.#options;
    const destinations = configuration.destinations();
    const enabled = destinations.filter((destination) => destination.enabled);
    for (const destination of enabled) this.#take(destination);
    let next = store.nextDueAt(enabled.filter((destination) => this.#room(destination) > 0).map(({ id }) => id));
    for (const destination of destinations) {
      if (destination.enabled) continue;
      const end = this.#expireHeld(destination);
      if (end !== null && (next === null || end < next)) next = end;
    }
    this.#sleepUntil(next);
    this.#lanes.closeUnused(destinations.flatMap(({ webhooks }) => webhooks.map(({ id }) => id)));
    if (enabled.some((destination) => this.#room(destination) > 0 && store.countRunnable(destination.id, clock.now(), 1) > 0)) this.kick();
  }

  #take(destination: Destination): void {
    const limit = this.#room(destination);
    if (limit <= 0) return;
    for (const delivery of this.#options.store.claim(destination.id, this.#options.clock.now(), limit))
      this.#startRound(delivery, destination);
  }

  /** How many more deliveries keep the least busy lane of a destination busy. */
  #room(destination: Destination): number {
    // What cannot be put on record is not sent either, or it would pile up in memory.
    if (this.#recorder.isFailing) return 0;
    if (destination.webhooks.length === 0) return claimAtOnce;
    if ((this.#bytesUnderWay.get(destination.id) ?? 0) > maxBytesUnderWay) return 0;
    const wanted = this.#options.configuration.settings().laneConnections * 3;
    const loads = destination.webhooks.map((webhook) => this.#lanes.load(webhook.id));
    return Math.min(claimAtOnce, wanted - Math.min(wanted, ...loads));
  }

  #startRound(delivery: ClaimedDelivery, destination: Destination): void {
    const { configuration, clock, changes } = this.#options;
    const finished = new Set(delivery.finished);
    const webhooks = destination.webhooks.filter((webhook) => !finished.has(webhook.id));
    const profile = configuration.retryProfile(destination.retryProfile) ?? configuration.retryProfile("documented");
    if (profile === undefined) throw new Error("the documented retry profile is missing");
    const round: Round = { delivery, destination, profile, startedAt: clock.now(), open: webhooks.length, finished, succeeded: false };
    changes.note("deliveries", deliveryIds.format(delivery.id));
    changes.note("messages", messageIds.format(delivery.messageRow));
    if (webhooks.length === 0) {
      this.#change(delivery, "failed", "no_webhook_left");
      return;
    }
    this.#rounds.set(delivery.id, round);
    this.#bytesUnderWay.set(destination.id, (this.#bytesUnderWay.get(destination.id) ?? 0) + delivery.payload.length);
    const headers = this.#headersOf(destination, delivery.payload);
    for (const webhook of webhooks) {
      this.#lanes.of(webhook.id).add({ start: () => this.#attempt(round, webhook, [...headers, ...Object.entries(webhook.headers)]) });
    }
  }

  async #attempt(round: Round, webhook: Webhook, headers: [string, string][]): Promise<void> {
    const { clock, holds, activity } = this.#options;
    const { delivery, profile } = round;
    const windowEnd = (delivery.firstAttemptAt ?? round.startedAt) + profile.windowMs;
    if (clock.now() > windowEnd) {
      this.#endAttempt(round, webhook, null);
      return;
    }
    const running = startAttempt({
      sender: this.#lanes.of(webhook.id).sender,
      clock,
      holds,
      activity,
      url: webhook.url,
      headers,
      body: delivery.payload,
      timeoutMs: profile.timeoutMs,
    });
    this.#running.add(running);
    const result = await running.done;
    this.#running.delete(running);
    if (result === null) running.work.end();
    else {
      const status = result.outcome === "http_error" ? (result.response?.status ?? null) : null;
      const retryable = isRetryable(profile, result.outcome, status);
      this.#recorder.attempt(
        {
          ...result,
          deliveryId: delivery.id,
          round: delivery.round,
          webhookId: webhook.id,
          webhookUrl: webhook.url,
          retryable,
          method: "POST",
        },
        running.work,
      );
      this.#endAttempt(round, webhook, { ...result, retryable });
    }
  }

  #endAttempt(round: Round, webhook: Webhook, result: (AttemptResult & { retryable: boolean }) | null): void {
    const { delivery } = round;
    round.open -= 1;
    if (result !== null && !result.retryable) round.finished.add(webhook.id);
    if (result?.outcome === "success" && !round.succeeded) {
      round.succeeded = true;
      this.#change(delivery, "delivered", "succeeded");
    }
    if (round.open > 0) return;
    this.#rounds.delete(delivery.id);
    this.#bytesUnderWay.set(round.destination.id, (this.#bytesUnderWay.get(round.destination.id) ?? 0) - delivery.payload.length);
    if (!round.succeeded) this.#conclude(round);
    this.#recorder.soon();
  }

  /** Every attempt of the round has ended and none succeeded. */
  #conclude({ delivery, destination, profile, startedAt, finished }: Round): void {
    const { configuration } = this.#options;
    const { seed, jitter } = configuration.settings();
    const current = configuration.destination(destination.id);
    if (current === undefined) return this.#change(delivery, "cancelled", "destination_deleted");
    if (current.webhooks.every((webhook) => finished.has(webhook.id))) return this.#change(delivery, "failed", "not_retried");
    const nextAttemptAt = nextRoundAt({
      profile,
      round: delivery.round - delivery.windowRound + 1,
      roundStartedAt: startedAt,
      firstAttemptAt: delivery.firstAttemptAt ?? startedAt,
      seed,
      sequence: delivery.id,
      jitter,
    });
    if (nextAttemptAt === null) this.#change(delivery, "expired", "window_closed");
    else this.#change(delivery, "waiting", "retry", nextAttemptAt);
  }

  #change({ id, messageRow }: ClaimedDelivery, state: DeliveryState, reason: string, nextAttemptAt: number | null = null): void {
    this.#recorder.transition({ deliveryId: id, at: this.#options.clock.now(), state, reason, nextAttemptAt }, messageRow);
  }

  /** A disabled destination holds its deliveries while their windows run on. Answers when the next window ends. */
  #expireHeld(destination: Destination): number | null {
    const { store, configuration, clock } = this.#options;
    const windowMs = configuration.retryProfile(destination.retryProfile)?.windowMs;
    if (windowMs === undefined) return null;
    const now = clock.now();
    for (const deliveryId of store.heldPastWindow(destination.id, now, windowMs)) {
      this.#recorder.transition(
        { deliveryId, at: now, state: "expired", reason: "window_closed_while_disabled", nextAttemptAt: null },
        null,
      );
    }
    this.#recorder.flush();
    return store.nextWindowEnd(destination.id, windowMs);
  }

  #sleepUntil(at: number | null): void {
    if (this.#dueTimer?.at === at) return;
    this.#dueTimer?.timer.cancel();
    this.#dueTimer = null;
    if (at === null) return;
    const timer = this.#options.clock.schedule(at, () => {
      this.#dueTimer = null;
      this.kick();
    });
    this.#dueTimer = { at, timer };
  }
}
