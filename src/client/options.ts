/** What a client is made with, and its check. */

import { randomUUID } from "node:crypto";
import type { Agent } from "node:http";
import { AnalyticsError } from "./errors.ts";
import type { NotSentError } from "./outbox.ts";
import type { ClientEvent } from "./events.ts";
import { realTime } from "./time.ts";
import type { Time } from "./time.ts";
import { wireModes } from "./wire.ts";
import type { WireMode } from "./wire.ts";

export type FlushOptions = {
  /** How many messages make a flush, and at most a batch; 1 sends each at once. Default: 20. */
  flushAt?: number | undefined;
  /** The same as `flushAt`. */
  size?: number | undefined;
  /** How many milliseconds since the last flush make one. Default: 5,000. */
  flushAfter?: number | undefined;
};

export type AnalyticsOptions = FlushOptions & {
  /**
   * The URL before `/v1/batch`, unchanged. Default: `http://127.0.0.1:4700`, Hookyard on this
   * machine.
   */
  endpoint?: string | undefined;
  /** Whether a page needs a `userId`. Default: true. */
  strict?: boolean | undefined;
  /** Which Go library the requests are those of. Default: "v2.1". */
  wire?: WireMode | undefined;
  /**
   * How many bytes of messages may be in memory; a call beyond that throws `queue_full`. Default:
   * 64 MB.
   */
  maxQueueBytes?: number | undefined;
  /** How often a batch is tried in all. Default: 10. */
  maxTries?: number | undefined;
  /**
   * How many milliseconds one request may take, always of real time, also with `time`. Default:
   * 10,000.
   */
  timeout?: number | undefined;
  /**
   * Of `node:http` or `node:https`, for proxies and certificates; or what makes one for an
   * endpoint. It is not destroyed by `close`.
   */
  agent?: Agent | ((endpoint: URL) => Agent) | undefined;
  /** Gets what could not be sent. Without it, a warning of the process says that it happened. */
  onError?: ((error: NotSentError) => void) | undefined;
  /** Called for everything that happens, afterwards. */
  onEvent?: ((event: ClientEvent) => void) | undefined;
  /** Where time comes from. Default: the machine's. */
  time?: Time | undefined;
  /** Makes the ids of messages and batches. Default: random UUIDs. */
  newId?: (() => string) | undefined;
  /** Draws the jitter of retries, from 0 to 1. */
  random?: (() => number) | undefined;
};

export type Settings = {
  flushAt: number;
  flushAfter: number;
  endpoint: string;
  strict: boolean;
  wire: WireMode;
  maxQueueBytes: number;
  maxTries: number;
  timeout: number;
  agent: Agent | ((endpoint: URL) => Agent) | undefined;
  onError: ((error: NotSentError) => void) | undefined;
  onEvent: ((event: ClientEvent) => void) | undefined;
  time: Time;
  newId: () => string;
  random: () => number;
};

/**
 * Some 140,000 usual messages: an outage of minutes at a thousand messages a second, and no danger
 * to a server's process.
 */
const defaultMaxQueueBytes = 64 * 1024 * 1024;

export function readOptions(options: AnalyticsOptions): Settings {
  const {
    maxQueueBytes = defaultMaxQueueBytes,
    maxTries = 10,
    timeout = 10_000,
    wire = "v2.1",
  } = options;
  if (!wireModes.includes(wire)) throw invalid("wire", `one of ${wireModes.join(", ")}`);
  if (!(maxQueueBytes > 0)) throw invalid("maxQueueBytes", "a number above 0");
  if (!(Number.isSafeInteger(maxTries) && maxTries > 0))
    throw invalid("maxTries", "a whole number above 0");
  if (!(timeout > 0 && timeout < 2 ** 31))
    throw invalid("timeout", "a number of milliseconds above 0");
  const { flushAt = 20, flushAfter = 5000 } = readFlushOptions(options);
  return {
    flushAt,
    flushAfter,
    endpoint: readEndpoint(options.endpoint ?? "http://127.0.0.1:4700"),
    strict: options.strict ?? true,
    wire,
    maxQueueBytes,
    maxTries,
    timeout,
    agent: options.agent,
    onError: options.onError,
    onEvent: options.onEvent,
    time: options.time ?? realTime,
    newId: options.newId ?? randomUUID,
    random: options.random ?? Math.random,
  };
}

/** Those that are given. */
export function readFlushOptions({ flushAt, size, flushAfter }: FlushOptions): {
  flushAt?: number;
  flushAfter?: number;
} {
  if (flushAt !== undefined && size !== undefined && flushAt !== size)
    throw invalid("size", "the same as flushAt, or left out");
  const count = flushAt ?? size;
  if (count !== undefined && !(Number.isSafeInteger(count) && count > 0)) {
    throw invalid(flushAt === undefined ? "size" : "flushAt", "a whole number above 0");
  }
  if (flushAfter !== undefined && !(flushAfter > 0))
    throw invalid("flushAfter", "a number of milliseconds above 0");
  return {
    ...(count !== undefined && { flushAt: count }),
    ...(flushAfter !== undefined && { flushAfter }),
  };
}

export function readEndpoint(endpoint: string): string {
  const url = typeof endpoint === "string" ? URL.parse(endpoint) : null;
  if (url === null || !/^https?:$/.test(url.protocol))
    throw invalid("endpoint", "an http or https URL");
  return endpoint;
}

function invalid(field: string, wanted: string): AnalyticsError {
  return new AnalyticsError("invalid_option", `'${field}' must be ${wanted}.`, field);
}
