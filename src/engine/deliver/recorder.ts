/**
 * Records attempts and changes of state in batches: one transaction for those that end close
 * together. An attempt counts as work until it is recorded. What the store refuses (a full disk) is
 * kept and written later.
 */

import { deliveryIds, messageIds, type MessageRowId } from "../../domain/ids.ts";
import type { Work } from "../clock/activity.ts";
import type { Changes } from "../pipeline.ts";
import type { DeliveryStore, RecordedAttempt, Transition } from "../ports.ts";
import { startTimer, type RealTimer } from "../real-time.ts";

/** This many records are written at once without waiting for more. */
const enough = 64;

/** How long a record waits for others to share its transaction. */
const gatherMs = 3;

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

export class Recorder {
  readonly #options: RecorderOptions;
  #attempts: RecordedAttempt[] = [];
  #transitions: Transition[] = [];
  #messages: MessageRowId[] = [];
  #works: Work[] = [];
  #timer: RealTimer | null = null;
  #failure: unknown = null;
  #stopped = false;
  /** Attempts recorded so far. */
  attempts = 0;

  constructor(options: RecorderOptions) {
    this.#options = options;
  }

  attempt(record: RecordedAttempt): void {
    this.#attempts.push(record);
    this.soon();
  }

  /** Ends this work once everything to record by now is recorded. */
  endWhenRecorded(work: Work): void {
    this.#works.push(work);
    this.soon();
  }

  transition(transition: Transition, messages: readonly MessageRowId[]): void {
    this.#transitions.push(transition);
    for (const id of messages) this.#messages.push(id);
    this.soon();
  }

  /**
   * Writes with what ends in the next few milliseconds, or now if there is enough to write or
   * nothing to wait for.
   */
  soon(): void {
    if (this.#failure !== null) return;
    if (this.#attempts.length >= enough || this.#options.attemptsUnderWay() === 0)
      this.#options.onReady();
    else this.#timer ??= startTimer(gatherMs, () => this.#options.onReady());
  }

  flush(): void {
    this.#timer?.cancel();
    this.#timer = null;
    if (
      this.#stopped ||
      (this.#attempts.length === 0 && this.#transitions.length === 0 && this.#works.length === 0)
    )
      return;
    try {
      this.#options.store.record(this.#attempts, this.#transitions);
    } catch (error) {
      if (this.#failure === null) this.#options.report(error);
      this.#failure = error;
      this.#timer = startTimer(retryMs, () => this.#options.onReady());
      return;
    }
    this.#failure = null;
    this.attempts += this.#attempts.length;
    this.#options.onRecorded(this.#attempts);
    for (const { deliveryId } of this.#transitions)
      this.#options.changes.note("deliveries", deliveryIds.format(deliveryId));
    for (const id of this.#messages) this.#options.changes.note("messages", messageIds.format(id));
    const works = this.#works;
    this.#messages = [];
    this.#attempts = [];
    this.#transitions = [];
    this.#works = [];
    for (const work of works) work.end();
  }

  /**
   * Why the store refused the last records, which are kept until it accepts them; null when it did
   * not.
   */
  get failure(): unknown {
    return this.#failure;
  }

  /** Discards the records of deleted deliveries. */
  forget(): void {
    for (const work of this.#works) work.end();
    this.#attempts = [];
    this.#transitions = [];
    this.#messages = [];
    this.#works = [];
  }

  stop(): void {
    this.flush();
    this.#stopped = true;
    this.#timer?.cancel();
  }
}
