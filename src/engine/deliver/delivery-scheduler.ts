/**
 * Decides which delivery is sent when. It claims those that are queued or due, as many as keep the
 * lanes busy, and begins a round with each; the recorder stores the results in batches. Then it
 * asks the store for the next due time and sleeps.
 *
 * A delivery is `sending` in the store from the moment it is claimed, and has a round for as long
 * as an attempt of it is in progress: it is never claimed twice.
 *
 * States. Only while it is running is anything claimed; what ends is recorded in each:
 *   new       the ports may listen already, and what was being sent before is not queued again yet
 *   running
 *   clearing  a reset empties the store
 *   stopped
 */

import type { Destination } from "../../domain/configuration.ts";
import type { MessageRowId, DestinationId } from "../../domain/ids.ts";
import type { Activity, Origin, Work, Holds } from "../clock/activity.ts";
import type { Clock, ClockTimer } from "../clock/clock.ts";
import type { Changes } from "../pipeline.ts";
import type { WritingTurns } from "../profile-ports.ts";
import type { CommittedMessage, DeliveryStore, RecordedAttempt, UnderWay } from "../ports.ts";
import { storeFailure } from "../store-failure.ts";
import { nextTurn, startTimer, type RealTimer } from "../real-time.ts";
import { createLanes, type Lanes } from "./lanes.ts";
import { OwnDeliveries } from "./own-deliveries.ts";
import { maxRecordedMessages, Recorder } from "./recorder.ts";
import { messagesOf } from "./round-requests.ts";
import { Rounds, type RoundsOptions } from "./rounds.ts";
import type { DeliveryThread } from "./delivery-thread.ts";
import type { Trust } from "./dial.ts";

/**
 * What the rounds of one destination have in memory, mostly bodies; beyond it, no more of its
 * deliveries are claimed. When those of all destinations have more, only one without any claims
 * more.
 */
const maxBytesUnderWay = 32 * 1024 * 1024;
const maxBytesOfAll = 8 * maxBytesUnderWay;

/** Claimed at once: enough to keep the lanes busy, few enough for the event loop. */
const claimAtOnce = 256;

/**
 * Rounds of all destinations together: many destinations share them, so that two hundred hold some
 * megabytes. Each has enough for the connections that a lane always has, and for as many more.
 */
const maxRounds = 4096;
const roundsOfEach = 16;

/**
 * What one turn of the event loop claims of all destinations together. A batch counts with each of
 * its messages.
 */
const maxClaimedMessages = 1000;
const maxClaimedBytes = 8_000_000;

/**
 * Only an attempt that takes longer has its claim in the data file: a start after a kill tells it.
 * Those that are older than half of it are looked for this often.
 */
const claimWrittenAfterMs = 250;

/** Overdue deliveries start this far apart, all of them within a minute. */
const overdueGapMs = 250;
const overdueSpreadMs = 60_000;
/** Overdue deliveries, or messages of interrupted ones, that one turn moves. */
const maxCaughtUp = 1000;

/** How long a stop waits for attempts in progress. */
const drainMs = 3000;

type DeliverySchedulerOptions = {
  store: DeliveryStore & WritingTurns;
  configuration: RoundsOptions["configuration"] & { destinations(): Destination[] };
  clock: Clock;
  activity: Activity;
  holds: Holds;
  trust: Trust;
  /** Attempts are sent in this thread when left out. */
  thread?: DeliveryThread | undefined;
  /** How long a connection waits for its next request; the sender's default when left out. */
  idleMs?: number | undefined;
  flowTime?: RoundsOptions["flowTime"];
  traces?: RoundsOptions["traces"];
  changes: Changes;
  /** Cancels a slice of the deliveries of a deleted destination; false when there is none. */
  cancelOf: (destination: DestinationId) => boolean;
  onAttempts: (attempts: readonly RecordedAttempt[]) => void;
  report: (error: unknown) => void;
};

