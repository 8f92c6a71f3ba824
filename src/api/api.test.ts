import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import type { App } from "../app.ts";
import { createApp } from "../app.ts";
import type { Call } from "../contract/call.ts";
import { calls, type AnswerOf, type CallName, type InputOf } from "../contract/contract.ts";
import { errorAnswer } from "../contract/shapes.ts";
import { createApi } from "./api.ts";

let app: App;
let reported: unknown[];
let addresses: Awaited<ReturnType<App["start"]>>;
beforeEach(async () => {
  reported = [];
  app = createApp({
    data: ":memory:",
    ports: { ingest: 0, endpoints: 0, endpointsTls: 0 },
    version: "1.2.3",
    report: (error) => reported.push(error),
  });
  addresses = await app.start();
});
afterEach(async () => {
  await app.stop();
  if (reported.length > 0)
    throw new AggregateError(reported, "The API reported something unexpected.");
});

/** Calls and checks the answer, down to its members' names, against the contract. */
async function ask<Name extends CallName>(
  name: Name,
  input: InputOf<Name>,
): Promise<AnswerOf<Name>> {
  const { status, body } = await app.api.call(name, input);
  expect(status, JSON.stringify(body)).toBe(calls[name].status);
  const sent = JSON.parse(JSON.stringify(body)) as unknown;
  const answer: z.ZodType = calls[name].answer;
  expect(
    z.encode(answer, z.decode(answer, sent)),
    `${name} answers what the contract does not say`,
  ).toEqual(sent);
  return body as AnswerOf<Name>;
}

async function refused(name: CallName, input: unknown): Promise<[number, string, string]> {
  const { status, body } = await app.api.call(name, input);
  const { code, message } = errorAnswer.parse(body);
  return [status, code, message];
}

async function send(writeKey: string, body: object): Promise<void> {
  const response = await fetch(`${addresses.ingestUrl}/v1/track`, {
    method: "POST",
    body: JSON.stringify({ writeKey, ...body }),
  });
  expect(await response.json()).toBeDefined();
}

