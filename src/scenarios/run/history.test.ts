import { afterEach, expect, test } from "vitest";
import { type Hookyard, type Setup, start } from "../../testing/start.ts";

let started: Hookyard[] = [];
afterEach(async () => {
  for (const one of started.splice(0)) await one.stop();
});

async function starting(setup: Setup): Promise<Hookyard> {
  const hookyard = await start({ settings: { jitter: false }, ...setup });
  started.push(hookyard);
  return hookyard;
}

const bought = { type: "track" as const, event: "Bought", userId: "ada" };

test("one of two waiting deliveries that is cancelled is seen as cancelled", async () => {
  const hookyard = await starting({
    endpoints: { RA: [{ status: 503 }], RB: [{ status: 503 }] },
    destinations: {
      A: { webhooks: [{ endpoint: "RA" }] },
      B: { webhooks: [{ endpoint: "RB" }] },
    },
  });
  await hookyard.send(bought);
  await hookyard.expect({ deliveries: { count: 2, state: "waiting" } });
  await hookyard.cancel({ destination: "B" });
  await hookyard.expect([
    { deliveries: { of: { destination: "A" }, state: "waiting" } },
    { deliveries: { of: { destination: "B" }, state: "cancelled" } },
  ]);
});

const large = (length: number): string => "x".repeat(length);

test("attempts are seen with all bytes, also where an answer has no room for them", async () => {
  const names = ["R1", "R2", "R3", "R4", "R5"];
  const hookyard = await starting({
    endpoints: Object.fromEntries(names.map((name) => [name, [{ status: 503 }]])),
    destinations: {
      A: { webhooks: names.map((endpoint) => ({ endpoint })), sharedSecret: "s" },
    },
  });
  await hookyard.send({ ...bought, properties: { text: large(30_000) } });
  await hookyard.advance("1h");
  await hookyard.expect([
    { deliveries: { attempts: { atLeast: 40 } } },
    { attempts: { signature: "valid", headers: { "Content-Type": "application/json" } } },
    { attempts: { body: { "$.properties.text": { exists: true } } } },
  ]);
});

test("the answer to a request is seen from its time on", async () => {
  const hookyard = await starting({
    endpoints: { R: [{ status: 200, delay: "3s" }] },
    destinations: { D: { webhooks: [{ endpoint: "R" }] } },
  });
  await hookyard.send(bought);
  await hookyard.advance("10s");
  await hookyard.expect([
    { requests: { count: 1, within: "0s" } },
    { requests: { answered: 200, never: true, within: "2s" } },
    { requests: { answered: 200, within: "3s" } },
  ]);
  await expect(hookyard.expect({ requests: { answered: 200, within: "2s" } })).rejects.toThrow(
    "answered answer, not answered 200",
  );
  await expect(
    hookyard.expect({ requests: { answered: 200, never: true, within: "3s" } }),
  ).rejects.toThrow("this one, not none");
});

test("more than a thousand attempts or requests are all seen, or not judged", async () => {
  const failing = [{ status: 503 }];
  const everySecond = { first: "1s", factor: 1, cap: "1s" };
  const hookyard = await starting({
    sources: { Shop: {}, App: {} },
    retryProfiles: {
      often: { delays: everySecond, window: "505s" },
      longer: { delays: everySecond, window: "1005s" },
    },
    endpoints: { R1: failing, R2: failing, R3: failing },
    destinations: {
      A: { sources: ["Shop"], webhooks: [{ endpoint: "R1" }], retryProfile: "often" },
      B: { sources: ["Shop"], webhooks: [{ endpoint: "R2" }], retryProfile: "often" },
      C: { sources: ["App"], webhooks: [{ endpoint: "R3" }], retryProfile: "longer" },
    },
  });
  await hookyard.send({ ...bought, messageId: "m_1" }, { from: "Shop" });
  await hookyard.send({ ...bought, messageId: "m_2" }, { from: "App" });
  await hookyard.advance("idle");
  await hookyard.expect([
    { deliveries: { of: { messageId: "m_1" }, count: 2, rounds: 506, attempts: 506 } },
    { attempts: { of: { messageId: "m_1" }, results: ["503 x506"] } },
    { deliveries: { of: { messageId: "m_2" }, state: "expired" } },
    { requests: { of: { endpoint: ["R1", "R2"] }, count: 1012 } },
    { requests: { of: { endpoint: "R1", userId: "bob" }, never: true } },
  ]);
  const lost = /The message m_2 has 1006 attempts, and only the newest \d+ are listed\./;
  await expect(hookyard.expect({ deliveries: { attempts: 506 } })).rejects.toThrow(lost);
  await expect(hookyard.expect({ attempts: { result: 503 } })).rejects.toThrow(lost);
  const dropped = "The endpoint R3 received 1006 requests and kept only the newest 1000.";
  await expect(hookyard.expect({ requests: { answered: 503 } })).rejects.toThrow(dropped);
  await expect(
    hookyard.expect({ requests: { of: { endpoint: ["R1", "R3"] }, never: true } }),
  ).rejects.toThrow(dropped);
  await expect(
    hookyard.expect({ requests: { of: { endpoint: "R1", userId: "bob" } } }),
  ).rejects.toThrow("of 2018 requests, none was selected");
});

