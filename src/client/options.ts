/** What a client is made with, and its check. */

import { randomUUID } from "node:crypto";
import type { Agent } from "node:http";
import { AnalyticsError } from "./errors.ts";
import type { Members } from "./calls.ts";
import type { NotSentError, UnsentMessage } from "./outbox.ts";
import type { ClientEvent } from "./events.ts";
import { deepest, encodeJson, TooDeepError } from "./json.ts";
import { realTime } from "./time.ts";
import type { Time } from "./time.ts";
import { limitsOf, wireModes } from "./wire.ts";
import type { WireMode } from "./wire.ts";

export type FlushOptions = {
  /**
   * How many messages make a flush, and at most a batch; 1 sends each at once. Default: 20, and 250
   * with `wire: "v3"`.
   */
  flushAt?: number | undefined;
  /** The same as `flushAt`. */
  size?: number | undefined;
  /** How many milliseconds since the last flush make one. Default: 5,000. */
  flushAfter?: number | undefined;
};

export type MessageCallback = {
  success?: ((message: UnsentMessage) => void) | undefined;
  failure?: ((message: UnsentMessage, error: NotSentError) => void) | undefined;
};

export type AnalyticsOptions = FlushOptions & {
  /**
   * The URL before `/v1/batch`, unchanged. Default: `http://127.0.0.1:4700`, Hookyard on this
   * machine.
   */
  endpoint?: string | undefined;
  /** Whether a page needs a `userId`. Default: true, and false with `wire: "v3"`. */
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
   * How many milliseconds to wait before a batch is tried again, by how often that was done before;
   * longer when the server says so. Default: 100, doubling up to 10,000, with jitter.
   */
  retryAfter?: ((retries: number) => number) | undefined;
  /** The context of each batch, beside the library. Only with `wire: "v3"`. */
  defaultContext?: Members | undefined;
  /** Called for each message that was sent, and for each that could not be. */
  callback?: MessageCallback | undefined;
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
  retryAfter: ((retries: number) => number) | undefined;
  defaultContext: Members | undefined;
  callback: MessageCallback | undefined;
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

const optionNames = [
  "flushAt",
  "size",
  "flushAfter",
  "endpoint",
  "strict",
  "wire",
  "maxQueueBytes",
  "maxTries",
  "retryAfter",
  "defaultContext",
  "callback",
  "timeout",
  "agent",
  "onError",
  "onEvent",
  "time",
  "newId",
  "random",
] as const satisfies (keyof AnalyticsOptions)[];

/** What other libraries call them, in lower case. */
const otherNames: Record<string, (typeof optionNames)[number]> = {
  interval: "flushAfter",
  flushinterval: "flushAfter",
  batchsize: "flushAt",
  maxeventsinbatch: "flushAt",
  host: "endpoint",
  url: "endpoint",
  version: "wire",
  maxretries: "maxTries",
  httprequesttimeout: "timeout",
  transport: "agent",
  context: "defaultContext",
  callbacks: "callback",
  errorhandler: "onError",
};

/** Names that nobody reads are mistakes: they are refused, with the name that was probably meant. */
export function refuseUnknownOptions(options: object, known: readonly string[]): void {
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const lower = unknown.toLowerCase();
  const meant = [otherNames[lower], known.find((name) => isNear(name.toLowerCase(), lower))].find(
    (name) => name !== undefined && known.includes(name),
  );
  throw new AnalyticsError(
    "invalid_option",
    `'${unknown}' is not an option. ${meant === undefined ? `There are ${known.join(", ")}` : `Use '${meant}'`}.`,
    unknown,
  );
}

/** The same, or with one letter wrong, missing or too many. */
function isNear(one: string, other: string): boolean {
  let start = 0;
  while (start < one.length && one[start] === other[start]) start += 1;
  let end = 0;
  const shorter = Math.min(one.length, other.length) - start;
  while (end < shorter && one.at(-1 - end) === other.at(-1 - end)) end += 1;
  return Math.max(one.length, other.length) - start - end <= 1;
}

export function readOptions(options: AnalyticsOptions): Settings {
  refuseUnknownOptions(options, optionNames);
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
  const isVersion3 = wire === "v3";
  refuseWrongKinds(options);
  const { retryAfter, defaultContext, callback } = options;
  if (defaultContext !== undefined && !isVersion3)
    throw invalid("defaultContext", `left out: only wire "v3" has it`);
  const { messageBytes, batchBytes } = limitsOf(wire);
  if (defaultContext !== undefined && bytesOf(defaultContext) > batchBytes - messageBytes)
    throw invalid("defaultContext", `at most ${batchBytes - messageBytes} bytes of JSON`);
  const { flushAt = isVersion3 ? 250 : 20, flushAfter = 5000 } = readFlushOptions(options);
  return {
    flushAt,
    flushAfter,
    endpoint: readEndpoint(options.endpoint ?? "http://127.0.0.1:4700"),
    strict: options.strict ?? !isVersion3,
    wire,
    retryAfter,
    defaultContext,
    callback,
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

const functionNames = ["retryAfter", "onError", "onEvent", "newId", "random"] as const;

/** They are used much later, where a mistake would end the program. */
function refuseWrongKinds(options: AnalyticsOptions): void {
  for (const name of functionNames)
    if (options[name] !== undefined && !isFunction(options[name]))
      throw invalid(name, "a function");
  const { agent, strict } = options;
  if (agent !== undefined && !isFunction(agent) && !isObject(agent))
    throw invalid("agent", "an agent of node:http or node:https, or a function that makes one");
  if (strict !== undefined && typeof strict !== "boolean") throw invalid("strict", "true or false");
  const [callback, time] = [options.callback, options.time] as (Members | null | undefined)[];
  const isOptional = (value: unknown): boolean => value === undefined || isFunction(value);
  if (callback !== undefined)
    if (!isObject(callback) || ![callback["success"], callback["failure"]].every(isOptional))
      throw invalid("callback", "an object with the functions success, failure or both");
  if (time !== undefined)
    if (!isObject(time) || !isFunction(time["now"]) || !isFunction(time["schedule"]))
      throw invalid("time", "an object with the functions now and schedule");
}

const isFunction = (value: unknown): boolean => typeof value === "function";
const isObject = (value: unknown): value is Members => typeof value === "object" && value !== null;

function bytesOf(context: Members): number {
  try {
    return Buffer.byteLength(encodeJson(context) ?? "");
  } catch (error) {
    if (!(error instanceof TooDeepError)) throw error;
    throw invalid("defaultContext", `nested at most ${deepest} levels deep`);
  }
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
  // Also with the path that is appended: a space between port and path is invalid.
  if (url === null || !/^https?:$/.test(url.protocol) || !URL.canParse(`${endpoint}/v1/batch`))
    throw invalid("endpoint", "an http or https URL");
  return endpoint;
}

function invalid(field: string, wanted: string): AnalyticsError {
  return new AnalyticsError("invalid_option", `'${field}' must be ${wanted}.`, field);
}