describe("the control API on the whole pipeline", () => {
  test("shows a message on its way, from its source to its second attempt", async () => {
    await ask("clock.set", { mode: "paused" });
    const source = await ask("sources.create", { name: "Web", kind: "web" });
    const steps = [{ do: "answer" as const, status: 503 }, { do: "answer" as const }];
    const endpoint = await ask("endpoints.create", { name: "Receiver", steps });
    const destination = await ask("destinations.create", {
      name: "Shop",
      sourceIds: [source.id],
      webhooks: [{ url: endpoint.url, headers: { "X-Shop": "1" } }],
      sharedSecret: "s",
    });
    await send(source.writeKey, { userId: "u", event: "Bought" });
    expect(await ask("pipeline.settle", {})).toEqual({ settled: true, queued: 0, sending: 0 });

    const waiting = await ask("messages.list", { state: "waiting", sourceId: source.id });
    expect(waiting).toMatchObject({
      total: 1,
      totalCapped: false,
      nextCursor: null,
      items: [{ userId: "u", event: "Bought", lastStatus: 503, attempts: 1 }],
    });
    const { nextDueAt } = await ask("clock.get", {});
    const advanced = await ask("clock.advance", { to: "idle" });
    expect(advanced).toMatchObject({ now: nextDueAt, nextDueAt: null, ran: { attempts: 1 } });

    const message = await ask("messages.get", { id: waiting.items[0]?.id ?? "" });
    expect(message).toMatchObject({
      state: "delivered",
      decisions: [{ destinationId: destination.id, routed: true, reason: "routed" }],
    });
    const delivery = message.deliveries[0];
    expect(delivery?.attempts.map((attempt) => [attempt.round, attempt.outcome])).toEqual([
      [1, "http_error"],
      [2, "success"],
    ]);
    expect(delivery?.attempts[0]?.request).toMatchObject({
      url: endpoint.url,
      body: delivery?.payload,
      headers: expect.arrayContaining([["X-Shop", "1"]]),
    });

    expect(await ask("deliveries.get", { id: delivery?.id ?? "" })).toEqual(delivery);
    expect((await ask("deliveries.list", { destinationId: destination.id })).items).toMatchObject([
      { id: delivery?.id, messageRowId: message.id },
    ]);
    const received = await ask("endpoints.requests", { id: endpoint.id });
    expect(received.items.map((request) => request.body)).toEqual([
      delivery?.payload,
      delivery?.payload,
    ]);
    expect(received.items[0]?.signature?.verifies).toEqual([
      { destinationId: destination.id, name: "Shop", valid: true },
    ]);
    expect(await ask("stats.get", {})).toMatchObject({
      messages: { total: 1, byState: { delivered: 1 }, byType: { track: 1 } },
      queueDepth: 0,
    });

    const replayed = await ask("messages.replay", { id: message.id });
    expect(replayed).toMatchObject({ replayOf: message.id, userId: "u" });
    expect(await ask("messages.pin", { id: replayed.id, pinned: true })).toMatchObject({
      pinned: true,
    });
    await ask("endpoints.rewind", { id: endpoint.id });
    await ask("endpoints.clearRequests", { id: endpoint.id });
  });

  test("cancels, counts and retries deliveries", async () => {
    await ask("clock.set", { mode: "paused" });
    const source = await ask("sources.create", { name: "Web" });
    const { url } = await ask("endpoints.create", {
      name: "Busy",
      steps: [{ do: "answer", status: 500 }],
    });
    await ask("destinations.create", { name: "Shop", sourceIds: [source.id], webhooks: [{ url }] });
    await send(source.writeKey, { userId: "u", event: "A" });
    await send(source.writeKey, { userId: "u", event: "B" });
    await ask("pipeline.settle", {});
    const [first, second] = (await ask("deliveries.list", { state: "waiting" })).items;
    const due = await ask("deliveries.list", { state: "waiting", order: "due", limit: 1 });
    expect(due).toMatchObject({
      total: 2,
      items: [{ type: "track", userId: "u", marks: [{ round: 1, outcome: "http_error" }] }],
    });
    const [soonest] = due.items;
    expect(due.nextCursor).toBe(`${soonest?.nextAttemptAt}/${soonest?.id}`);
    const next = await ask("deliveries.list", {
      state: "waiting",
      order: "due",
      cursor: due.nextCursor ?? "",
    });
    expect(new Set([soonest, ...next.items].map((item) => item?.id))).toEqual(
      new Set([first?.id, second?.id]),
    );
    expect(next.nextCursor).toBeNull();
    const newest = await ask("deliveries.list", { limit: 1 });
    const older = await ask("deliveries.list", { limit: 1, cursor: newest.nextCursor ?? "" });
    expect([...newest.items, ...older.items].map(({ id }) => id)).toEqual([first?.id, second?.id]);
    expect(await refused("deliveries.list", { cursor: due.nextCursor })).toEqual([
      400,
      "invalid",
      "cursor: This cursor belongs to `order: due`.",
    ]);
    expect(await refused("deliveries.list", { order: "due" })).toEqual([
      400,
      "invalid",
      expect.stringContaining("state: waiting"),
    ]);
    for (const cursor of ["", "soon/dlv_000000001", `${soonest?.nextAttemptAt}`, `${soonest?.id}`])
      expect(await refused("deliveries.list", { state: "waiting", order: "due", cursor })).toEqual([
        400,
        "invalid",
        expect.stringContaining("cursor"),
      ]);
    expect(await ask("deliveries.cancel", { id: first?.id ?? "" })).toMatchObject({
      state: "cancelled",
    });
    expect(
      await ask("deliveries.retryAll", { filter: { state: "cancelled" }, dryRun: true }),
    ).toEqual({ count: 1 });
    const job = await ask("deliveries.retryAll", { filter: {} });
    expect(job).toMatchObject({ count: 2, total: 2 });
    const { id } = job as { id: string };
    await ask("pipeline.settle", {});
    expect(await ask("jobs.get", { id })).toMatchObject({ state: "done", done: 2 });
    expect((await ask("jobs.list", {})).items).toMatchObject([{ id }]);
    await ask("jobs.cancel", { id });
    expect((await ask("deliveries.get", { id: second?.id ?? "" })).attempts).toHaveLength(2);
  });

  test("counts what is being sent as not yet through", async () => {
    await ask("clock.set", { mode: "paused" });
    const source = await ask("sources.create", { name: "Web" });
    const { url } = await ask("endpoints.create", { name: "Silent", steps: [{ do: "hang" }] });
    await ask("destinations.create", { name: "Shop", sourceIds: [source.id], webhooks: [{ url }] });
    await send(source.writeKey, { userId: "u", event: "A" });
    await expect
      .poll(() => ask("stats.get", {}))
      .toMatchObject({ deliveries: { byState: { sending: 1 } }, queueDepth: 1 });
  });

  test("has the documented settings until they are changed", async () => {
    expect(await ask("settings.get", {})).toEqual({
      parity: "own",
      answers: "explain",
      correctClockSkew: "auto",
      retryProfile: "documented",
      contextIp: "connection",
      limitMessageIds: false,
      vendor: "Hookyard",
      seed: 1,
      jitter: true,
      laneConnections: 64,
      unknownKeys: "explain",
      maxMessages: 1_000_000,
      maxAgeMs: null,
      maxBytes: 250_000_000,
      maxRejectedBytes: 16_000_000,
      maxUnknownKeyBytes: 16_000_000,
      synchronous: "NORMAL",
    });
    expect(await ask("settings.update", { seed: 7 })).toMatchObject({ seed: 7, jitter: true });
    expect(await ask("settings.get", {})).toMatchObject({ seed: 7, jitter: true });
  });

  test("keeps secrets to itself until it is asked for them", async () => {
    const created = await ask("destinations.create", {
      name: "A",
      sourceIds: [],
      webhooks: [{ url: "http://a.localhost/" }],
      sharedSecret: "geheim",
    });
    expect(created.hasSharedSecret).toBe(true);
    const everything = [
      created,
      await ask("destinations.list", {}),
      await ask("configuration.export", {}),
    ];
    expect(JSON.stringify(everything)).not.toContain("geheim");
    expect(await ask("destinations.secret", { id: created.id })).toEqual({
      sharedSecret: "geheim",
    });
    expect(JSON.stringify(await ask("configuration.export", { secrets: true }))).toContain(
      "geheim",
    );
    expect(await ask("destinations.update", { id: created.id, sharedSecret: "" })).toMatchObject({
      hasSharedSecret: false,
    });
  });

  test("keeps the ids of webhooks whose URL stays", async () => {
    const [a, b] = [{ url: "http://a.localhost/" }, { url: "http://b.localhost/" }];
    const { id, webhooks } = await ask("destinations.create", {
      name: "A",
      sourceIds: [],
      webhooks: [a, b],
    });
    const swapped = await ask("destinations.update", {
      id,
      webhooks: [b, { url: "http://c.localhost/" }, a],
    });
    expect([swapped.webhooks[0]?.id, swapped.webhooks[2]?.id]).toEqual([
      webhooks[1]?.id,
      webhooks[0]?.id,
    ]);
    expect(swapped.webhooks[1]?.id).not.toBe(webhooks[0]?.id);
  });

  test("makes a custom retry profile of every built-in one", async () => {
    for (const { id: _, builtIn, name, ...members } of (await ask("retryProfiles.list", {}))
      .items) {
      expect(builtIn).toBe(true);
      expect(await ask("retryProfiles.create", { ...members, name: `my-${name}` })).toMatchObject(
        members,
      );
    }
    const beyond = { name: "beyond", retriedStatuses: [{ from: 500, to: 1000 }] };
    expect(await refused("retryProfiles.create", beyond)).toMatchObject([
      400,
      "invalid",
      expect.stringContaining("100 and 999"),
    ]);
  });

  test("refuses device mode in a sentence", async () => {
    const input = {
      name: "A",
      sourceIds: [],
      webhooks: [{ url: "http://a.localhost/" }],
      connectionMode: "device",
    };
    expect(await refused("destinations.create", input)).toMatchObject([
      400,
      "device_mode_unsupported",
      expect.stringContaining("cloud"),
    ]);
  });

  test("makes, changes and deletes each kind of thing", async () => {
    const source = await ask("sources.create", { name: "Web" });
    expect(
      await ask("sources.update", {
        id: source.id,
        mode: "production",
        faults: [{ do: "cut", times: 1 }],
      }),
    ).toMatchObject({
      mode: "production",
    });
    expect((await ask("sources.list", {})).items).toHaveLength(1);
    await ask("sources.delete", { id: source.id });
    expect(await refused("sources.get", { id: source.id })).toMatchObject([
      404,
      "not_found",
      expect.any(String),
    ]);

    await ask("retryProfiles.create", { name: "slow", windowMs: 2000 });
    const profile = await ask("retryProfiles.create", { name: "quick", windowMs: 1000 });
    for (const id of ["quick", profile.id ?? ""])
      expect(await ask("retryProfiles.get", { id })).toEqual(profile);
    await ask("retryProfiles.update", { id: profile.id ?? "", jitter: 0 });
    await ask("retryProfiles.delete", { id: profile.id ?? "" });
    expect(await refused("retryProfiles.delete", { id: "documented" })).toMatchObject([
      409,
      "built_in",
      expect.any(String),
    ]);

    expect(await ask("retryProfiles.get", { id: "slow" })).toMatchObject({
      windowMs: 2000,
      builtIn: false,
    });

    const endpoint = await ask("endpoints.create", { name: "A", steps: [{ do: "answer" }] });
    await ask("endpoints.update", { id: endpoint.id, after: "start-over" });
    await ask("endpoints.list", {});
    await ask("endpoints.delete", { id: endpoint.id });
    expect(await refused("endpoints.requests", { id: endpoint.id })).toMatchObject([
      404,
      "not_found",
      expect.any(String),
    ]);

    const destination = await ask("destinations.create", {
      name: "A",
      sourceIds: [],
      webhooks: [{ url: "http://a.localhost/" }],
    });
    await ask("destinations.get", { id: destination.id });
    await ask("destinations.delete", { id: destination.id });
    await ask("settings.update", { seed: 7 });
    expect(await ask("settings.get", {})).toMatchObject({ seed: 7 });
    const [webhooks] = (await ask("catalog.list", {})).items;
    expect(webhooks?.settings.filter(({ required }) => required).map(({ name }) => name)).toEqual([
      "webhooks",
    ]);
    expect(await ask("clock.set", { mode: "faster" })).toMatchObject({ mode: "faster", speed: 10 });
    await ask("endpoints.presets", {});
    expect(await ask("about.get", {})).toEqual({ version: "1.2.3", ...addresses });
  });

  test("makes a simulated client, calls through it, and shows what became of the calls", async () => {
    const source = await ask("sources.create", {
      name: "Web",
      faults: [{ do: "answer", status: 500, times: 1 }],
    });
    const { id } = await ask("clients.create", {
      name: "Checkout",
      sourceId: source.id,
      flushAt: 2,
    });
    await ask("clients.update", { id, flushAfter: 60_000, endpoint: null });
    const call = { userId: "u", event: "Bought" };
    expect(await ask("clients.call", { id, type: "track", call })).toMatchObject({
      batchId: null,
      client: { queued: 1 },
    });
    const second = await ask("clients.call", { id, type: "page", call: { userId: "u" } });
    await ask("pipeline.settle", {});
    const { current } = await ask("clients.get", { id });
    expect(current).toMatchObject({ id: second.batchId, tries: [{ status: 500 }] });
    await ask("clock.advance", { byMs: 1000 });
    expect((await ask("clients.list", {})).items).toMatchObject([
      { id, sourceId: source.id, counts: { sent: 2 } },
    ]);
    expect((await ask("clients.batches", { id, limit: 1 })).items).toMatchObject([
      { state: "sent", messages: 2 },
    ]);
    expect((await ask("clients.log", { id, limit: 1 })).items).toMatchObject([
      { event: "sent", line: expect.stringContaining("200") },
    ]);
    expect(
      await refused("clients.call", { id, type: "track", call: { userId: "u" } }),
    ).toMatchObject([400, "invalid_call", "You must pass 'event'."]);
    expect(await refused("clients.call", { id, type: "delete", call })).toMatchObject([
      400,
      "invalid",
      expect.stringContaining("type must be"),
    ]);
    await ask("clients.generate", { id, count: 5, perSecond: 1 });
    await ask("clients.stopGenerating", { id });
    await ask("clients.flush", { id });
    await ask("clients.close", { id });
    await ask("clients.reopen", { id });
    await ask("clients.delete", { id });
    expect(await refused("clients.get", { id: "none" })).toMatchObject([
      404,
      "not_found",
      expect.any(String),
    ]);
  });

  test("adopts and forgets unknown keys", async () => {
    await send("stranger", { userId: "u", event: "A" });
    await send("other", { userId: "u", event: "A" });
    expect((await ask("unknownKeys.list", {})).items).toMatchObject([
      { requests: 1 },
      { requests: 1 },
    ]);
    expect(await ask("unknownKeys.adopt", { writeKey: "stranger", name: "Found" })).toMatchObject({
      name: "Found",
      writeKey: "stranger",
    });
    await ask("unknownKeys.forget", { writeKey: "other" });
    expect((await ask("unknownKeys.list", {})).items).toEqual([]);
    expect((await ask("messages.list", {})).total).toBe(1);
    await ask("pipeline.reset", { what: "messages" });
    expect((await ask("messages.list", {})).total).toBe(0);
  });
});

