/**
 * The rounds in progress. A round tries one delivery: one attempt at every eligible webhook, each
 * in its webhook's lane. The delivery scheduler begins rounds with the deliveries it has claimed;
 * their results go to the recorder.
 *
 * A round is over when all its attempts are. The delivery becomes
 *   delivered  at the first success, while the other attempts run to their end
 *   waiting    when a webhook may be tried again and the retry profile has a time for it
 *   expired    when that time would lie beyond the window
 *   failed     when no webhook may be tried again
 *   queued     when the thread that sent an attempt has ended: nobody knows how that attempt went
 *
 * A round has the configuration of its start, which is when its first attempt gets a connection.
 * Until then a change of its destination begins it again, or queues its delivery again where
 * nothing may be sent.
 */

import type { Destination, RetryProfile, Settings, Webhook } from "../../domain/configuration.ts";
import {
  deliveryIds,
  messageIds,
  type DeliveryId,
  type DestinationId,
  type MessageRowId,
  type WebhookId,
} from "../../domain/ids.ts";
import { isRetryable, nextRoundAt, retryAfter } from "../../domain/retry.ts";
import type { DeliveryState } from "../../domain/states.ts";
import type { Activity, Origin, Work, Holds } from "../clock/activity.ts";
import type { Clock } from "../clock/clock.ts";
import type { Changes } from "../pipeline.ts";
import type { ClaimedDelivery, RecordedAttempt, UnderWay } from "../ports.ts";
import { monotonic } from "../real-time.ts";
import { startAttempt, type AttemptResult, type RunningAttempt } from "./attempt.ts";
import type { RequestHeaders } from "./exchange.ts";
import type { EndOfTask, LaneEnd, Lanes, LaneTask } from "./lanes.ts";
import type { Recorder } from "./recorder.ts";
import {
  headersFor,
  mappedHeaders,
  messagesOf,
  webhooksOf,
  withTraceparent,
} from "./round-requests.ts";
import type { AttemptTrace, DeliveryTraces } from "../traces/traces.ts";

export type RoundsOptions = {
  configuration: {
    destination(id: DestinationId): Destination | undefined;
    retryProfileOf(destination: Destination): RetryProfile;
    settings(): Settings;
  };
  clock: Clock;
  activity: Activity;
  originOf: (message: MessageRowId) => Origin;
  holds: Holds;
  lanes: Lanes;
  recorder: Recorder;
  changes: Changes;
  /** The time that the flow counts by; `monotonic` when left out. */
  flowTime?: (() => number) | undefined;
  /** Left out when nobody traces. */
  traces?: DeliveryTraces | undefined;
};

/**
 * A round has at least so many bytes in memory besides its body. They count, because a webhook that
 * hangs keeps the rounds in which its siblings have ended, also those without a body.
 */
export const bytesOfRound = 512;

/** A receiver that answers sooner has others sent ahead. */
const quickMs = 20;

type Round = {
  delivery: ClaimedDelivery;
  destination: Destination;
  profile: RetryProfile;
  /** When its first attempt got its connection; null before. The next round counts from here. */
  startedAt: number | null;
  /** Attempts that got a connection, or are to get the next. */
  started: number;
  /** Attempts that have not ended. */
  open: number;
  finished: Set<WebhookId>;
  succeeded: boolean;
  interrupted: boolean;
  /** The latest time that a receiver's `Retry-After` asks for. */
  notBefore: number | null;
};

/** An attempt that has a connection, or is to get the next. */
type Trying = {
  round: Round;
  webhook: Webhook;
  task: LaneTask;
  work: Work;
  trace: AttemptTrace | undefined;
  /** By `flowTime`. */
  startedAt: number;
};

type Starting = Pick<Trying, "round" | "webhook" | "task"> & {
  headers: RequestHeaders;
  end: EndOfTask;
};

type KnownHeaders = { destination: Destination; vendor: string; headers: RequestHeaders };

export class Rounds {
  readonly #options: RoundsOptions;
  readonly #underWay = new Map<DeliveryId, Round>();
  readonly #bytes = new Map<DestinationId, number>();
  /** Of all destinations. */
  bytesOfAll = 0;
  readonly #attempts = new Map<RunningAttempt, Trying>();
  readonly #headers = new WeakMap<Webhook, KnownHeaders>();
  readonly #abandoned = new WeakSet<RunningAttempt>();
  /** Rounds whose attempt at a webhook waits for a connection. */
  readonly #inLane = new Map<WebhookId, Map<Round, LaneTask>>();

