import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Hookyard, start } from "../../testing/start.ts";

type Expectation = Parameters<Hookyard["expect"]>[0];

/**
 * Three messages: one delivered at its third attempt, one that failed, one that no destination
 * wants.
 */
let hookyard: Hookyard;
beforeAll(async () => {
  hookyard = await start({
    settings: { jitter: false },
    sources: { Shop: {}, App: { kind: "mobile" } },
    endpoints: {
      Good: [
        { match: { userId: "u_2" }, status: 404, body: '{"error":"who?"}', times: 9 },
        { status: 503 },
        { do: "hang" },
        { status: 200, headers: { "X-Seen": "1" } },
      ],
      Idle: [{ status: 200 }],
    },
    destinations: {
      Warehouse: {
        webhooks: [{ endpoint: "Good", headers: { "X-Team": "a" } }],
        sharedSecret: "s",
      },
      Nobody: { sources: [], webhooks: [{ endpoint: "Idle" }] },
    },
  });
  await hookyard.send(
    {
      type: "track",
      event: "Bought",
      userId: "u_1",
      properties: { total: 49.9, items: [{ sku: "A-1" }], note: null },
    },
    { from: "Shop" },
  );
  await hookyard.send(
    { type: "identify", userId: "u_2", traits: { plan: "pro" } },
    { from: "App" },
  );
  await hookyard.send(
    { type: "page", name: "Home", anonymousId: "a_1", integrations: { All: false } },
    { from: "Shop" },
  );
  await hookyard.advance("idle");
});
afterAll(() => hookyard.stop());

describe("is met", () => {
  const met: Expectation[] = [
    { deliveries: { count: 2 } },
    {
      deliveries: {
        of: { userId: "u_1" },
        state: "delivered",
        rounds: 3,
        attempts: 3,
        took: "30s",
      },
    },
    {
      deliveries: { of: { type: "identify" }, state: "failed", reason: "not_retried", took: "0s" },
    },
    { deliveries: { of: { state: ["failed", "delivered"] }, count: { atLeast: 2, atMost: 2 } } },
    { deliveries: { of: { destination: "Nobody" }, never: true } },
    { deliveries: { body: { "$.version": 1 } } },
    {
      messages: {
        of: { userId: "a_1" },
        state: "filtered",
        decisions: { Warehouse: "integrations_all_false" },
      },
    },
    { messages: { of: { source: "App" }, count: 1 } },
    { messages: { of: { event: "Home" }, count: 1 } },
    {
      attempts: { of: { userId: "u_1" }, results: [503, "timeout", 200], at: ["0s", "10s", "30s"] },
    },
    { attempts: { of: { userId: "u_1" }, results: ["http_error", "timeout", "success"] } },
    { attempts: { of: { round: 1 }, count: 2, result: "http_error" } },
    { attempts: { of: { result: "timeout" }, count: 1, error: "timeout" } },
    {
      attempts: {
        signature: "valid",
        signedWith: "s",
        headers: { "x-team": "a", "Content-Type": "application/json" },
      },
    },
    { attempts: { of: { result: 200 }, response: { headers: { "X-Seen": "1" } } } },
    { attempts: { of: { result: 404 }, response: { body: { "$.error": { contains: "who" } } } } },
    { requests: { of: { endpoint: "Good" }, count: 4, signature: "valid" } },
    { requests: { of: { endpoint: "Idle" }, never: true } },
    {
      requests: {
        of: { type: "track" },
        body: { "$.properties.items[0].sku": { matches: "^A-" }, "$.properties.note": null },
      },
    },
    {
      requests: {
        of: { type: "track" },
        body: {
          "$.properties.total": { atLeast: 49, atMost: 50 },
          "$.properties.gone": { exists: false },
        },
      },
    },
    {
      requests: {
        of: { type: "track" },
        body: {
          "$.properties.items": { contains: { sku: "A-1" } },
          "$.properties.total": { isNot: 50 },
        },
      },
    },
    { clock: { elapsed: { atLeast: "30s", atMost: "31s" }, nextDue: "nothing" } },
    { deliveries: { of: { userId: "u_1" }, state: "waiting", within: "20s" } },
    { deliveries: { of: { userId: "u_1" }, state: "delivered", within: "30s" } },
    { deliveries: { of: { userId: "u_1", state: "delivered" }, never: true, within: "29s" } },
    { attempts: { of: { userId: "u_1" }, results: [503], within: "5s" } },
    // The one that failed had done so before the last message was sent.
    { deliveries: { of: { state: "failed" }, never: true, within: "1m" } },
  ];
  test.each(met)("%j", async (expectation) => {
    await hookyard.expect(expectation);
  });
});