test("a body that is not recorded whole is not judged", async () => {
  const hookyard = await starting({
    endpoints: { R: [{ status: 200, body: JSON.stringify({ text: large(70_000) }) }] },
    destinations: {
      A: {
        sharedSecret: "s",
        mappings: [{ endpoint: "R", trigger: 'type = "track"', batch: { size: 31, wait: "5s" } }],
      },
    },
  });
  const properties = { text: large(30_000) };
  await hookyard.send({ ...bought, properties }, { repeat: 31 });
  await hookyard.advance("10s");
  await expect(
    hookyard.expect({ requests: { body: { "$[0].gone": { exists: false } } } }),
  ).rejects.toThrow(/^Of a body of [\d,]+ bytes, only the first 65,536 are recorded/);
  await expect(hookyard.expect({ requests: { signedWith: "s" } })).rejects.toThrow("Of a body");
  await expect(
    hookyard.expect({ deliveries: { body: { "$[0].gone": { exists: false } } } }),
  ).rejects.toThrow("Of a body");
  await expect(
    hookyard.expect({ attempts: { response: { body: { "$.gone": { exists: false } } } } }),
  ).rejects.toThrow("Of a body");
  await hookyard.expect([
    { requests: { headers: { "Content-Type": "application/json" }, signature: "valid" } },
    { attempts: { signature: "valid", signedWith: "s" } },
    { attempts: { body: { "$[30].event": "Bought" } } },
  ]);
});

test("a delivery is delivered at its first success, whatever another webhook takes", async () => {
  const hookyard = await starting({
    endpoints: { A: [{ status: 200 }], B: [{ do: "hang" }], C: [{ delay: "2s" }] },
    destinations: {
      D: { webhooks: [{ endpoint: "B" }, { endpoint: "C" }, { endpoint: "A" }] },
    },
  });
  await hookyard.send([bought, bought]);
  await hookyard.advance("1m");
  await hookyard.expect([
    { deliveries: { count: 2, state: "delivered", took: "0s", attempts: 3 } },
    { attempts: { of: { webhook: "B" }, count: 2, at: [{ atMost: "5s" }] } },
  ]);
});

test("a batch is one delivery, which each of its messages selects", async () => {
  const hookyard = await starting({
    endpoints: { R: [{ status: 503 }, { status: 200 }] },
    destinations: {
      Orders: {
        mappings: [{ endpoint: "R", trigger: 'type = "track"', batch: { size: 10, wait: "5s" } }],
      },
    },
  });
  await hookyard.send({ ...bought, messageId: "m_1" });
  await hookyard.advance("2s");
  await hookyard.send({ ...bought, userId: "bob", messageId: "m_2" });
  await hookyard.advance("3s");
  await hookyard.expect([
    { deliveries: { of: { destination: "Orders" }, count: 1, attempts: 1, state: "waiting" } },
    { deliveries: { of: { messageId: "m_1" }, count: 1 } },
    { deliveries: { of: { userId: "bob" }, count: 1 } },
    { attempts: { count: 1, results: [503], at: ["5s"] } },
    { messages: { count: 2, state: "waiting" } },
    { deliveries: { of: { userId: "bob", state: "delivered" }, never: true, within: "4s" } },
  ]);
  await expect(hookyard.expect({ deliveries: { state: "delivered" } })).rejects.toThrow(
    "track Bought · ada · m_1 and 1 more → Orders",
  );
  await hookyard.retry({ destination: "Orders" });
  await hookyard.expect([
    { deliveries: { count: 1, state: "delivered", took: "6s" } },
    { attempts: { count: 2, results: [503, 200] } },
    { messages: { of: { messageId: ["m_1", "m_2"] }, state: "delivered" } },
  ]);
});

test.each(["identify", "track", "both"] as const)(
  "an audience whose values are sent as %s counts each change of a user once",
  async (audienceCalls) => {
    const hookyard = await starting({
      endpoints: { Ads: [{ status: 200 }], Late: [{ status: 200 }] },
      destinations: {
        Ads: { webhooks: [{ endpoint: "Ads" }], audienceCalls },
        Late: { webhooks: [{ endpoint: "Late" }], audienceCalls },
      },
      audiences: {
        Buyers: {
          rule: { event: "Bought", withinDays: 1 },
          sync: "each-event",
          destinations: ["Ads"],
        },
      },
    });
    await hookyard.send([
      { type: "identify", userId: "ada", traits: { email: "ada@example.com" } },
      bought,
    ]);
    await hookyard.expect({ audiences: { size: 1, in: "ada", entered: 1, left: 0 } });
    // It gets the same value again.
    await hookyard.change({ audiences: { Buyers: { destinations: ["Ads", "Late"] } } });
    await hookyard.expect([
      { requests: { of: { endpoint: "Late", userId: "ada" }, count: { atLeast: 2 } } },
      { audiences: { size: 1, entered: 1 } },
    ]);
    await hookyard.advance("25h");
    await hookyard.expect({ audiences: { size: 0, entered: 1, left: 1 } });
    await hookyard.send(bought);
    await hookyard.expect({ audiences: { size: 1, entered: 2, left: 1 } });
  },
);

test("an audience that nobody has entered is looked at since it exists", async () => {
  const hookyard = await starting({
    endpoints: { Ads: [{ status: 200 }] },
    destinations: { Ads: { webhooks: [{ endpoint: "Ads" }] } },
    audiences: { Buyers: { rule: { event: "Bought" } } },
  });
  const empty = { audiences: { size: 0, never: true as const } };
  await expect(hookyard.expect(empty)).rejects.toThrow("this one, not none");
  await hookyard.expect({ audiences: { size: 1, never: true } });
  await hookyard.advance("1h");
  await hookyard.create({ audiences: { Staff: { members: ["cyd"] } } });
  await hookyard.expect({ audiences: { of: { name: "Staff" }, size: 0, never: true } });
  await expect(hookyard.expect(empty)).rejects.toThrow("the audience Buyers");
});
