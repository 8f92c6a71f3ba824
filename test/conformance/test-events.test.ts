/** One event to one destination: what is sent and received, and that nothing else changes. */

import { createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import { startIngestApp } from "../support/ingest-app.ts";
import { startReceiver } from "../support/webhook-receiver.ts";

const order = {
  type: "track",
  userId: "ada",
  messageId: "m-1",
  event: "Order Completed",
  properties: { total: 12, email: "ada@example.com" },
};

async function counts({ call }: Awaited<ReturnType<typeof startIngestApp>>) {
  const { messages, deliveries } = await call("stats.get", {});
  const profiles = (await call("profiles.list", {})).total;
  return { messages: messages.total, deliveries: deliveries.total, profiles };
}

describe("a test event", () => {
  test("is filtered, signed and sent as a message is, and is on no record", async () => {
    const app = await startIngestApp();
    const warehouse = await app.destination({
      sourceIds: [app.source.id],
      sharedSecret: "s3cret",
      enabled: false,
      filters: [{ name: "Mask", action: "drop-properties", properties: ["properties.email"] }],
    });
    const answer = await app.call("destinations.test", { id: warehouse.id, event: order });
    expect(answer).toMatchObject({
      sent: true,
      messageId: "m-1",
      reason: "routed",
      filters: ["Mask"],
      attempts: [{ outcome: "success", retryable: false, response: { status: 200 } }],
    });
    const payload = answer.payload as string;
    expect(JSON.parse(payload)).toMatchObject({ messageId: "m-1", properties: { total: 12 } });
    expect(payload).not.toContain("email");
    const { request } = answer.attempts[0] ?? {};
    expect(request?.body).toBe(payload);
    const signature = createHmac("sha1", "s3cret").update(payload).digest("hex");
    expect(request?.headers).toContainEqual(["X-Signature", signature]);
    expect(await warehouse.received()).toEqual([JSON.parse(payload)]);
    expect(await counts(app)).toEqual({ messages: 0, deliveries: 0, profiles: 0 });

    // The id is not taken: the same event as a message is no duplicate.
    await app.send("/v1/batch", { batch: [order] });
    expect((await app.messages())[0]?.duplicateOf).toBe(null);
  });

  test("without an event is a sample, and goes to every webhook, whatever each answers", async () => {
    const app = await startIngestApp();
    const failing = await startReceiver(503);
    const closed = await startReceiver();
    await closed.stop();
    const { id } = await app.destination({
      sourceIds: [],
      webhooks: [{ url: failing.url }, { url: closed.url }],
    });
    const answer = await app.call("destinations.test", { id });
    await failing.stop();
    expect(JSON.parse(answer.payload as string)).toMatchObject({ type: "track" });
    expect(answer.attempts).toMatchObject([
      { outcome: "http_error", retryable: true, response: { status: 503 } },
      { outcome: "connection_error", response: null, request: { sent: false } },
    ]);
    expect(answer.attempts[1]?.error?.code).toBeTruthy();
    expect((await app.call("deliveries.list", {})).total).toBe(0);
  });

  test.each<[string, object, string]>([
    ["a filter", { ...order, event: "Cart" }, "filter_dropped"],
    ["its integrations", { ...order, integrations: { All: false } }, "integrations_all_false"],
  ])("that %s keeps back is not sent, and says why", async (_, event, reason) => {
    const app = await startIngestApp();
    const warehouse = await app.destination({
      sourceIds: [app.source.id],
      filters: [{ name: "No carts", if: 'event = "Cart"', action: "drop" }],
    });
    expect(await app.call("destinations.test", { id: warehouse.id, event })).toMatchObject({
      sent: false,
      reason,
      payload: null,
      attempts: [],
    });
    expect(await warehouse.received()).toEqual([]);
  });

  test.each<[unknown, string]>([
    [null, "not_an_object"],
    [[order], "not_an_object"],
    [{ type: "track", userId: "ada" }, "missing_event"],
    [{ type: "nonsense", userId: "ada" }, "unknown_type"],
    [{ ...order, properties: { long: "x".repeat(40_000) } }, "message_too_large"],
  ])("%j is refused as ingest refuses it", async (event, code) => {
    const app = await startIngestApp();
    const { id } = await app.destination({ sourceIds: [] });
    expect(await app.api("destinations.test", { id, event })).toMatchObject({
      status: 400,
      body: { code },
    });
  });

  test("to a destination that is not there is 404", async () => {
    const app = await startIngestApp();
    expect(await app.api("destinations.test", { id: "dst_99" })).toMatchObject({ status: 404 });
  });
});
