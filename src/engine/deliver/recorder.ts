/**
 * Records attempts and changes of state in batches: one transaction for those that end close
 * together. An attempt counts as work until it is recorded. What the store refuses (a full disk) is
 * kept and written later.
 */

import { deliveryIds, messageIds, type DeliveryId, type MessageRowId } from "../../domain/ids.ts";
import type { Work } from "../clock/activity.ts";
import type { Changes } from "../pipeline.ts";
import type { DeliveryStore, RecordedAttempt, Transition } from "../ports.ts";
import { startTimer, type RealTimer } from "../real-time.ts";

/**
 * This many records are written at once without waiting for more. A commit has costs of its own
 * (SQLite looks at each page of its cache), and rows that share a page are written once.
 */
const enough = 256;

/** How long a record waits for others to share its transaction. */
const gatherMs = 3;

/**
 * What one transaction writes at most: few enough rows and bytes to free the event loop after some
 * 50 ms. A batch counts with each of its messages. The rest follows in the next turn.
 */
export const maxRecordedMessages = 2000;
const maxRecordedBytes = 8_000_000;

const retryMs = 500;

type RecorderOptions = {
  store: Pick<DeliveryStore, "record">;
  changes: Changes;
  attemptsUnderWay: () => number;
  /** Called when it is time to call `flush`. */
  onReady: () => void;
  onRecorded: (attempts: readonly RecordedAttempt[]) => void;
  report: (error: unknown) => void;
};

/** What ended of one delivery without another in between, which is written together. */
type Ended = {
  deliveryId: DeliveryId | null;
  attempts: RecordedAttempt[];
  transitions: Transition[];
  messages: readonly MessageRowId[];
  works: Work[];
  bytes: number;
};

export class Recorder {
  readonly #options: RecorderOptions;
  #waiting: Ended[] = [];
  #attemptsWaiting = 0;
  #timer: RealTimer | null = null;
  #failure: unknown = null;
  #stopped = false;
  /** Attempts recorded so far. */
  attempts = 0;

  constructor(options: RecorderOptions) {
    this.#options = options;
  }

  /** `messages` are those of the delivery. */
  attempt(record: RecordedAttempt, messages: readonly MessageRowId[]): void {
    const ended = this.#of(record.deliveryId, messages);
    ended.attempts.push(record);
    ended.bytes +=
      record.requestHead.length +
      (record.response === null ? 0 : record.response.head.length + record.response.body.length);
    this.#attemptsWaiting += 1;
    this.soon();
  }

  /** Ends this work once everything to record by now is recorded. */
  endWhenRecorded(work: Work): void {
    const ended = this.#waiting.at(-1) ?? this.#begin(null, []);
    ended.works.push(work);
    this.soon();
  }

  transition(transition: Transition, messages: readonly MessageRowId[]): void {
    this.#of(transition.deliveryId, messages).transitions.push(transition);
    this.soon();
  }

  #of(deliveryId: DeliveryId, messages: readonly MessageRowId[]): Ended {
    const last = this.#waiting.at(-1);
    return last?.deliveryId === deliveryId ? last : this.#begin(deliveryId, messages);
  }

  #begin(deliveryId: DeliveryId | null, messages: readonly MessageRowId[]): Ended {
    const ended = { deliveryId, messages, attempts: [], transitions: [], works: [], bytes: 0 };
    this.#waiting.push(ended);
    return ended;
  }

  /** Whether anything was left for the next turn. */
  get hasWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  /**
   * Writes with what ends in the next few milliseconds, or now if there is enough to write or
   * nothing to wait for.
   */
  soon(): void {
    if (this.#failure !== null) return;
    if (this.#attemptsWaiting >= enough || this.#options.attemptsUnderWay() === 0)
      this.#options.onReady();
    else this.#timer ??= startTimer(gatherMs, () => this.#options.onReady());
  }

  /** Writes as much as one transaction may have; the rest is for the next call. */
  flush(): void {
    this.#timer?.cancel();
    this.#timer = null;
    if (this.#stopped || this.#waiting.length === 0) return;
    const ended = this.#next();
    const attempts: RecordedAttempt[] = [];
    const transitions: Transition[] = [];
    const messages: MessageRowId[] = [];
    for (const each of ended) {
      for (const attempt of each.attempts) attempts.push(attempt);
      for (const transition of each.transitions) transitions.push(transition);
      if (each.transitions.length > 0) for (const id of each.messages) messages.push(id);
    }
    try {
      this.#options.store.record(attempts, transitions);
    } catch (error) {
      if (this.#failure === null) this.#options.report(error);
      this.#failure = error;
      this.#timer = startTimer(retryMs, () => this.#options.onReady());
      return;
    }
    this.#failure = null;
    this.#waiting.splice(0, ended.length);
    this.#attemptsWaiting -= attempts.length;
    this.attempts += attempts.length;
    this.#options.onRecorded(attempts);
    const { changes } = this.#options;
    const deliveries = transitions.map(({ deliveryId }) => deliveryId);
    changes.noteMany("deliveries", deliveries, deliveryIds.format, false);
    changes.noteMany("messages", messages, messageIds.format, false);
    for (const { works } of ended) for (const work of works) work.end();
    if (this.#waiting.length > 0) this.#options.onReady();
  }

  #next(): Ended[] {
    let messages = 0;
    let bytes = 0;
    let end = 0;
    for (const each of this.#waiting) {
      messages += Math.max(1, each.messages.length);
      bytes += each.bytes;
      if (end > 0 && (messages > maxRecordedMessages || bytes > maxRecordedBytes)) break;
      end += 1;
    }
    return this.#waiting.slice(0, end);
  }

  /**
   * Why the store refused the last records, which are kept until it accepts them; null when it did
   * not.
   */
  get failure(): unknown {
    return this.#failure;
  }

  /** Discards the records of deleted deliveries, also those that the store has refused. */
  forget(): void {
    this.#timer?.cancel();
    this.#timer = null;
    this.#failure = null;
    for (const { works } of this.#waiting.splice(0)) for (const work of works) work.end();
    this.#attemptsWaiting = 0;
  }

  /** Writes everything that waits. */
  stop(): void {
    do this.flush();
    while (this.#waiting.length > 0 && this.#failure === null);
    this.#stopped = true;
    this.#timer?.cancel();
  }
}
