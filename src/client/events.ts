/** What an observer of the client receives, each time after it has happened. */

import type { Answer } from "./send.ts";
import type { CallType } from "./calls.ts";

/** The state of the client. */
export type ClientState = {
  /** Messages that wait for a flush: 7 of `flushAt`. */
  queued: number;
  flushAt: number;
  flushAfter: number;
  /** Epoch milliseconds; null while nothing waits for a flush. */
  nextFlushAt: number | null;
  /** Batches that were flushed and are not yet sent or given up. */
  batches: number;
  /** Of all messages in memory, as they go over the wire. */
  bytes: number;
};

export type FlushReason = "size" | "time" | "flush" | "close";

/** Bytes are those of its messages. */
export type FlushedBatch = { batchId: string; messages: number; bytes: number };

export type Happening =
  | { event: "queued"; type: CallType; messageId: string; messageBytes: number }
  | { event: "flushed"; reason: FlushReason; messages: number; batches: readonly FlushedBatch[] }
  | { event: "sending"; batchId: string; messages: number; batchBytes: number; tries: number }
  | { event: "sent"; batchId: string; messages: number; tries: number; answer: Answer }
  | {
      event: "retried";
      batchId: string;
      messages: number;
      tries: number;
      failure: string;
      answer: Answer | null;
      nextTryAt: number;
    }
  | {
      event: "failed";
      batchId: string;
      messages: number;
      tries: number;
      failure: string;
      answer: Answer | null;
    }
  | { event: "closed" };

export type ClientEvent = Happening & { at: number; state: ClientState };
