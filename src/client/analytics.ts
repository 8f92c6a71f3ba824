/**
 * The client that a program creates and calls: check, wire, queue and outbox together. Calls are
 * queued and return immediately; what is wrong with a call is thrown by it, what could not be sent
 * goes to `onError`.
 */

import { checkCall } from "./calls.ts";
import type { Alias, CallType, Group, Identify, Page, Screen, Track } from "./calls.ts";
import { AnalyticsError } from "./errors.ts";
import type { NotSentError } from "./outbox.ts";
import type { ClientEvent, ClientState, FlushReason, Happening } from "./events.ts";
import { isDebugged, logLine } from "./log.ts";
import { readEndpoint, readFlushOptions, readOptions, refuseUnknownOptions } from "./options.ts";
import type { AnalyticsOptions, FlushOptions, Settings } from "./options.ts";
import { createOutbox, messagesOf } from "./outbox.ts";
import type { Batch, Outbox } from "./outbox.ts";
import { createQueue } from "./queue.ts";
import type { Queue } from "./queue.ts";
import { createSender } from "./send.ts";
import type { Sender } from "./send.ts";
import {
  encodeMessage,
  envelopeOf,
  formatNanoTime,
  formatTime,
  headersOf,
  limitsOf,
  pathOf,
} from "./wire.ts";

/**
 * JavaScript's time has no digits below the millisecond. Those of version 3 count up within one,
 * from here and by this much.
 */
const firstNanoseconds = 220_457;
const nanosecondStep = 1117;

export class Analytics {
  readonly #settings: Settings;
  readonly #writeKey: string;
  readonly #outbox: Outbox;
  readonly #queue: Queue;
  readonly #log: boolean;
  #endpoint: string;
  #sender: Sender;
  #lastTime: { second: number; text: string } = { second: Number.NaN, text: "" };
  #lastNanoTime = { at: Number.NaN, nanoseconds: 0 };
  #closing = false;
  #closed: Promise<void> | null = null;

