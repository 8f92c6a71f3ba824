/**
 * Batches that were flushed: one on the wire at a time, in order. The first one is
 *
 *   sending → sent
 *           → waiting for its next try → sending
 *           → failed, its messages passed to `onError`
 *
 * and only then the next one begins.
 */

import type { CallType } from "./calls.ts";
import { AnalyticsError } from "./errors.ts";
import type { Happening } from "./events.ts";
import { parseJson } from "./json.ts";
import { delayBefore, isRetried } from "./retry.ts";
import type { RetryOptions } from "./retry.ts";
import type { Exchange, Outcome } from "./send.ts";
import type { Time, Timer } from "./time.ts";

export type QueuedMessage = { json: string; bytes: number };

export type Batch = { id: string; messages: readonly QueuedMessage[]; bytes: number };

type OutboxOptions = {
  time: Time;
  retry: RetryOptions;
  /** The body, made when the batch is first sent, and the same for every try. */
  encode(batch: Batch): Buffer;
  send(body: Buffer): Exchange;
  report(happening: Happening): void;
  sent(batch: Batch): void;
  notSent(error: NotSentError): void;
};

export type Outbox = {
  push(batch: Batch): void;
  /** Begins to send what was pushed, unless a batch is being sent already. */
  start(): void;
  readonly batches: number;
  /** Of the messages of all its batches. */
  readonly bytes: number;
  /** When every batch that is here now is sent or given up. */
  drained(): Promise<void>;
  /** Gives up every batch that is here, and from now on every one that comes. */
  abandon(reason: string): void;
};

type Entry = { batch: Batch; next: Entry | null; settled: (() => void)[] };

export function createOutbox({
  time,
  retry,
  encode,
  send,
  report,
  sent,
  notSent,
}: OutboxOptions): Outbox {
  let first: Entry | null = null;
  let last: Entry | null = null;
  let batches = 0;
  let bytes = 0;
  let running = false;
  let exchange: Exchange | null = null;
  const wait = createWait(time);
  let abandoned: string | null = null;

  async function run(): Promise<void> {
    running = true;
    for (let entry = first; entry !== null; entry = first) {
      await deliver(entry);
      for (const settled of entry.settled) settled();
    }
    running = false;
  }

  async function deliver(entry: Entry): Promise<void> {
    const { id } = entry.batch;
    const messages = entry.batch.messages.length;
    let outcome: Outcome = { error: new Error("never tried") };
    let tries = 0;
    const body = abandoned === null ? encode(entry.batch) : Buffer.alloc(0);
    while (abandoned === null) {
      tries += 1;
      exchange = send(body);
      report({ event: "sending", batchId: id, messages, batchBytes: body.length, tries });
      outcome = await exchange.done;
      exchange = null;
      if (isSuccess(outcome)) {
        take(entry);
        report({ event: "sent", batchId: id, messages, tries, answer: outcome.answer });
        sent(entry.batch);
        return;
      }
      if (abandoned !== null || tries >= retry.maxTries || !isRetried(outcome)) break;
      const nextTryAt = time.now() + delayBefore(tries + 1, outcome, time.now(), retry);
      const waited = wait.until(nextTryAt);
      report({
        event: "retried",
        batchId: id,
        messages,
        tries,
        failure: failureOf(outcome),
        answer: answerOf(outcome),
        nextTryAt,
      });
      await waited;
    }
    const failure = abandoned ?? failureOf(outcome);
    take(entry);
    report({ event: "failed", batchId: id, messages, tries, failure, answer: answerOf(outcome) });
    notSent(errorOf(entry.batch, failure, tries, outcome));
  }

  function take({ batch, next }: Entry): void {
    first = next;
    if (next === null) last = null;
    batches -= 1;
    bytes -= batch.bytes;
  }

  return {
    push(batch) {
      const entry: Entry = { batch, next: null, settled: [] };
      if (last === null) first = entry;
      else last.next = entry;
      last = entry;
      batches += 1;
      bytes += batch.bytes;
    },
    start() {
      if (!running) void run();
    },
    get batches() {
      return batches;
    },
    get bytes() {
      return bytes;
    },
    drained() {
      return new Promise((resolve) => {
        if (last === null) resolve();
        else last.settled.push(resolve);
      });
    },
    abandon(reason) {
      abandoned = reason;
      exchange?.abort(reason);
      wait.end();
    },
  };
}

/** One wait at a time, that can be ended early. */
function createWait(time: Time) {
  let wait: { timer: Timer; end: () => void } | null = null;
  return {
    until: (at: number): Promise<void> =>
      new Promise((resolve) => {
        const end = (): void => {
          wait = null;
          resolve();
        };
        wait = { timer: time.schedule(at, end), end };
      }),
    end(): void {
      wait?.timer.cancel();
      wait?.end();
    },
  };
}

function isSuccess(outcome: Outcome): outcome is Extract<Outcome, { answer: unknown }> {
  return "answer" in outcome && outcome.answer.status >= 200 && outcome.answer.status < 300;
}

function answerOf(outcome: Outcome): Extract<Outcome, { answer: unknown }>["answer"] | null {
  return "answer" in outcome ? outcome.answer : null;
}

function failureOf(outcome: Outcome): string {
  if ("answer" in outcome) return `the answer was ${outcome.answer.status}`;
  const { code, message } = outcome.error as NodeJS.ErrnoException;
  // Some errors of the system come without a text.
  return message === "" ? (code ?? "no answer") : message;
}

export function messagesOf(batch: Batch): UnsentMessage[] {
  return batch.messages.map(({ json }) => parseJson(json) as UnsentMessage);
}

function errorOf(batch: Batch, failure: string, tries: number, outcome: Outcome): NotSentError {
  const count = batch.messages.length;
  return new NotSentError({
    message: `${count} ${count === 1 ? "message was" : "messages were"} not sent: ${failure}.`,
    messages: messagesOf(batch),
    batchId: batch.id,
    tries,
    status: answerOf(outcome)?.status ?? null,
    cause: "error" in outcome ? outcome.error : undefined,
  });
}

/**
 * A message as it would have gone over the wire: the members of its call, and `type`, `messageId`
 * and `timestamp`.
 */
export type UnsentMessage = { type: CallType; messageId: string } & Record<string, unknown>;

/**
 * A batch that was given up. A message of it is queued again by `const { type, ...call } = message;
 * analytics.call(type, call)`.
 */
export class NotSentError extends AnalyticsError {
  override name = "NotSentError";
  readonly messages: UnsentMessage[];
  readonly batchId: string;
  readonly tries: number;
  /** Of the last answer; null without one. */
  readonly status: number | null;

  constructor(details: {
    message: string;
    messages: UnsentMessage[];
    batchId: string;
    tries: number;
    status: number | null;
    cause: unknown;
  }) {
    super("not_sent", details.message, null, details.cause);
    this.messages = details.messages;
    this.batchId = details.batchId;
    this.tries = details.tries;
    this.status = details.status;
  }
}