export class DeliveryScheduler {
  readonly #options: DeliverySchedulerOptions;
  readonly #recorder: Recorder;
  readonly #lanes: Lanes;
  readonly #rounds: Rounds;
  readonly #own: OwnDeliveries;
  /** One of each origin at most, until the pump has run. */
  #kicks: Work[] = [];
  #dueTimer: { at: number; timer: ClockTimer } | null = null;
  #recordClaims: RealTimer | null = null;
  #state: "new" | "running" | "clearing" | "stopped" = "new";
  #catchingUp = 0;
  /** Begins the next turn, where the last one had no room left for it. */
  #nextToClaim: DestinationId | null = null;
  /** How many of `maxRounds` each destination with work has. */
  #share = maxRounds;
  #isConfigurationChanged = false;
  /** Webhooks may be gone whose lanes are still open. */
  #hasUnusedLanes = false;
  #retryAfterError: RealTimer | null = null;

  constructor(options: DeliverySchedulerOptions) {
    this.#options = options;
    const { configuration, store, trust, thread, idleMs, changes, onAttempts, report } = options;
    this.#lanes = createLanes({
      trust,
      thread,
      idleMs,
      connections: () => configuration.settings().laneConnections,
      report,
    });
    this.#recorder = new Recorder({
      store,
      changes,
      attemptsUnderWay: () => this.#rounds.attemptsUnderWay,
      // Attempts are work of their own until they are recorded.
      onReady: () => this.kick("arrival"),
      onRecorded: onAttempts,
      report,
    });
    this.#own = new OwnDeliveries({ ...options, destinations: () => this.#withWork() });
    const originOf = (message: MessageRowId): Origin => this.#own.originOf(message);
    this.#rounds = new Rounds({
      ...options,
      originOf,
      lanes: this.#lanes,
      recorder: this.#recorder,
    });
  }

  get attemptsMade(): number {
    return this.#recorder.attempts;
  }

  underWay(): UnderWay[] {
    return this.#rounds.underWay();
  }

  start(): void {
    this.#state = "running";
    this.#catchUp(this.#requeuing());
    this.spreadOverdue();
  }

  /**
   * After a time in which nothing could run: spaces the overdue deliveries out, and each runs once.
   */
  spreadOverdue(): void {
    this.#catchUp(this.#spreading());
  }

  *#requeuing(): Generator<void> {
    const { store, clock } = this.#options;
    while (store.requeueInterrupted(clock.now(), maxCaughtUp) > 0) yield;
  }

  *#spreading(): Generator<void> {
    const { store, clock, configuration } = this.#options;
    const now = clock.now();
    const windowOf = (id: DestinationId): number => {
      const destination = configuration.destination(id);
      return destination === undefined
        ? Infinity
        : configuration.retryProfileOf(destination).windowMs;
    };
    const next = (place: number): number =>
      store.spreadOverdue(now, overdueGapMs, overdueSpreadMs, place, maxCaughtUp, windowOf);
    for (let place = 0; next(place) === maxCaughtUp; place += maxCaughtUp) yield;
  }

  /** Nothing is claimed until all slices are done, each in a turn; the first one is done at once. */
  #catchUp(slices: Generator<void>): void {
    if (slices.next().done === true) return this.kick();
    const work = this.#options.activity.begin();
    this.#catchingUp += 1;
    const rest = async (): Promise<void> => {
      do await nextTurn();
      while (this.#state === "running" && slices.next().done !== true);
    };
    rest()
      .catch((error: unknown) => {
        if (storeFailure(error) === null) this.#options.report(error);
      })
      .finally(() => {
        this.#catchingUp -= 1;
        work.end();
        this.kick();
      });
  }

  /** Something may have become ready: checks in the next turn of the event loop. */
  kick(origin: Origin = "own"): void {
    const isScheduled = this.#kicks.length > 0;
    if (!this.#kicks.some((kick) => kick.origin === origin || kick.origin === "own"))
      this.#kicks.push(this.#options.activity.begin(origin));
    if (isScheduled) return;
    this.#options.store.inWritingTurn(() => {
      const works = this.#kicks;
      this.#kicks = [];
      try {
        if (this.#state === "running") this.#pump();
        else this.#recorder.flush();
      } catch (error) {
        // The store reports its own failures, once.
        if (storeFailure(error) === null) this.#options.report(error);
        this.#retryAfterError?.cancel();
        this.#retryAfterError = startTimer(1000, () => this.kick());
      }
      for (const work of works) work.end();
    });
  }

  /** The transaction of a change may still fail, so what waits follows it in a later turn. */
  onConfigurationChanged(): void {
    this.#isConfigurationChanged = true;
    this.kick();
  }

  onCommitted(messages: readonly CommittedMessage[], origin: Origin): void {
    this.#own.add(messages, origin);
    if (messages.some(({ decisions }) => decisions.some(({ routed }) => routed))) this.kick(origin);
  }

  /**
   * Whether anything of an advance's own is queued, sending or waiting that the clock or the
   * network can still move, or an attempt is in progress beside one that succeeded.
   */
  hasOwnWork(): boolean {
    return this.#rounds.hasOwn || this.#own.areUnsettled();
  }

  /**
   * Whether one of an advance's own deliveries could be sent now, and waits for a connection that
   * becomes free without the clock.
   */
  hasOwnWaiting(): boolean {
    if (this.#rounds.hasOwnInLane) return true;
    return this.#withWork().some((destination) => {
      if (!destination.enabled || !this.#own.isRunnable(destination.id)) return false;
      return (
        this.#room(destination) > 0 ||
        destination.webhooks.some(({ id }) => this.#rounds.isMoving(id))
      );
    });
  }

  /** Whether anything waits for a connection, or could be claimed now. */
  hasQueued(): boolean {
    return this.#lanes.hasWaiting() || this.#hasRunnable();
  }

  #hasRunnable(): boolean {
    const { store, clock } = this.#options;
    return this.#withWork().some(
      ({ id, enabled }) => enabled && store.countRunnable(id, clock.now(), 1) > 0,
    );
  }

  /** Of a thousand destinations, few have anything to send or to wait for. */
  #withWork(): Destination[] {
    const { configuration, store } = this.#options;
    const working = store.destinationsWithWork();
    this.#share = Math.floor(maxRounds / working.size);
    return configuration.destinations().filter(({ id }) => working.has(id));
  }

  /**
   * Lets `empty` empty the store, stops all attempts without recording them, and continues. Where
   * the store refuses, all attempts go on.
   */
  async clear(empty: () => void): Promise<void> {
    this.#state = "clearing";
    try {
      this.#recorder.flush();
      empty();
      this.#recorder.forget();
      await this.#rounds.abandon();
      this.#rounds.forget();
    } finally {
      if (this.#state === "clearing") this.#state = "running";
      this.kick();
    }
  }

  /**
   * Nothing new starts. What is under way gets a moment to end, and is not recorded if it does not.
   * What a test endpoint holds gets it too, unless the clock is paused: then it cannot end.
   */
  async stop(): Promise<void> {
    const { activity, clock } = this.#options;
    this.#state = "stopped";
    this.#dueTimer?.timer.cancel();
    this.#retryAfterError?.cancel();
    this.#lanes.stop();
    if (this.#rounds.attemptsUnderWay > 0) {
      const signal = new AbortController();
      const limit = startTimer(drainMs, () => signal.abort());
      await activity.whenQuiet({ includeHeld: clock.isRunning(), signal: signal.signal });
      limit.cancel();
      await this.#rounds.abandon();
    }
    this.#recorder.stop();
    this.#recordClaims?.cancel();
    this.#reporting(() => this.#options.store.recordClaims());
    this.#lanes.close();
    await this.#options.thread?.stop();
  }

  #pump(): void {
    if (this.#isConfigurationChanged) {
      this.#isConfigurationChanged = false;
      this.#hasUnusedLanes = true;
      this.#rounds.onConfigurationChanged();
    }
    this.#recorder.flush();
    this.#cancelOrphans();
    const { store, clock } = this.#options;
    const destinations = this.#withWork();
    const enabled = destinations.filter((destination) => destination.enabled);
    this.#claimOf(enabled);
    let next = store.nextDueAt(
      enabled.filter((destination) => this.#room(destination) > 0).map(({ id }) => id),
    );
    const room = { messages: maxRecordedMessages };
    for (const destination of destinations) {
      if (destination.enabled) continue;
      const end = this.#expirePaused(destination, room);
      if (end !== null && (next === null || end < next)) next = end;
    }
    this.#sleepUntil(next);
    if (this.#hasUnusedLanes) this.#closeUnusedLanes();
    if (
      enabled.some(
        (destination) =>
          this.#room(destination) > 0 && store.countRunnable(destination.id, clock.now(), 1) > 0,
      )
    )
      this.kick();
  }

  /**
   * Cancels a slice of the deliveries of a deleted destination. It can be deleted while the result
   * of a round waits to be recorded, or while Hookyard is stopping.
   */
  #cancelOrphans(): void {
    if (this.#recorder.failure !== null) return;
    const { configuration, store, cancelOf } = this.#options;
    for (const id of [...store.destinationsWithWork()])
      if (configuration.destination(id) === undefined && cancelOf(id)) return this.kick();
  }

  #closeUnusedLanes(): void {
    const destinations = this.#options.configuration.destinations();
    const configured = destinations.flatMap(({ webhooks }) => webhooks.map(({ id }) => id));
    this.#hasUnusedLanes = !this.#lanes.closeUnused(new Set(configured));
  }

  #claimOf(destinations: readonly Destination[]): void {
    const room = { messages: maxClaimedMessages, bytes: maxClaimedBytes };
    const first = Math.max(
      0,
      destinations.findIndex(({ id }) => id === this.#nextToClaim),
    );
    this.#nextToClaim = null;
    for (const destination of [...destinations.slice(first), ...destinations.slice(0, first)]) {
      if (room.messages <= 0 || room.bytes <= 0) {
        this.#nextToClaim = destination.id;
        return;
      }
      this.#claim(destination, room);
    }
  }

  /** Takes what it claims from the room. */
  #claim(destination: Destination, room: { messages: number; bytes: number }): void {
    const { store, clock } = this.#options;
    // After a sleep it has what is overdue spread out, and until that is done there is no room.
    const now = clock.now();
    const limit = this.#room(destination);
    if (limit <= 0) return;
    const claimed = store.claim(destination.id, now, limit, room);
    if (claimed.length === 0) return;
    for (const delivery of claimed) {
      room.messages -= messagesOf(delivery).length;
      room.bytes -= delivery.payload.length;
    }
    this.#rounds.begin(claimed, destination);
    this.#watchClaims();
  }

  #watchClaims(): void {
    this.#recordClaims ??= startTimer(claimWrittenAfterMs / 2, () => {
      this.#recordClaims = null;
      this.#reporting(() => {
        if (this.#options.store.recordOlderClaims()) this.#watchClaims();
      });
    });
  }

  #reporting(write: () => void): void {
    try {
      write();
    } catch (error) {
      this.#options.report(error);
    }
  }

  /** How many more deliveries keep the least busy lane of a destination busy. */
  #room(destination: Destination): number {
    // What cannot be recorded is not sent, or it would pile up in memory.
    if (this.#recorder.failure !== null || this.#catchingUp > 0) return 0;
    const maxBytes = this.#rounds.bytesOfAll > maxBytesOfAll ? 0 : maxBytesUnderWay;
    if (this.#rounds.bytesUnderWay(destination.id) > maxBytes) return 0;
    const most = Math.max(this.#share, roundsOfEach);
    const wanted = destination.webhooks.map(
      ({ id }) => Math.min(this.#lanes.wanted(id), most) - this.#lanes.load(id),
    );
    return Math.min(claimAtOnce, Math.max(0, ...wanted));
  }

  /**
   * The deliveries of a disabled destination are paused, but their windows run on. Takes the
   * messages of those that expire from the room, and returns when the next window ends.
   */
  #expirePaused(destination: Destination, room: { messages: number }): number | null {
    // What has expired here is still paused in the store, and would be found again.
    if (this.#recorder.hasWaiting) return null;
    const { store, configuration, clock } = this.#options;
    const { windowMs } = configuration.retryProfileOf(destination);
    const now = clock.now();
    const expired = store.pausedPastWindow(destination.id, now, windowMs, room.messages);
    for (const { id: deliveryId, messages } of expired) {
      room.messages -= messages.length;
      const reason = "window_closed_while_disabled";
      const ended = { deliveryId, at: now, state: "expired", reason, nextAttemptAt: null } as const;
      this.#recorder.transition(ended, messages);
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
