import { describe, expect, test } from "vitest";
import type { InputOf } from "../../contract/contract.ts";
import { readWritten } from "../file/read-scenario.ts";
import { typedCalls } from "../run/pipeline.ts";
import { runRead } from "../run/run-scenario.ts";
import {
  allMessages,
  call,
  pipeline,
  recorded,
  send,
  start,
  startAt,
  startForEach,
} from "./record.fixture.ts";
import { recordScenario } from "./record.ts";

startForEach();

describe("recording a scenario", () => {
  test("writes what was sent, who answered how, and what came of it", async () => {
    const source = await call("sources.create", {
      name: "Shop",
      writeKey: "key-shop",
      kind: "web",
    });
    const { url } = await call("endpoints.create", {
      name: "R",
      steps: [{ do: "answer", status: 503, times: 2 }, { do: "answer" }],
    });
    await call("destinations.create", {
      name: "Warehouse",
      sourceIds: [source.id],
      webhooks: [{ url, headers: { "X-Team": "a" } }],
      sharedSecret: "s",
    });
    await send("/v1/track", {
      event: "Order Completed",
      userId: "u_1",
      messageId: "m_1",
      properties: { total: 49.9 },
    });
    await call("clock.advance", { to: "idle" });
    const { text, notes } = await recorded("An order that came at the third try");
    expect(text).toBe(`name: An order that came at the third try
seed: 1
sources:
  Shop: { kind: web }
endpoints:
  Warehouse:
    - { match: { messageId: m_1 }, status: 503, times: 2 }
    - { match: { messageId: m_1 }, status: 200, times: 1000000 }
    - { status: 200 }
destinations:
  Warehouse: { webhooks: [ { endpoint: Warehouse, headers: { X-Team: a } } ], sharedSecret: stands in for the recorded secret }
startAt: 2026-11-21T09:00:00.000Z
steps:
  - send: { type: track, event: Order Completed, userId: u_1, messageId: m_1, properties: { total: 49.9 } }
  - expect:
      - deliveries: { of: { messageId: m_1, destination: Warehouse }, count: 1, state: delivered, within: 1m }
      - attempts: { of: { messageId: m_1, destination: Warehouse, webhook: Warehouse }, results: [ 503 x2, 200 ], within: 1m }
`);
    expect(notes).toEqual([
      "The shared secret of Warehouse is not recorded: another one replaces it.",
    ]);
  });

  test("waits for an answer that came seconds after its request", async () => {
    const { id } = await call("sources.create", { name: "Shop", writeKey: "key-shop" });
    const steps: InputOf<"endpoints.create">["steps"] = [{ do: "answer", delayMs: 3000 }];
    const { url } = await call("endpoints.create", { name: "Slow", steps });
    await call("destinations.create", { name: "D", sourceIds: [id], webhooks: [{ url }] });
    await send("/v1/track", { event: "Viewed", userId: "u_1" });
    await call("clock.advance", { to: "idle" });
    expect((await recorded()).text).toMatch(/state: delivered\s+within: 1m\n/);
  });

  test("keeps apart what happened to several messages at several webhooks, hours and hands between them", async () => {
    const shop = await call("sources.create", { name: "Shop", writeKey: "key-shop" });
    const app = await call("sources.create", {
      name: "App",
      writeKey: "key-app",
      mode: "production",
    });
    const make = (name: string, steps: InputOf<"endpoints.create">["steps"]) =>
      call("endpoints.create", { name, steps });
    const flaky = await make("Flaky", [
      { do: "answer", status: 500, chance: 0.6 },
      { do: "answer" },
    ]);
    const slow = await make("Slow", [
      { do: "hang", times: 3 },
      { do: "reset", times: 2 },
      { do: "answer", status: 404 },
    ]);
    const secure = await make("Secure", [{ do: "answer" }]);
    const down = await make("Down", [{ do: "answer", status: 503 }]);
    const tls = new URL(secure.tlsUrl);
    tls.hostname = "expired.localhost";
    await call("destinations.create", {
      name: "Both",
      sourceIds: [shop.id, app.id],
      webhooks: [{ url: flaky.url }, { url: slow.url }],
    });
    await call("destinations.create", {
      name: "Secure",
      sourceIds: [shop.id],
      webhooks: [{ url: tls.href }],
    });
    await call("destinations.create", {
      name: "Down",
      sourceIds: [app.id],
      webhooks: [{ url: down.url }],
    });

    const track = (event: string, userId: string, messageId?: string) => ({
      type: "track",
      event,
      userId,
      messageId,
    });
    await send("/v1/batch", {
      batch: [track("A", "u_1"), track("B", "u_2", "b"), { type: "track", userId: "u_3" }, 7],
    });
    await send("/v1/batch", { batch: [track("B", "u_2", "b")] });
    await call("clock.advance", { byMs: 95_000 });
    await send("/v1/identify", {
      userId: "u_4",
      traits: { plan: "pro" },
      integrations: { All: false },
    });
    await send("/v1/track", track("C", "u_5", "c"), "key-app");
    await send("/v1/track", track("D", "u_5", "d"), "key-app");
    await send("/v1/track", { userId: "u_6" }, "key-app");
    await call("clock.advance", { byMs: 3_600_000 });
    const waiting = (await call("deliveries.list", { state: "waiting" })).items;
    for (const { id } of waiting.slice(0, 1)) await call("deliveries.cancel", { id });
    await call("clock.advance", { to: "idle" });
    const { text, notes } = await recorded();
    expect(notes).toEqual(["Items that are not messages are left out."]);
    expect(text).toContain("state: expired");
    expect(text).toContain("state: duplicate");
    expect(text).toContain("rejected: 1");
    expect(text).toContain("certificate: expired");
    expect(text).toMatch(/- advance: 1m35s\n/);
  });

  test("leaves out what no scenario can send, and says so; of nothing else there is no scenario", async () => {
    await call("sources.create", { name: "Shop", writeKey: "key-shop" });
    await send("/v1/batch", { batch: [7] });
    const answer = await pipeline().api.call("scenarios.record", {
      messageIds: await allMessages(),
    });
    expect(answer).toMatchObject({
      status: 409,
      body: {
        code: "nothing_to_record",
        message: expect.stringContaining("Items that are not messages are left out."),
      },
    });
    expect(
      await pipeline().api.call("scenarios.record", { messageIds: ["msg_nope"] }),
    ).toMatchObject({
      status: 404,
    });
  });

  test("takes a webhook as it is now, when it was changed between two rounds", async () => {
    const source = await call("sources.create", { name: "Shop", writeKey: "key-shop" });
    const bad = await call("endpoints.create", {
      name: "Bad",
      steps: [{ do: "answer", status: 503 }],
    });
    const good = await call("endpoints.create", { name: "Good", steps: [{ do: "answer" }] });
    const { id } = await call("destinations.create", {
      name: "D",
      sourceIds: [source.id],
      webhooks: [{ url: bad.url }],
    });
    await send("/v1/track", { event: "E", userId: "u_1", messageId: "m_1" });
    await call("destinations.update", { id, webhooks: [{ url: good.url }] });
    await call("clock.advance", { to: "idle" });
    expect((await recorded()).text).toContain("results: [ 200 ]");
  });

  test("keeps a status that HTTP has no meaning for", async () => {
    const source = await call("sources.create", { name: "Shop", writeKey: "key-shop" });
    const { url } = await call("endpoints.create", {
      name: "R",
      steps: [{ do: "answer", status: 700 }],
    });
    await call("destinations.create", { name: "D", sourceIds: [source.id], webhooks: [{ url }] });
    await send("/v1/track", { event: "E", userId: "u_1", messageId: "m_1" });
    expect((await recorded()).text).toContain("results: [ 700 ]");
  });

  test("leaves out an expectation that the scenario cannot meet, and says which", async () => {
    const source = await call("sources.create", { name: "Shop", writeKey: "key-shop" });
    const { url } = await call("endpoints.create", {
      name: "R",
      steps: [{ do: "answer", status: 503 }],
    });
    await call("retryProfiles.create", { name: "never", retriedStatuses: [] });
    const { id } = await call("destinations.create", {
      name: "D",
      sourceIds: [source.id],
      webhooks: [{ url }],
      retryProfile: "never",
    });
    await send("/v1/track", { event: "E", userId: "u_1", messageId: "m_1" });
    const before = await recorded();
    expect(before.notes).toEqual([]);
    expect(before.text).toContain("retried: []");
    await call("destinations.update", { id, retryProfile: "documented" });
    const { notes, text } = await recorded();
    expect(notes).toEqual([
      "Left out, because the scenario gave another result: expect deliveries of messageId m_1, destination D: count 1, state failed.",
    ]);
    expect(text).not.toContain("state: failed");
  });

  test("writes no credentials of webhooks, and says so", async () => {
    const source = await call("sources.create", { name: "Shop", writeKey: "key-shop" });
    const { url } = await call("endpoints.create", { name: "R", steps: [{ do: "answer" }] });
    const headers = { "X-Api-Key": "s3cr3t", "X-Team": "a" };
    await call("destinations.create", {
      name: "Crm",
      sourceIds: [source.id],
      webhooks: [{ url: url.replace("//", "//ada:s3cr3t@"), headers }],
    });
    await send("/v1/track", { event: "E", userId: "u_1" });
    const { text, notes } = await recorded();
    expect(text).not.toContain("s3cr3t");
    expect(text).toContain("X-Api-Key: left-out");
    expect(notes).toContain(
      "The value of the header X-Api-Key of Crm is not recorded: left-out replaces it.",
    );
  });

  test("has the mappings, the filters and the plan that decided", async () => {
    const source = await call("sources.create", {
      name: "Shop",
      writeKey: "key-shop",
      plan: {
        onViolation: "drop-properties",
        schemas: { "Order Completed": { properties: { coupon: { type: "string" } } } },
      },
    });
    const { url } = await call("endpoints.create", {
      name: "R",
      steps: [
        { do: "answer", status: 503 },
        { do: "answer", status: 202 },
      ],
    });
    const people = await call("endpoints.create", { name: "P", steps: [{ do: "answer" }] });
    await call("destinations.create", {
      kind: "webhooks-actions",
      name: "Ledger",
      sourceIds: [source.id],
      sharedSecret: "s3cr3t",
      filters: [{ name: "No carts", if: 'event = "Cart Viewed"', action: "drop" }],
      mappings: [
        {
          name: "Orders",
          trigger: 'type = "track"',
          url,
          headers: {
            "@merge": {
              direction: "left",
              objects: [{ "X-Api-Key": "s3cr3t" }, { "X-Shop": { "@path": "$.properties.shop" } }],
            },
          },
          data: { id: { "@path": "$.messageId" }, coupon: { "@path": "$.properties.coupon" } },
          batch: { enabled: true, size: 10, waitMs: 60_000 },
        },
        {
          name: "People",
          trigger: 'type = "identify"',
          method: "PUT",
          url: { "@template": `${people.url}?user={{userId}}` },
        },
      ],
    });
    const order = { type: "track", event: "Order Completed", userId: "u_1" };
    await send("/v1/batch", {
      batch: [
        { ...order, messageId: "m_1", properties: { coupon: 5 } },
        { ...order, messageId: "m_2", properties: { coupon: "A1" } },
        { ...order, messageId: "m_3", event: "Cart Viewed" },
        { type: "identify", userId: "u_1", messageId: "m_4" },
      ],
    });
    await call("clock.advance", { to: "idle" });
    const { text, notes } = await recorded();
    expect(text).not.toContain("s3cr3t");
    expect(text).toContain("wait: 1m");
    expect(text).toContain("onViolation: drop-properties");
    expect(text).toContain("name: No carts");
    expect(text).toContain(
      "{ of: { messageId: [ m_1, m_2, m_4 ], destination: Ledger }, count: 2, state: delivered",
    );
    expect(text).toContain("webhook: Ledger 1 }, results: [ 503, 202 ]");
    expect(text).toContain("webhook: Ledger 2 }, results: [ 200 ]");
    expect(text).toContain("decisions: { Ledger: filter_dropped }");
    expect(notes).toEqual([
      "The value of the header X-Api-Key of Ledger is not recorded: left-out replaces it.",
      "The URL of the mapping People of Ledger depends on the message. In the scenario all its requests go to one endpoint.",
      "The shared secret of Ledger is not recorded: another one replaces it.",
    ]);
  });

  test("retries a batch once when it was retried manually", async () => {
    const source = await call("sources.create", { name: "Shop", writeKey: "key-shop" });
    const { url } = await call("endpoints.create", {
      name: "R",
      steps: [{ do: "answer", status: 404 }, { do: "answer" }],
    });
    const batch = { enabled: true, size: 2, waitMs: 60_000 };
    await call("destinations.create", {
      kind: "webhooks-actions",
      name: "Ledger",
      sourceIds: [source.id],
      mappings: [{ name: "Orders", trigger: 'type = "track"', url, batch }],
    });
    const order = { type: "track", event: "Bought", userId: "u_1" };
    await send("/v1/batch", {
      batch: [
        { ...order, messageId: "m_1" },
        { ...order, messageId: "m_2" },
      ],
    });
    const { items } = await call("deliveries.list", {});
    for (const { id } of items) await call("deliveries.retry", { id });
    await call("pipeline.settle", {});
    const { text, notes } = await recorded();
    expect(notes).toEqual([]);
    expect(text.match(/- retry: .*/g)).toEqual([
      "- retry: { messageId: m_1, destination: Ledger }",
    ]);
    expect(text).toContain("[ m_1, m_2 ], destination: Ledger }, count: 1, state: delivered");
  });

  test("keeps its expectations where a cancellation and a retry have nothing to do in the scenario, and none where it stops", async () => {
    const source = await call("sources.create", { name: "Shop", writeKey: "key-shop" });
    const { url } = await call("endpoints.create", {
      name: "R",
      steps: [{ do: "answer", status: 503, times: 1 }, { do: "answer" }],
      perMessage: true,
    });
    await call("destinations.create", { name: "D", sourceIds: [source.id], webhooks: [{ url }] });
    for (const messageId of ["m_1", "m_2", "m_3", "m_4"])
      await send("/v1/track", { event: "Bought", userId: "u_1", messageId });
    const due = new Map<string, number>();
    for (const id of await allMessages()) {
      const { messageId, deliveries } = await call("messages.get", { id });
      due.set(messageId, Date.parse(deliveries[0]?.nextAttemptAt ?? "") - startAt);
    }
    // The second delivery of the scenario is due before the cancellation.
    expect(due.get("m_2")).toBeLessThan(10_300);
    expect(due.get("m_4")).toBeGreaterThan(10_300);
    await call("clock.advance", { byMs: 10_300 });
    const [third, fourth] = await Promise.all(
      ["m_3", "m_4"].map(async (messageId) => {
        const { items } = await call("messages.list", { filter: messageId, limit: 1 });
        return call("messages.get", { id: items[0]?.id ?? "" });
      }),
    );
    const { id } = fourth?.deliveries[0] ?? { id: "" };
    await call("deliveries.cancel", { id });
    await call("clock.advance", { byMs: 60_000 });
    await call("deliveries.retry", { id });
    await call("pipeline.settle", {});
    const messageIds = [third?.id ?? "", fourth?.id ?? ""];
    const { text, notes } = await recorded(undefined, messageIds);
    expect(notes).toEqual([]);
    expect(text.match(/- (?:cancel|retry): .*\n.*/g)).toEqual([
      "- cancel: { messageId: m_4, destination: D }\n    ifPossible: true",
      "- retry: { messageId: m_4, destination: D }\n    ifPossible: true",
    ]);
    expect(text).toContain("results: [ 503, 200 ]");

    const stopped = await recordScenario({
      ...{ messageIds, own: typedCalls(pipeline().api.call) },
      run: (scenario) =>
        runRead({
          read: readWritten(scenario),
          start: async (options) => {
            const app = await start(options);
            return {
              ...app,
              call: (name, ...input) =>
                name === "deliveries.cancel"
                  ? Promise.reject(new Error("The disk is full."))
                  : app.call(name, ...input),
            };
          },
        }),
    });
    expect(stopped).toMatchObject({
      notes: [
        "The scenario stops at step 4, cancel deliveries of messageId m_4, destination D, if possible: The disk is full.",
      ],
      text: expect.not.stringContaining("expect:") as unknown,
    });
  });

  test("sends messages with other members as they came", async () => {
    const source = await call("sources.create", { name: "Shop", writeKey: "key-shop" });
    const { url } = await call("endpoints.create", { name: "R", steps: [{ do: "answer" }] });
    await call("destinations.create", { name: "D", sourceIds: [source.id], webhooks: [{ url }] });
    const order = { event: "Bought", userId: "u_1" };
    await send("/v1/track", { ...order, messageId: "m_1", user_id: 7 });
    await send("/v1/track", { ...order, messageId: "m_2", anonymous_id: "a_1" });
    await send("/v1/batch", {
      batch: [
        { type: "track", ...order, messageId: "m_3", AnonymousId: "a_1" },
        { type: "track", user_id: "u_1", messageId: "m_4" },
      ],
    });
    const { text, notes } = await recorded();
    expect(notes).toEqual([]);
    expect(text.match(/- (?:send|post): /g)).toEqual(["- send: ", "- post: ", "- post: "]);
  });

  test("of too much is refused before it is written", async () => {
    await call("sources.create", { name: "Shop", writeKey: "key-shop" });
    for (let number = 0; number < 20; number += 1)
      await send("/v1/track", {
        event: `E${number}`,
        userId: "u_1",
        properties: { text: "x".repeat(30_000) },
      });
    await expect(call("scenarios.record", { messageIds: await allMessages() })).rejects.toThrow(
      "more than 500,000 bytes",
    );
  });
});