  constructor(writeKey: string, options: AnalyticsOptions = {}) {
    if (typeof writeKey !== "string")
      throw new AnalyticsError("invalid_option", "The write key must be a string.", "writeKey");
    this.#writeKey = writeKey;
    this.#settings = readOptions(options);
    this.#endpoint = this.#settings.endpoint;
    this.#log = isDebugged(process.env["DEBUG"]);
    this.#sender = this.#newSender(this.#endpoint);
    const { time, newId, maxTries, random, maxQueueBytes, flushAt, flushAfter } = this.#settings;
    const { wire, retryAfter, callback } = this.#settings;
    const report = (happening: Happening): void => this.#report(happening);
    this.#outbox = createOutbox({
      time,
      retry: {
        maxTries,
        random,
        retryAfter: retryAfter && ((retries) => notify(retryAfter, retries) ?? Number.NaN),
      },
      encode: (batch) => this.#encode(batch),
      send: (body) => this.#sender.send(body),
      report,
      sent: (batch) => {
        if (callback?.success !== undefined)
          for (const message of messagesOf(batch)) notify(callback.success, message);
      },
      notSent: (error) => this.#notSent(error),
    });
    this.#queue = createQueue({
      time,
      flushAt,
      flushAfter,
      maxQueueBytes,
      maxBatchBytes: limitsOf(wire).batchBytes,
      newId,
      envelopeBytes: (batchId) => this.#envelope(batchId).size,
      outbox: this.#outbox,
      report,
    });
  }

  identify(call: Identify): void {
    this.call("identify", call);
  }

  track(call: Track): void {
    this.call("track", call);
  }

  page(call: Page): void {
    this.call("page", call);
  }

  screen(call: Screen): void {
    this.call("screen", call);
  }

  group(call: Group): void {
    this.call("group", call);
  }

  alias(call: Alias): void {
    this.call("alias", call);
  }

  /** A call of any type, for programs in which the type is data. */
  call(type: CallType, call: unknown): void {
    if (this.#closing) throw new AnalyticsError("closed", "The client is closed.");
    const { wire, newId, strict } = this.#settings;
    const members = checkCall(type, call, strict);
    const messageId = (members["messageId"] as string | null | undefined) || newId();
    const json = encodeMessage(
      wire,
      type,
      members,
      messageId,
      this.#timestampOf(members["timestamp"]),
    );
    const bytes = Buffer.byteLength(json);
    const { messageBytes } = limitsOf(wire);
    if (bytes > messageBytes) {
      throw new AnalyticsError(
        "call_too_large",
        `The ${type} has ${bytes} bytes, more than the ${messageBytes} of one call.`,
      );
    }
    this.#queue.add({ json, bytes }, type, messageId);
  }

  /** Resolves when all that was queued is sent or passed to `onError`. */
  flush(): Promise<void> {
    return this.#flush("flush");
  }

  /**
   * Sends what is queued, with all its tries, and closes the connection. Calls throw from now on.
   * With `timeoutMs`, what is not sent by then goes to `onError`; with 0, nothing is sent any more.
   */
  close({
    timeoutMs = Number.POSITIVE_INFINITY,
  }: { timeoutMs?: number | undefined } = {}): Promise<void> {
    const giveUp = (): void =>
      this.#outbox.abandon("the client was closed before it could be sent");
    if (timeoutMs <= 0) giveUp();
    this.#closed ??= this.#close();
    if (timeoutMs <= 0 || !Number.isFinite(timeoutMs)) return this.#closed;
    const { time } = this.#settings;
    const deadline = time.schedule(time.now() + timeoutMs, giveUp);
    return this.#closed.finally(() => deadline.cancel());
  }

  async #close(): Promise<void> {
    this.#closing = true;
    await this.#flush("close");
    this.#sender.close();
    this.#report({ event: "closed" });
  }

  /**
   * While it runs. Batches that are on their way stay as they are, but the next try already goes to
   * the new endpoint.
   */
  configure(changes: FlushOptions & { endpoint?: string | undefined }): void {
    refuseUnknownOptions(changes, ["flushAt", "size", "flushAfter", "endpoint"]);
    const { endpoint, ...flush } = changes;
    const settings = readFlushOptions(flush);
    if (endpoint !== undefined) {
      const old = this.#sender;
      // This may throw, and then nothing has changed.
      this.#sender = this.#newSender(readEndpoint(endpoint));
      this.#endpoint = endpoint;
      // What is on the old one's wire may end.
      void this.#outbox.drained().then(() => old.close());
    }
    this.#queue.change(settings);
  }

  get endpoint(): string {
    return this.#endpoint;
  }

  get state(): ClientState {
    return {
      queued: this.#queue.length,
      ...this.#queue.settings,
      nextFlushAt: this.#queue.nextFlushAt,
      batches: this.#outbox.batches,
      bytes: this.#queue.bytes + this.#outbox.bytes,
    };
  }

  #timestampOf(given: unknown): string {
    if (given instanceof Date) return given.toISOString();
    if (typeof given === "string" && given !== "") return given;
    return this.#now();
  }

  /** Many calls come in the same second. */
  #now(): string {
    const now = this.#settings.time.now();
    if (this.#settings.wire === "v3") {
      const { at, nanoseconds } = this.#lastNanoTime;
      const next = now === at ? Math.min(nanoseconds + nanosecondStep, 999_999) : firstNanoseconds;
      this.#lastNanoTime = { at: now, nanoseconds: next };
      return formatNanoTime(now, next);
    }
    const second = Math.floor(now / 1000);
    if (second !== this.#lastTime.second)
      this.#lastTime = { second, text: formatTime(second * 1000) };
    return this.#lastTime.text;
  }

  #envelope(batchId: string): { head: string; tail: string; size: number } {
    const { wire, defaultContext } = this.#settings;
    const { head, tail } = envelopeOf(wire, batchId, this.#now(), defaultContext);
    return { head, tail, size: Buffer.byteLength(head) + Buffer.byteLength(tail) };
  }

  #encode({ id, messages }: Batch): Buffer {
    const { head, tail } = this.#envelope(id);
    return Buffer.from(`${head}${messages.map(({ json }) => json).join(",")}${tail}`);
  }

  #flush(reason: FlushReason): Promise<void> {
    this.#queue.flush(reason);
    return this.#outbox.drained();
  }

  #newSender(endpoint: string): Sender {
    const { wire, timeout, agent } = this.#settings;
    const url = new URL(endpoint + pathOf(wire));
    const own = typeof agent === "function" ? agent(url) : agent;
    return createSender({
      url,
      headers: (host, length) => headersOf(wire, host, this.#writeKey, length),
      timeoutMs: timeout,
      agent: own,
    });
  }

  #report(happening: Happening): void {
    const { onEvent, time } = this.#settings;
    if (onEvent === undefined && !this.#log) return;
    const event: ClientEvent = { ...happening, at: time.now(), state: this.state };
    if (this.#log) process.stderr.write(`${logLine(event)}\n`);
    if (onEvent !== undefined) notify(onEvent, event);
  }

  #notSent(error: NotSentError): void {
    const { onError, callback } = this.#settings;
    const failure = callback?.failure;
    if (failure !== undefined)
      for (const message of error.messages) notify((one) => failure(one, error), message);
    if (onError === undefined && failure !== undefined) return;
    if (onError === undefined)
      process.emitWarning(error.message, { type: "AnalyticsWarning", code: error.code });
    else notify(onError, error);
  }
}

/** What a callback throws is the program's own, and must not stop the sending. */
function notify<Value, Result>(
  callback: (value: Value) => Result,
  value: Value,
): Result | undefined {
  try {
    return callback(value);
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
    return undefined;
  }
}
