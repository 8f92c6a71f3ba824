/** What the tools say of messages, where the cause is not the receiver's last answer. */

import { test as base, expect } from "vitest";
import type { CallName } from "../../src/contract/contract.ts";
import { createMcp } from "../../src/mcp/mcp.ts";
import { starting, type RunningApp } from "../support/running-app.ts";
import { nextsOf, startAgent, type Agent } from "./agent.ts";

const test = base
  .extend("start", starting)
  .extend("agent", async ({ start }, { onCleanup }): Promise<Agent> => {
    const agent = await startAgent(start);
    onCleanup(() => agent.stop());
    return agent;
  });

type ApiCall = Parameters<typeof createMcp>[0]["api"]["call"];

/** The tools on an app, with some answers changed. */
async function usingTools(call: ApiCall, { changes }: Pick<RunningApp, "changes">) {
  const mcp = await createMcp({
    api: { call, changes },
    report: (error) => expect(error).toBeUndefined(),
  });
  return async (name: string, given: object) =>
    JSON.stringify(
      await mcp.answer(
        { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: given } },
        new AbortController().signal,
      ),
    );
}

test("a retry that waits for a paused clock or a disabled destination is not blamed on the receiver", async ({
  start,
  agent: { app, use },
}) => {
  const receiver = await start.receiver(503);
  const { id } = await app.destination([receiver.url]);
  await app.call("clock.set", { mode: "paused" });
  const message = await app.send();
  await app.settle();
  expect(await use("why_not_delivered")).toMatch(
    /^Cause: paused\. The clock is paused, and retries are due from \S+Z\.$/m,
  );
  expect(await use("advance_clock")).toMatch(
    /^Clock: \S+Z, paused, next due \S+Z\.\nDeliveries: 0 delivered, 1 waiting, 0 failed, 0 expired\.$/m,
  );
  await app.call("clock.set", { mode: "real" });
  expect(await use("why_not_delivered")).not.toContain("Cause: paused");
  await app.call("clock.set", { mode: "paused" });
  await app.call("destinations.update", { id, enabled: false });
  const text = await use("why_not_delivered", { id: message });
  expect(text).toContain("Cause: disabled");
  expect(text).toContain('"enabled":true');
  expect(text).not.toMatch(/Cause: status|next round|advance_clock/);
});

test("a message of many destinations is explained in 4,000 bytes, what failed first", async ({
  start,
  agent: { app, use },
}) => {
  const [failing, receiver] = [await start.receiver(400), await start.receiver()];
  for (let at = 0; at < 50; at += 1)
    await app.destination([at === 40 ? failing.url : receiver.url], { name: `Receiver ${at}` });
  const id = await app.send();
  await app.settle();
  const text = await use("why_not_delivered", { id });
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(4000);
  expect(text).toContain("It has 50 deliveries. 4 of them");
  expect(text).toMatch(/lists all:\nDelivery \w+ to \w+: failed[^]*\nCause: status_400\n/);
  const shown = await use("show", { id });
  expect(shown).toContain("Its deliveries: 50.");
  expect(shown).toContain("Bought");
  expect(await use("show", { id, maxBytes: 10_000 })).toMatch(/dlv_\w+ to dst_\w+: failed/);

  for (const one of (await app.call("destinations.list", {})).items)
    await app.call("destinations.update", { id: one.id, enabled: false });
  const unrouted = await use("why_not_delivered", { id: await app.send() });
  expect(Buffer.byteLength(unrouted)).toBeLessThanOrEqual(4000);
  expect(unrouted).toContain("It is not routed to 50 destinations. The first 4:");
});

test("a message that was refused is not taken for an earlier one with its messageId", async ({
  start,
  agent: { app, use },
}) => {
  const receiver = await start.receiver();
  await app.destination([receiver.url]);
  const { id } = await app.source();
  const send = (more: object = {}) =>
    use("send_and_wait", { event: "Paid", userId: "u", messageId: "order-7", ...more });
  expect(await send()).toContain("is delivered");
  expect(await send()).toContain("Cause: duplicate");
  const tooLarge = await send({ properties: { text: "x".repeat(40_000) } });
  expect(tooLarge).toContain("Cause: message_too_large");
  await app.call("sources.update", { id, faults: [{ do: "answer", status: 503 }] });
  expect(await send()).toMatch(/^The ingest port answered 503\.\n[^]*No message is on record/);
});

test("a message is found among others that contain its messageId and came meanwhile", async ({
  start,
}) => {
  const app = await start.app();
  const { id, writeKey } = await app.source();
  const busy = Array.from({ length: 60 }, (_, at) => ({
    ...{ type: "track", event: "E", messageId: `m-7-${at}` },
    ...(at === 59 ? {} : { userId: "u" }),
  }));
  const use = await usingTools(async (name, input, caller) => {
    const answer = await app.answer(name as CallName, input, caller);
    if (name === "sources.send") await app.ingest("/v1/batch", { batch: busy }, writeKey);
    return answer;
  }, app);
  const send = () => use("send_and_wait", { event: "Paid", userId: "u", messageId: "7" });
  expect(await send()).toContain('event=\\"Paid');
  // It answers without accepting anything.
  await app.call("sources.update", { id, faults: [{ do: "answer", status: 200, times: 1 }] });
  expect(await send()).toContain("No message is on record");
});