test.each<[string, Error, [number, string]]>([
  ["of its own", new Error("of the store"), [500, "internal"]],
  [
    "of the store",
    Object.assign(new Error("full"), { code: "SQLITE_FULL" }),
    [503, "store_unavailable"],
  ],
])("an error %s that nobody expected is reported and answered", async (_name, error, answer) => {
  const unexpected: unknown[] = [];
  const api = createApi({
    pipeline: app.pipeline,
    rehearse: () => app,
    others: undefined as never,
    beside: () => undefined,
    about: () => {
      throw error;
    },
    metrics: () => "",
    report: (one) => unexpected.push(one),
  });
  const { status, body } = await api.call("about.get", {});
  expect([status, errorAnswer.parse(body).code]).toEqual(answer);
  expect(unexpected).toEqual([error]);
});

test("no input makes it fail: whatever comes, the answer is an answer or a refusal with a sentence", async () => {
  const all = Object.values<Call>(calls).filter(
    (call) => call.name !== "pipeline.settle" && call.name !== "clock.advance",
  );
  const source = await ask("sources.create", { name: "Web" });
  const value = fc.oneof(
    { weight: 3, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
    fc.constantFrom<unknown>(
      source.id,
      "http://a.localhost/",
      "answer",
      "documented",
      "paused",
      [{ url: "http://a.localhost/" }],
      [{ do: "answer" }],
      1e308,
      -1,
      "__proto__",
    ),
  );
  const anything = fc.constantFrom(...all).chain((call) => {
    const body =
      call.body !== null && "shape" in call.body ? Object.keys(call.body.shape as object) : [];
    const names = [call.params, call.query]
      .flatMap((part) => Object.keys(part?.shape ?? {}))
      .concat(body);
    const some = fc.record(Object.fromEntries(names.map((name) => [name, value])), {
      requiredKeys: [],
    });
    return fc.tuple(fc.constant(call), fc.oneof({ weight: 5, arbitrary: some }, value));
  });
  await fc.assert(
    fc.asyncProperty(anything, async ([call, input]) => {
      const { status, body } = await app.api.call(call.name, input);
      if (status < 300) return;
      expect(status, JSON.stringify([call.name, body])).toBeLessThan(500);
      expect(errorAnswer.parse(body).message.length).toBeGreaterThan(10);
    }),
    { numRuns: 1500 },
  );
});