  constructor(options: RoundsOptions) {
    this.#options = options;
  }

  get attemptsUnderWay(): number {
    return this.#attempts.size;
  }

  underWay(): UnderWay[] {
    return [...this.#attempts.values()].map(({ round: { delivery }, webhook, startedAt }) => ({
      messageId: delivery.messageRow,
      destinationId: delivery.destinationId,
      webhookId: webhook.id,
      round: delivery.round,
      startedAt,
    }));
  }

  /** Of the rounds in progress, with their bodies. */
  bytesUnderWay(destination: DestinationId): number {
    return this.#bytes.get(destination) ?? 0;
  }

  #count({ destination: { id }, delivery }: Round, by: 1 | -1): void {
    const bytes = by * (bytesOfRound + delivery.payload.length);
    this.#bytes.set(id, this.bytesUnderWay(id) + bytes);
    this.bytesOfAll += bytes;
  }

  /** Whether a round of an advance's own deliveries is in progress. */
  get hasOwn(): boolean {
    return [...this.#underWay.values()].some((round) => this.#originOf(round) === "own");
  }

  /**
   * Whether an attempt at an advance's own delivery waits for a connection that becomes free
   * without the clock.
   */
  get hasOwnInLane(): boolean {
    return [...this.#inLane].some(
      ([webhook, rounds]) =>
        this.isMoving(webhook) &&
        [...rounds.keys()].some((round) => this.#originOf(round) === "own"),
    );
  }

  #originOf({ delivery }: Round): Origin {
    return this.#options.originOf(delivery.messageRow);
  }

  /** Whether an attempt at this webhook will end without the clock. */
  isMoving(id: WebhookId): boolean {
    return [...this.#attempts.values()].some(
      ({ webhook, work }) => webhook.id === id && !work.isHeld,
    );
  }

  /** Deliveries that were claimed together. */
  begin(claimed: readonly ClaimedDelivery[], destination: Destination): void {
    const { changes } = this.#options;
    const ids = claimed.map(({ id }) => id);
    changes.noteMany("deliveries", ids, deliveryIds.format, false);
    changes.noteMany("messages", claimed.flatMap(messagesOf), messageIds.format, false);
    for (const delivery of claimed) this.#begin(delivery, destination);
  }

  #begin(delivery: ClaimedDelivery, destination: Destination): void {
    const { configuration, lanes } = this.#options;
    const finished = new Set(delivery.finished);
    const webhooks = webhooksOf(delivery, destination).filter(({ id }) => !finished.has(id));
    const profile = configuration.retryProfileOf(destination);
    const round: Round = {
      delivery,
      destination,
      profile,
      startedAt: null,
      started: 0,
      open: webhooks.length,
      finished,
      succeeded: false,
      interrupted: false,
      notBefore: null,
    };
    if (webhooks.length === 0) return this.#endWithout(round, "failed", "no_webhook_left");
    this.#underWay.set(delivery.id, round);
    this.#count(round, 1);
    const { vendor } = configuration.settings();
    for (const webhook of webhooks) {
      const headers =
        delivery.mapped === undefined
          ? this.#headersOf(webhook, destination, vendor)
          : mappedHeaders(delivery.mapped, destination, vendor, delivery.payload.length > 0);
      const task: LaneTask = {
        url: webhook.url,
        start: (end) => this.#attempt({ round, webhook, headers, task, end }),
      };
      this.#inLaneOf(webhook).set(round, task);
      lanes.of(webhook.id).add(task);
    }
  }

  /**
   * Of a round that has started, what waits is not sent to a webhook that was removed, nor when its
   * destination is off or deleted.
   */
  onConfigurationChanged(): void {
    const { lanes, recorder } = this.#options;
    const unstarted = new Set<Round>();
    for (const [id, waiting] of this.#inLane) {
      if (waiting.size === 0) continue;
      const outdated = [...waiting].filter(([round]) => this.#isOutdated(round, id));
      if (outdated.length === 0) continue;
      lanes.of(id).remove(new Set(outdated.map(([, task]) => task)));
      for (const [round] of outdated) {
        waiting.delete(round);
        if (round.started === 0) unstarted.add(round);
        else {
          this.#endAttempt(round, id, null);
          recorder.endWhenRecorded(this.#beginWork(round));
        }
      }
    }
    for (const round of unstarted) this.#beginAgain(round);
  }

  #isOutdated(round: Round, id: WebhookId): boolean {
    const current = this.#current(round);
    if (current === round.destination) return false;
    if (round.started === 0 || current?.enabled !== true) return true;
    return !webhooksOf(round.delivery, current).some((webhook) => webhook.id === id);
  }

  /** The same object for as long as nothing of it has changed; undefined when it is deleted. */
  #current({ destination }: Round): Destination | undefined {
    return this.#options.configuration.destination(destination.id);
  }

  #beginAgain(round: Round): void {
    const current = this.#current(round);
    this.#leave(round);
    if (current === undefined) this.#endWithout(round, "cancelled", "destination_deleted");
    else if (current.enabled) this.#begin(round.delivery, current);
    else this.#endWithout(round, "queued", "disabled");
  }

  /** Without an attempt. */
  #endWithout(round: Round, state: DeliveryState, reason: string): void {
    this.#change(round.delivery, state, reason);
    this.#options.recorder.endWhenRecorded(this.#beginWork(round));
  }

  #beginWork(round: Round): Work {
    return this.#options.activity.begin(this.#originOf(round));
  }

  #leave(round: Round): void {
    this.#underWay.delete(round.delivery.id);
    this.#count(round, -1);
  }

  /** The same array for all deliveries, because the sender keeps what it makes of it. */
  #headersOf(webhook: Webhook, destination: Destination, vendor: string): RequestHeaders {
    const known = this.#headers.get(webhook);
    if (known?.destination === destination && known.vendor === vendor) return known.headers;
    const headers = headersFor(destination, webhook, vendor);
    this.#headers.set(webhook, { destination, vendor, headers });
    return headers;
  }

  #inLaneOf({ id }: Webhook): Map<Round, LaneTask> {
    let rounds = this.#inLane.get(id);
    if (rounds === undefined) {
      rounds = new Map();
      this.#inLane.set(id, rounds);
    }
    return rounds;
  }

  /** Stops the attempts in progress and does not record them. */
  async abandon(): Promise<void> {
    this.#options.lanes.clear();
    this.#inLane.clear();
    const running = [...this.#attempts.keys()];
    for (const attempt of running) {
      this.#abandoned.add(attempt);
      attempt.stop();
    }
    await Promise.all(running.map((attempt) => attempt.done));
  }

  /** Called when the deliveries are deleted. */
  forget(): void {
    this.#underWay.clear();
    this.#bytes.clear();
    this.bytesOfAll = 0;
    this.#options.traces?.forget();
  }

  #attempt({ round, webhook, headers, task, end }: Starting): void {
    // A connection became free between a change and `onConfigurationChanged`.
    if (this.#isOutdated(round, webhook.id)) {
      this.onConfigurationChanged();
      return end(() => "slow");
    }
    const { clock, flowTime = monotonic, holds, lanes, recorder, traces } = this.#options;
    const { delivery, profile } = round;
    const now = clock.now();
    const windowEnd = (delivery.firstAttemptAt ?? round.startedAt ?? now) + profile.windowMs;
    const work = this.#beginWork(round);
    this.#inLaneOf(webhook).delete(round);
    if (now > windowEnd)
      return end(() => {
        this.#endAttempt(round, webhook.id, null);
        recorder.endWhenRecorded(work);
        return "slow";
      });
    round.startedAt ??= now;
    round.started += 1;
    const trace = traces?.begin(delivery, webhook);
    const trying: Trying = { round, webhook, task, work, trace, startedAt: flowTime() };
    const running = startAttempt({
      sender: lanes.of(webhook.id).sender,
      clock,
      holds,
      work,
      url: webhook.url,
      method: delivery.mapped?.method,
      headers: trace === undefined ? headers : withTraceparent(headers, trace),
      body: delivery.payload,
      timeoutMs: profile.timeoutMs,
      onEnd: (result) => end(() => this.#ended(running, trying, result)),
    });
    this.#attempts.set(running, trying);
  }

  #ended(
    running: RunningAttempt,
    { round, webhook, task, work, trace }: Trying,
    result: AttemptResult | null,
  ): LaneEnd {
    const { lanes, recorder } = this.#options;
    const { delivery, profile } = round;
    this.#attempts.delete(running);
    if (running.isUnsent) {
      round.started -= 1;
      if (round.started === 0) round.startedAt = null;
      this.#inLaneOf(webhook).set(round, task);
      lanes.of(webhook.id).putBack(task);
      if (this.#current(round) !== round.destination) this.onConfigurationChanged();
      work.end();
      return "unsent";
    }
    if (result === null) {
      if (this.#abandoned.has(running)) {
        work.end();
        return "slow";
      }
      round.interrupted = true;
      this.#endAttempt(round, webhook.id, null);
      recorder.endWhenRecorded(work);
      return "slow";
    }
    trace?.end(result);
    const status = result.outcome === "http_error" ? (result.response?.status ?? null) : null;
    const attempt: RecordedAttempt = {
      startedAt: result.startedAt,
      durationMs: result.durationMs,
      phases: result.phases,
      simulated: result.simulated,
      outcome: result.outcome,
      error: result.error,
      requestHead: result.requestHead,
      response: result.response,
      deliveryId: delivery.id,
      messageRow: delivery.messageRow,
      destinationId: delivery.destinationId,
      round: delivery.round,
      webhookId: webhook.id,
      webhookUrl: webhook.url,
      retryable: isRetryable(profile, result.outcome, status),
    };
    recorder.attempt(attempt, messagesOf(delivery));
    recorder.endWhenRecorded(work);
    this.#endAttempt(round, webhook.id, attempt);
    return attempt.durationMs < quickMs ? "quick" : "slow";
  }

  #endAttempt(
    round: Round,
    webhook: WebhookId,
    result: (AttemptResult & { retryable: boolean }) | null,
  ): void {
    const { delivery } = round;
    round.open -= 1;
    if (result !== null && !result.retryable) round.finished.add(webhook);
    else if (round.profile.honourRetryAfter && result?.response) {
      const asked = retryAfter(result.response.head, this.#options.clock.now());
      if (asked !== null) round.notBefore = Math.max(asked, round.notBefore ?? 0);
    }
    if (result?.outcome === "success" && !round.succeeded) {
      round.succeeded = true;
      this.#change(delivery, "delivered", "succeeded");
    }
    if (round.open > 0) return;
    this.#leave(round);
    if (round.interrupted && !round.succeeded) this.#change(delivery, "queued", "interrupted");
    else if (!round.succeeded) this.#conclude(round);
    this.#options.traces?.endRound(delivery, round.succeeded);
    this.#options.recorder.soon();
  }

  /** Every attempt of the round has ended and none succeeded. */
  #conclude(round: Round): void {
    const { configuration, clock } = this.#options;
    const { delivery, profile, finished } = round;
    const startedAt = round.startedAt ?? clock.now();
    const { seed, jitter } = configuration.settings();
    const current = this.#current(round);
    if (current === undefined) return this.#change(delivery, "cancelled", "destination_deleted");
    if (webhooksOf(delivery, current).every((webhook) => finished.has(webhook.id)))
      return this.#change(delivery, "failed", "not_retried");
    const firstAttemptAt = delivery.firstAttemptAt ?? startedAt;
    // The round may have waited so long for its lanes that the window closed before it.
    if (clock.now() > firstAttemptAt + profile.windowMs)
      return this.#change(delivery, "expired", "window_closed");
    const nextAttemptAt = nextRoundAt({
      profile,
      round: delivery.round - delivery.windowRound + 1,
      roundStartedAt: startedAt,
      firstAttemptAt,
      seed,
      sequence: delivery.id,
      jitter,
      notBefore: round.notBefore,
    });
    if (nextAttemptAt === null) this.#change(delivery, "expired", "window_closed");
    else this.#change(delivery, "waiting", "retry", nextAttemptAt);
  }

  #change(
    delivery: ClaimedDelivery,
    state: DeliveryState,
    reason: string,
    nextAttemptAt: number | null = null,
  ): void {
    const { clock, recorder } = this.#options;
    recorder.transition(
      { deliveryId: delivery.id, at: clock.now(), state, reason, nextAttemptAt },
      messagesOf(delivery),
    );
  }
}