test("a count that is not exact, and trouble with sending, are said", async ({ start }) => {
  const app = await start.app();
  await app.source();
  await app.send();
  /** As with more messages than are counted, and a thread that has ended. */
  const instead: Record<string, object> = {
    "messages.list": { totalCapped: true, total: 10_000 },
    "stats.get": { deliveryTrouble: "The thread that sends deliveries has ended: out of memory." },
  };
  const use = await usingTools(async (name, input, caller) => {
    const { status, body } = await app.answer(name as CallName, input, caller);
    return { status, body: { ...(body as object), ...instead[name] } };
  }, app);
  const text = await use("why_not_delivered", {});
  expect(text).toContain("At least 10000 messages are not delivered.");
  expect(text).toContain("The thread that sends deliveries has ended");
  expect(await use("wait_for_messages", { filter: "" })).toContain(
    "At least 10000 messages match.",
  );
  expect(await use("find_messages", {})).toContain("At least 10000 messages match, newest first.");
});

test("a failing receiver is only set up as a whole, and undone only where one is named", async ({
  start,
  agent: { app, use },
}) => {
  const receiver = await start.receiver();
  await app.source();
  const own = await app.call("sources.create", { name: "Own" });
  const destination = await app.call("destinations.create", {
    name: "Orders",
    sourceIds: [own.id],
    webhooks: [{ url: receiver.url }],
  });
  expect(await use("set_up_failing_receiver", { undo: true })).toContain("needs a destinationId");
  expect(await use("set_up_failing_receiver", { sourceId: "src_999" })).toContain("src_999");
  expect((await app.call("endpoints.list", {})).items).toEqual([]);

  const destinationId = destination.id;
  expect(nextsOf(await use("set_up_failing_receiver", { destinationId }))[0]).toEqual({
    tool: "send_and_wait",
    input: { sourceId: own.id, event: "Test", userId: "u_1" },
  });
  const again = await use("set_up_failing_receiver", { destinationId });
  expect(again).toContain("It has a fault already. Take it away first");
  const mapped = await app.call("destinations.create", {
    name: "Mapped",
    kind: "webhooks-actions",
    sourceIds: [],
    mappings: [{ name: "All", url: receiver.url }],
  });
  expect(await use("set_up_failing_receiver", { destinationId: mapped.id })).toContain(
    "has mappings",
  );
});

test("the signature of a message is that of its signed delivery", async ({
  start,
  agent: { app, use },
}) => {
  const receiver = await start.receiver();
  await app.destination([receiver.url], { name: "Unsigned" });
  await app.destination([receiver.url], { name: "Signed", sharedSecret: "s3cret" });
  const id = await app.send();
  await app.settle();
  expect(await use("compare_signature", { id })).toMatch(
    /^X-Signature of att_\w+ is [0-9a-f]{40},/,
  );
});

test("show has what a receiver answered behind a fault, and each change of a delivery", async ({
  start,
  agent: { app, use },
}) => {
  const receiver = await start.receiver(201);
  const { id: destinationId } = await app.destination([receiver.url], { sharedSecret: "s3cret" });
  await app.call("clock.set", { mode: "paused" });
  const set = await use("set_up_failing_receiver", {
    ...{ destinationId, fault: "lose-answer", times: 1 },
  });
  const ids = [await app.send()];
  await app.settle();
  const endpoint = nextsOf(set).find(({ tool }) => tool === "show");
  expect(await use("show", endpoint?.input)).toMatch(
    /rcv_\w+ \S+ "POST" forward no status, signature valid, receiver 201 /,
  );
  await app.call("clock.advance", { to: "idle" });
  const [delivery] = (await app.call("messages.get", { id: ids[0] ?? "" })).deliveries;
  const shown = await use("show", { id: delivery?.id ?? "" });
  expect(shown).toMatch(/ is delivered \(succeeded\)\.\n/);
  expect(shown).toMatch(/beside those that its attempts show:\n\S+ waiting \(retry\)\n2 attempts:/);

  const created = await use("configure", {
    ...{ kind: "retry_profile", changes: { name: "quick", timeoutMs: 1_234 } },
  });
  const profile = /Created (rtp_\w+)\./.exec(created)?.[1];
  expect(await use("show", { id: profile ?? "" })).toContain('"timeoutMs": 1234');
  expect(await use("configure", { kind: "settings", changes: { seed: 3 } })).toMatch(
    /^Changed the settings\./,
  );
  expect(await use("configure", { kind: "settings", remove: true })).toContain(
    "Settings cannot be deleted",
  );
  expect(await use("advance_clock", { mode: "faster", speed: 60 })).toMatch(
    /^Clock: \S+, 60 times faster, /,
  );
});

test("an audience's own source is not named as one that a program can send to", async ({
  agent: { app, use },
}) => {
  await app.call("audiences.create", { name: "Big spenders", members: [] });
  const text = await use("overview");
  expect(text).toContain("0 sources:");
  expect(text).toContain('Next: configure {"kind":"source"');
});

test("find_messages continues after the cursor of the answer before", async ({
  agent: { app, use },
}) => {
  await app.source();
  const ids = [await app.send(), await app.send()];
  const first = await use("find_messages", { limit: 1 });
  const cursor = /cursor (\S+)\.$/m.exec(first)?.[1];
  const second = await use("find_messages", { limit: 1, cursor });
  expect([first, second].map((text) => ids.map((id) => text.includes(id)))).toEqual([
    [false, true],
    [true, false],
  ]);
  expect(second).not.toContain("More:");
});
