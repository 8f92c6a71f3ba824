/**
 * Messages that wait for a flush, and when that is: at the `flushAt`-th, when `flushAfter` has
 * passed since the last flush, and when asked for. A flush cuts them into batches of at most
 * `flushAt` messages and `maxBatchBytes`, each with one message at least. What is here and what is on its way may take `maxQueueBytes`.
 *
 * The last flush of an idle client is the last time that one was due: its first message waits for
 * the rest of that interval, since a call is not to cause a request by itself.
 */

import { AnalyticsError } from "./errors.ts";
import type { FlushReason, Happening } from "./events.ts";
import type { CallType } from "./calls.ts";
import type { Batch, Outbox, QueuedMessage } from "./outbox.ts";
import type { Time, Timer } from "./time.ts";

/** Ingest rejects the rest of a longer batch, and answers 200. */
const maxBatchMessages = 2500;

type QueueSettings = { flushAt: number; flushAfter: number };

type QueueOptions = QueueSettings & {
  time: Time;
  maxQueueBytes: number;
  maxBatchBytes: number;
  newId(): string;
  /** Of a batch without its messages. */
  envelopeBytes(batchId: string): number;
  outbox: Outbox;
  report(happening: Happening): void;
};

export type Queue = {
  add(message: QueuedMessage, type: CallType, messageId: string): void;
  flush(reason: FlushReason): void;
  change(settings: Partial<QueueSettings>): void;
  readonly length: number;
  readonly bytes: number;
  readonly settings: QueueSettings;
  readonly nextFlushAt: number | null;
};

export function createQueue({
  time,
  maxQueueBytes,
  maxBatchBytes,
  newId,
  envelopeBytes,
  outbox,
  report,
  ...initial
}: QueueOptions): Queue {
  let settings: QueueSettings = { flushAt: initial.flushAt, flushAfter: initial.flushAfter };
  let messages: QueuedMessage[] = [];
  let bytes = 0;
  let lastFlushAt = time.now();
  let next: { at: number; timer: Timer | null } | null = null;

  function arm(): void {
    const now = time.now();
    // A clock may have been put back.
    const passed = Math.max(0, now - lastFlushAt);
    const at = now - passed + (Math.floor(passed / settings.flushAfter) + 1) * settings.flushAfter;
    next = { at, timer: Number.isFinite(at) ? time.schedule(at, () => flush("time")) : null };
  }

  function disarm(): void {
    next?.timer?.cancel();
    next = null;
  }

  function flush(reason: FlushReason): void {
    disarm();
    lastFlushAt = time.now();
    if (messages.length === 0) return;
    const batches = cut(messages);
    const flushed = messages.length;
    messages = [];
    bytes = 0;
    // All are in their place before an observer, who may make calls, hears of it.
    for (const batch of batches) outbox.push(batch);
    const cutUp = batches.map((batch) => ({
      batchId: batch.id,
      messages: batch.messages.length,
      bytes: batch.bytes,
    }));
    report({ event: "flushed", reason, messages: flushed, batches: cutUp });
    outbox.start();
  }

  function cut(all: readonly QueuedMessage[]): Batch[] {
    const batches: Batch[] = [];
    const atMost = Math.min(settings.flushAt, maxBatchMessages);
    let from = 0;
    while (from < all.length) {
      const id = newId();
      let size = envelopeBytes(id) - 1;
      let to = from;
      let own = 0;
      for (
        let message = all[to];
        message !== undefined &&
        (to === from || (to - from < atMost && size + message.bytes + 1 <= maxBatchBytes));
        message = all[to]
      ) {
        size += message.bytes + 1;
        own += message.bytes;
        to += 1;
      }
      batches.push({ id, messages: all.slice(from, to), bytes: own });
      from = to;
    }
    return batches;
  }

  return {
    add(message, type, messageId) {
      if (bytes + outbox.bytes + message.bytes > maxQueueBytes) {
        throw new AnalyticsError(
          "queue_full",
          `The queue is full: it holds ${bytes + outbox.bytes} of ${maxQueueBytes} bytes.`,
        );
      }
      messages.push(message);
      bytes += message.bytes;
      if (messages.length < settings.flushAt && next === null) arm();
      report({ event: "queued", type, messageId, messageBytes: message.bytes });
      if (messages.length >= settings.flushAt) flush("size");
    },
    flush,
    change(changed) {
      settings = { ...settings, ...changed };
      if (messages.length === 0) return;
      if (messages.length >= settings.flushAt) return flush("size");
      if (time.now() - lastFlushAt >= settings.flushAfter) return flush("time");
      disarm();
      arm();
    },
    get length() {
      return messages.length;
    },
    get bytes() {
      return bytes;
    },
    get settings() {
      return settings;
    },
    get nextFlushAt() {
      return next?.at ?? null;
    },
  };
}
