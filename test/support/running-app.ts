/**
 * The whole pipeline, started for one test and stopped with it, with shorthands for what tests do
 * all the time: `const test = base.extend("start", starting)`, and then `test("…", async ({ start
 * }) => { const app = await start.app(); … })`.
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { createApp } from "../../src/app.ts";
import type { App } from "../../src/app.ts";
import type { AnswerOf, CallName, InputOf } from "../../src/contract/contract.ts";
import type { ClockMode } from "../../src/engine/clock/clock.ts";
import { startRawReceiver } from "./raw-receiver.ts";
import type { RawReceiver, RawReceiverOptions } from "./raw-receiver.ts";
import { startReceiver } from "./webhook-receiver.ts";
import type { Answer, WebhookReceiver } from "./webhook-receiver.ts";

type AppOptions = {
  data?: string;
  /** Set before anything starts; real when left out. */
  clock?: ClockMode;
  /** That of the app before a restart, so that its test endpoints are found again. */
  endpointsPort?: number;
  /** `npx vitest run --mode thread` says so for all tests. */
  threads?: boolean;
  /** The collector's address for traces. */
  traces?: string;
};

export type Message = Record<string, unknown>;
type MessageDetails = AnswerOf<"messages.get">;
export type Delivery = MessageDetails["deliveries"][number];
export type Attempt = Delivery["attempts"][number];

export type RunningApp = Awaited<ReturnType<typeof startApp>>;

export type Start = {
  app(options?: AppOptions): Promise<RunningApp>;
  receiver(
    answer?: Answer,
    tls?: { cert: string; key: string; host: string },
  ): Promise<WebhookReceiver>;
  rawReceiver(options?: RawReceiverOptions): Promise<RawReceiver>;
  /** A data directory that goes with the test. */
  directory(): Promise<string>;
};

export async function starting(
  // oxlint-disable-next-line no-empty-pattern -- vitest reads from the pattern which other fixtures are wanted
  {}: object,
  { onCleanup }: { onCleanup: (run: () => Promise<void>) => void },
): Promise<Start> {
  const stops: (() => Promise<unknown>)[] = [];
  onCleanup(async () => {
    for (const stop of stops.toReversed()) await stop();
  });
  const kept = <One extends { stop(): Promise<unknown> }>(one: One): One => {
    stops.push(() => one.stop());
    return one;
  };
  return {
    app: async (options) => kept(await startApp(options)),
    receiver: async (answer, tls) => kept(await startReceiver(answer, tls)),
    rawReceiver: async (options = {}) => kept(await startRawReceiver(options)),
    async directory() {
      const path = await mkdtemp(join(tmpdir(), "hookyard-"));
      stops.push(() => rm(path, { recursive: true, force: true }));
      return path;
    },
  };
}