describe("is not met", () => {
  test.each<[Expectation, string]>([
    [{ deliveries: { count: 3 } }, "actual    2 deliveries"],
    [{ deliveries: { of: { userId: "u_9" } } }, "actual    of 2 deliveries, none was selected"],
    [{ deliveries: { of: { destination: "Nobody" } } }, "none was selected"],
    [
      { deliveries: { state: "delivered" } },
      "actual    2 deliveries: 1 as expected, 1 state failed",
    ],
    [{ deliveries: { of: { userId: "u_1" }, took: "29s" } }, "took 30s, not took 29s"],
    [{ deliveries: { of: { state: "failed" }, never: true } }, "expected  no such delivery"],
    [{ deliveries: { of: { state: "waiting" }, never: true } }, "expected  no such delivery"],
    [{ deliveries: { of: { userId: "u_1" }, nextAttempt: "1m" } }, "next attempt none"],
    [
      { deliveries: { of: { userId: "u_1", state: "delivered" }, never: true, within: "30s" } },
      "this one, not none",
    ],
    [
      { deliveries: { of: { userId: "u_1" }, state: "expired", within: "4h" } },
      "state delivered, not state expired",
    ],
    [{ messages: { of: { state: "rejected" } } }, "of 3 messages, none was selected"],
    [
      { messages: { of: { userId: "u_1" }, decisions: { Nobody: "routed" } } },
      "decision for Nobody no decision",
    ],
    [
      { attempts: { of: { userId: "u_1" }, results: [503, 200] } },
      "results 503, timeout, 200, not results 503, 200",
    ],
    [{ attempts: { of: { userId: "u_1" }, at: ["0s", "10s"] } }, "at 0s, 10s, 30s, not at 0s, 10s"],
    [{ attempts: { signature: "none" } }, "signature valid, not signature none"],
    [{ attempts: { signedWith: "t" } }, "signed with another secret"],
    [{ attempts: { of: { result: 404 }, error: "timeout" } }, "error none, not error timeout"],
    [{ attempts: { headers: { "X-Team": "b" } } }, "header X-Team a, not header X-Team b"],
    [{ attempts: { headers: { "X-Gone": { exists: true } } } }, "header X-Gone missing"],
    [{ requests: { of: { endpoint: "Idle" } } }, "of 4 requests, none was selected"],
    [
      { requests: { of: { type: "track" }, body: { "$.properties.total": 50 } } },
      "$.properties.total 49.9, not $.properties.total 50",
    ],
    [
      { requests: { of: { type: "track" }, body: { "$.properties.total": "49.9" } } },
      '$.properties.total 49.9, not $.properties.total "49.9"',
    ],
    [
      { requests: { of: { type: "track" }, body: { "$.properties.items[1].sku": "A-1" } } },
      "$.properties.items[1].sku missing",
    ],
    [{ requests: { answered: 200 } }, "answered 404"],
    [{ clock: { elapsed: "29s" } }, "elapsed 29s"],
    [{ clock: { nextDue: "1m" } }, "next due nothing"],
  ])("%j", async (expectation, part) => {
    await expect(hookyard.expect(expectation)).rejects.toThrow(part);
  });
});

describe("of audiences", () => {
  let people: Hookyard;
  beforeAll(async () => {
    people = await start({
      endpoints: { Ads: [{ status: 200 }] },
      destinations: { Ads: { webhooks: [{ endpoint: "Ads" }] } },
      audiences: { Buyers: { rule: { event: "Bought", withinDays: 1 }, sync: "each-event" } },
    });
    await people.send({ type: "track", event: "Bought" }, { users: ["ada", "bob"] });
    await people.create({
      audiences: { Staff: { members: ["cyd"] } },
      computedTraits: { Purchases: { computation: { aggregate: "count", event: "Bought" } } },
    });
    await people.advance("12h");
    await people.send({ type: "track", event: "Bought", userId: "bob" });
    await people.sync("Purchases");
    await people.advance("13h");
    await people.delete(["cyd"]);
  });
  afterAll(() => people.stop());

  test.each<Expectation>([
    { audiences: { count: 2 } },
    {
      audiences: {
        of: { name: "Buyers" },
        size: 1,
        in: "bob",
        notIn: ["ada", "cyd"],
        entered: 2,
        left: 1,
      },
    },
    { audiences: { of: { name: "Staff" }, size: 0, entered: 1, left: 0 } },
    { deliveries: { of: { source: "Buyers" }, count: 3, state: "delivered" } },
    { requests: { of: { userId: "bob" }, body: { "$.userId": "bob" } } },
  ])("%j is met", async (expectation) => {
    await people.expect(expectation);
  });

  test.each<[Expectation, string]>([
    [{ audiences: { of: { name: "Buyers" }, size: 2 } }, "size 1, not size 2"],
    [{ audiences: { of: { name: "Buyers" }, in: "ada" } }, "members bob, not members with ada"],
    [
      { audiences: { of: { name: "Buyers" }, notIn: "bob" } },
      "members bob, not members without bob",
    ],
    [{ audiences: { of: { name: "Buyers" }, in: "ada", never: true } }, "this one, not none"],
    [
      { audiences: { of: { name: "Sellers" } } },
      "There is no audience Sellers. Known: Buyers, Staff.",
    ],
  ])("%j is not met", async (expectation, part) => {
    await expect(people.expect(expectation)).rejects.toThrow(part);
  });

  test("a computed trait's value goes out at its sync", async () => {
    const bodies = {
      of: { endpoint: "Ads", userId: "bob" },
      body: { "$.traits.purchases": { exists: true } },
    };
    await expect(people.expect({ requests: bodies })).rejects.toThrow("$.traits.purchases missing");
    await expect(people.sync("Nothing")).rejects.toThrow(
      "There is no audience Nothing. Known: Buyers, Staff, Purchases.",
    );
  });
});
