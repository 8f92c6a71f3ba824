import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, test } from "vitest";
import { lastingPort } from "../../test/support/free-ports.ts";
import { runFile, ExpectationFailed, start, type Hookyard, type Setup } from "./start.ts";

let started: Hookyard[] = [];
afterEach(async () => {
  for (const one of started) await one.stop();
  started = [];
});

async function starting(setup: Setup): Promise<Hookyard> {
  const hookyard = await start(setup);
  started.push(hookyard);
  return hookyard;
}

const setup: Setup = {
  sources: { Shop: {}, App: { writeKey: "app-key", kind: "mobile" } },
  endpoints: { Receiver: [{ status: 503 }, { do: "hang" }, { status: 200 }] },
  destinations: { Receiver: { webhooks: [{ endpoint: "Receiver" }], sharedSecret: "s" } },
  settings: { jitter: false },
};
const message = { type: "track" as const, event: "Signed Up", userId: "u_1" };

describe("hookyard/testing", () => {
  test("sends, advances and expects, in the words of a scenario", async () => {
    const hookyard = await starting(setup);
    await hookyard.send(message, { from: "Shop" });
    await hookyard.advance("10s");
    await hookyard.expect({ attempts: { results: [503] } });
    await hookyard.advance("idle");
    await hookyard.expect([
      { attempts: { results: [503, "timeout", 200], at: ["0s", "10s", "30s"] } },
      { requests: { signature: "valid", body: { "$.event": "Signed Up" }, count: 3 } },
      { clock: { elapsed: "30s" } },
    ]);
  });

  test("keeps its setup when the object that it was given changes", async () => {
    const given: Setup = structuredClone(setup);
    const hookyard = await starting(given);
    given.endpoints = {};
    given.sources = {};
    await hookyard.send(message, { from: "Shop" });
    await hookyard.advance("idle");
    await hookyard.expect({ requests: { signature: "valid", count: 3 } });
  });

  test("fails with what was expected, what there is, and the attempts behind it", async () => {
    const hookyard = await starting(setup);
    await hookyard.send(message, { from: "Shop" });
    const failure = hookyard.expect([
      { deliveries: { state: "delivered" } },
      { messages: { count: 1 } },
    ]);
    await expect(failure).rejects.toThrow(ExpectationFailed);
    await expect(failure).rejects.toThrow(`expect deliveries: state delivered
  expected  every delivery: state delivered
  actual    1 delivery: state waiting
  track Signed Up · u_1 · message-1 → Receiver
    state waiting, not state delivered
    00:00:00  round  1  Receiver  503`);
  });

  test("lets client libraries send by themselves, and waits for what comes of it", async () => {
    const hookyard = await starting({ ...setup, endpoints: { Receiver: [{ status: 200 }] } });
    const status = await hookyard.during(async () => {
      const body = JSON.stringify({
        writeKey: hookyard.writeKey("App"),
        userId: "u_9",
        event: "Opened",
      });
      return (await fetch(`${hookyard.ingestUrl}/v1/track`, { method: "POST", body })).status;
    });
    expect(status).toBe(200);
    await hookyard.expect({
      deliveries: { of: { source: "App" }, count: 1, state: "delivered", within: "0s" },
    });
    expect(() => hookyard.writeKey("Web")).toThrow("There is no source Web. Known: Shop, App.");
  });

  test("does not wait for what an endpoint holds, nor for what is behind it", async () => {
    const hookyard = await starting({
      ...setup,
      endpoints: { Receiver: [{ do: "hang", times: 2 }, { status: 200 }] },
    });
    await hookyard.send([message, message, message], { from: "Shop" });
    await hookyard.expect({
      deliveries: { count: 3, state: "sending" },
      attempts: { never: true },
    });
    await hookyard.advance("5s");
    await hookyard.expect({ attempts: { count: 1, result: "timeout" } });
    await hookyard.advance("idle");
    await hookyard.expect({ deliveries: { count: 3, state: "delivered" } });
  });

  test("changes, cancels, retries, and sends what is broken", async () => {
    const hookyard = await starting(setup);
    await hookyard.send(message, { from: "App" });
    await hookyard.cancel({ state: "waiting" });
    await hookyard.expect({ deliveries: { state: "cancelled" } });
    await hookyard.change({ endpoints: { Receiver: [{ status: 200 }] } });
    await hookyard.retry({ state: "cancelled" });
    await hookyard.expect({ deliveries: { state: "delivered", attempts: 2 } });
    await hookyard.change({ sources: { App: { writeKey: "next-key" } } });
    expect(hookyard.writeKey("App")).toBe("next-key");
    await hookyard.post("{", { from: "App", answers: 400 });
    await expect(hookyard.post("{", { from: "App" })).rejects.toThrow("Request 1 was answered 400");
  });

  test("takes a step as things are after a change", async () => {
    const hookyard = await starting({ ...setup, sources: {} });
    const { url } = await hookyard.call("endpoints.create", {
      name: "Later",
      steps: [{ do: "answer" }],
    });
    await hookyard.send(message);
    await hookyard.change({
      settings: { laneConnections: 3 },
      destinations: { Receiver: { webhooks: [{ url }] } },
    });
    await hookyard.advance("idle");
    await hookyard.expect([
      { attempts: { of: { webhook: url }, results: [200] } },
      { attempts: { of: { webhook: "Receiver" }, results: [503] } },
    ]);
    const held = { Receiver: [{ do: "forward" as const, to: url, hold: 3 }] };
    await hookyard.change({ endpoints: held });
    // What a test does with its own object afterwards says nothing of the change that was made.
    held.Receiver.length = 0;
    await hookyard.create({ audiences: { Staff: { members: ["cyd"] } } });
    await hookyard.expect({ audiences: { of: { name: "Staff" }, size: 1 } });
    await expect(hookyard.expect({ attempts: { of: { webhook: "Elsewhere" } } })).rejects.toThrow(
      `expect.attempts.of.webhook: Elsewhere is unknown. Known: Receiver, ${url}.`,
    );
  });

  test.each([
    [
      { destinations: { D: { webhooks: [] } } },
      "destinations.D.webhooks: webhooks must be a list with at least one webhook",
    ],
    [
      { endpoints: { R: [{ staus: 1 }] } },
      "endpoints.R[0].staus: staus is unknown. Did you mean status?",
    ],
    [
      { steps: [{ expect: { deliveries: { state: "failed" } } }] },
      "steps: start does not take them. Call send, advance and expect, or runFile for a file.",
    ],
    [null, "A setup must be an object, such as { endpoints: {}, destinations: {} }."],
    ["outage.yaml", "A setup must be an object, such as { endpoints: {}, destinations: {} }."],
    [
      { destinations: { D: { webhooks: [{ endpoint: "R" }] } } },
      "destinations.D.webhooks[0].endpoint: There is no endpoint R. There are none.",
    ],
  ])("says where a setup is wrong: %j", async (wrong, sentence) => {
    await expect(start(wrong as Setup)).rejects.toThrow(sentence);
  });

  test("says where a step is wrong, and goes on", async () => {
    const hookyard = await starting(setup);
    await expect(hookyard.send(message)).rejects.toThrow(
      "There are several sources, so name the one that sends: from: Shop.",
    );
    await expect(hookyard.advance("soon")).rejects.toThrow(
      'advance: advance must be a duration such as 90m, or next-due, or idle, but it is "soon".',
    );
    await expect(
      hookyard.expect({ deliveries: { of: { state: "deliverd" as "delivered" } } }),
    ).rejects.toThrow("expect.deliveries.of.state: state must be");
    await hookyard.send(message, { from: "Shop" });
  });

  test("refuses what a test did not mean to leave out", async () => {
    const hookyard = await starting(setup);
    const fixture: { count?: number; event?: string } = {};
    const { count, event } = fixture;
    await expect(hookyard.expect({ deliveries: { count } })).rejects.toThrow(
      "expect.deliveries.count: count is undefined.",
    );
    await expect(
      hookyard.expect([{ attempts: { count: 0, of: { event } } }, { deliveries: { count: 0 } }]),
    ).rejects.toThrow("expect[0].attempts.of.event: event is undefined.");
    await expect(
      hookyard.expect({ requests: { body: { "$.event": event as unknown as string } } }),
    ).rejects.toThrow("expect.requests.body.$.event: $.event is undefined.");
    await expect(hookyard.cancel({ event })).rejects.toThrow("cancel.event: event is undefined.");
    await expect(hookyard.advance(event as unknown as string)).rejects.toThrow(
      /^advance: advance is missing\.$/,
    );
    await expect(hookyard.change(event as unknown as object)).rejects.toThrow(
      /^change: change is missing\.$/,
    );
    // What JSON leaves out of a message is left out here too.
    await hookyard.send({ ...message, properties: { count } }, { from: "Shop" });
  });

  test("does not start when the receiver does not listen", async () => {
    const port = await lastingPort();
    const destinations = { D: { webhooks: [{ url: `http://127.0.0.1:${port}/` }] } };
    await expect(start({ destinations })).rejects.toThrow(
      `Nothing listens at 127.0.0.1:${port}. Start the receiver first`,
    );
  });

  test("stops once, and does nothing afterwards", async () => {
    const hookyard = await starting(setup);
    await Promise.all([hookyard.stop(), hookyard.stop()]);
    const late = [
      () => hookyard.advance("1h"),
      () => hookyard.call("messages.list", {}),
      () => hookyard.during(async () => undefined),
    ];
    for (const one of late) await expect(one()).rejects.toThrow("This Hookyard has been stopped.");
  });

  test("stops at the end of the block that uses it, also when an expectation fails", async () => {
    let used: Hookyard | undefined;
    const failing = async (): Promise<void> => {
      await using hookyard = await start(setup);
      used = hookyard;
      await hookyard.expect({ messages: { count: 1 } });
    };
    await expect(failing()).rejects.toThrow(ExpectationFailed);
    await expect(used?.advance("1h")).rejects.toThrow("This Hookyard has been stopped.");
  });

  test("runs a scenario file", async () => {
    const file = fileURLToPath(
      new URL("../../resources/scenarios/endless-503.yaml", import.meta.url),
    );
    expect(await runFile(file, { seed: 3 })).toMatchObject({ state: "passed", seed: 3, file });
  });
});