async function startApp({
  data = ":memory:",
  clock,
  endpointsPort = 0,
  threads = process.env["MODE"] === "thread",
  traces,
}: AppOptions = {}) {
  const unexpected: unknown[] = [];
  const logged: string[] = [];
  const app: App = createApp({
    data,
    ports: { ingest: 0, endpoints: endpointsPort, endpointsTls: 0 },
    threads,
    traces: traces === undefined ? undefined : { url: traces, headers: {} },
    version: "0.0.0",
    log: (sentence) => logged.push(sentence),
    report: (error) => unexpected.push(error),
  });
  let stopped: Promise<void> | null = null;

  async function call<Name extends CallName>(
    name: Name,
    input: InputOf<Name>,
    caller?: AbortSignal,
  ): Promise<AnswerOf<Name>> {
    const { status, body } = await app.api.call(name, input, caller);
    if (status >= 400) throw new Error(`${name} answered ${status}: ${JSON.stringify(body)}`);
    return body as AnswerOf<Name>;
  }

  if (clock !== undefined) await call("clock.set", { mode: clock });
  const addresses = await app.start();

  /** Sends to the ingest port, and answers when the port has. */
  async function ingest(path: string, body: string | Message, writeKey = "key"): Promise<Message> {
    const response = await fetch(addresses.ingestUrl + path, {
      method: "POST",
      headers: {
        Authorization: `Basic ${btoa(`${writeKey}:`)}`,
        "Content-Type": "application/json",
      },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
    const answer = (await response.json()) as Message;
    if (!response.ok)
      throw new Error(`${path} answered ${response.status}: ${JSON.stringify(answer)}`);
    return answer;
  }

  async function send(message: Message = {}): Promise<string> {
    await ingest("/v1/track", { userId: "u1", event: "Bought", ...message });
    const newest = await call("messages.list", { limit: 1 });
    return newest.items[0]?.id ?? "";
  }

  /** The first source; `key` when there is none yet. */
  async function source(
    draft: Partial<InputOf<"sources.create">> = {},
  ): Promise<AnswerOf<"sources.list">["items"][number]> {
    const [known] = (await call("sources.list", {})).items;
    return known ?? call("sources.create", { name: "Shop", writeKey: "key", ...draft });
  }

  return {
    ...addresses,
    changes: app.api.changes,
    metrics: app.api.metrics,
    logged,
    call,
    source,
    ingest,
    /** One track; answers the id of its message. */
    send,
    /** Many tracks, in one batch. */
    async sendMany(count: number): Promise<void> {
      const batch = Array.from({ length: count }, (_, index) => ({
        type: "track",
        userId: `u${index}`,
        event: "Bought",
      }));
      for (let at = 0; at < count; at += 500)
        await ingest("/v1/batch", { batch: batch.slice(at, at + 500) });
    },
    /** A destination of the first source with these webhooks. */
    async destination(
      webhooks: (string | { url: string; headers?: Record<string, string> })[],
      more: Partial<InputOf<"destinations.create">> = {},
    ): Promise<AnswerOf<"destinations.create">> {
      return call("destinations.create", {
        name: "Receivers",
        sourceIds: [(await source()).id],
        webhooks: webhooks.map((webhook) =>
          typeof webhook === "string" ? { url: webhook } : webhook,
        ),
        ...more,
      });
    },
    message: (id: string) => call("messages.get", { id }),
    /** The first delivery of a message. */
    async delivery(id: string): Promise<Delivery> {
      const [delivery] = (await call("messages.get", { id })).deliveries;
      if (delivery === undefined) throw new Error(`no delivery came of the message ${id}`);
      return delivery;
    },
    /**
     * Fails when the pipeline does not come to rest, unless the test says how long to wait for it.
     */
    async settle(timeoutMs?: number): Promise<AnswerOf<"pipeline.settle">> {
      const answer = await call("pipeline.settle", { timeoutMs: timeoutMs ?? 240_000 });
      if (timeoutMs === undefined) expect(answer).toMatchObject({ settled: true });
      return answer;
    },
    advance: (target: InputOf<"clock.advance">, caller?: AbortSignal) =>
      call("clock.advance", target, caller),
    /**
     * To the next whole second of the clock, so that times are easy to reckon with. Answers the
     * time.
     */
    async toWholeSecond(): Promise<number> {
      const { now } = await call("clock.get", {});
      const byMs = (1000 - (Date.parse(now) % 1000)) % 1000;
      return Date.parse((await call("clock.advance", { byMs })).now);
    },
    /** The answer as it is, for calls that are refused. */
    answer: <Name extends CallName>(name: Name, input: InputOf<Name>, caller?: AbortSignal) =>
      app.api.call(name, input, caller),
    /** The answer of a call that is refused. */
    async refused<Name extends CallName>(
      name: Name,
      input: InputOf<Name>,
    ): Promise<{ status: number; code: unknown }> {
      const { status, body } = await app.api.call(name, input);
      return { status, code: (body as { code?: unknown }).code };
    },
    /** What was reported till now, which the test expected. */
    takeReported: () => unexpected.splice(0),
    /** Stops once; nothing unexpected may have been reported. */
    stop(): Promise<void> {
      stopped ??= app.stop().then(() => expect(unexpected).toEqual([]));
      return stopped;
    },
  };
}

/** What came of each attempt, by its webhook. */
export function outcomesByWebhook(delivery: Delivery, urls: string[]): string[][] {
  return urls.map((url) =>
    delivery.attempts.filter((attempt) => attempt.webhookUrl === url).map(outcomeOf),
  );
}

/** `2: 503`, `3: timeout`. */
export function outcomeOf({ round, outcome, response }: Attempt): string {
  return `${round}: ${outcome === "http_error" ? String(response?.status) : outcome}`;
}

/**
 * Waits for something that comes by itself, for four minutes. Looks often, and leaves the
 * processor to others in between.
 */
export async function until<Value>(
  look: () => Promise<Value | undefined | false> | Value | undefined | false,
): Promise<Value> {
  // It is less than a test has, so that the report shows which wait had no end.
  const stuck = new Error("What is waited for has not come in four minutes.");
  const endsAt = performance.now() + 240_000;
  // Whoever looks costs time that what is waited for may need.
  for (let pauseMs = 2; ; pauseMs = Math.min(1.3 * pauseMs, 30)) {
    const seen = await look();
    if (seen !== undefined && seen !== false) return seen;
    if (performance.now() > endsAt) throw stuck;
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
