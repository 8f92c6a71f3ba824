/** One event to one destination: what is sent and received, and that nothing else changes. */

import { createHmac } from "node:crypto";
import { describe, expect, onTestFinished, test } from "vitest";
import type { InputOf } from "../../src/contract/contract.ts";
import { startIngestApp } from "../support/ingest-app.ts";
import { startRawReceiver } from "../support/raw-receiver.ts";
import { until } from "../support/running-app.ts";
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

  test("is refused as a message would be by the settings", async () => {
    const app = await startIngestApp();
    const { id } = await app.destination({ sourceIds: [app.source.id] });
    const event = { ...order, messageId: "m".repeat(120) };
    expect((await app.call("destinations.test", { id, event })).sent).toBe(true);
    await app.call("settings.update", { limitMessageIds: true });
    expect(await app.api("destinations.test", { id, event })).toMatchObject({
      ...{ status: 400, body: { code: "message_id_too_long" } },
    });
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

  test("leaves its connection open for the next one, and none after a stop", async () => {
    const app = await startIngestApp();
    let isReused = false;
    const receiver = await startRawReceiver({
      onRequest(socket, nth) {
        isReused ||= nth > 0;
        socket.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
      },
    });
    onTestFinished(() => receiver.stop());
    const { id } = await app.destination({
      sourceIds: [],
      webhooks: [{ url: `http://127.0.0.1:${receiver.port}` }],
    });
    // On a busy machine the next one may come too late for the connection.
    while (!isReused) await app.call("destinations.test", { id });
    await app.stop();
    await until(() => receiver.sockets.every(({ closed }) => closed));
  });

  test("to a destination that is not there is 404", async () => {
    const app = await startIngestApp();
    expect(await app.api("destinations.test", { id: "dst_99" })).toMatchObject({ status: 404 });
  });
});

describe("a test event to a destination with mappings", () => {
  const mapped = async (mappings: InputOf<"destinations.create">["mappings"], draft = {}) => {
    const app = await startIngestApp();
    const { id } = await app.call("destinations.create", {
      kind: "webhooks-actions",
      name: "Mapped",
      sourceIds: [],
      sharedSecret: "s3cret",
      enabled: false,
      mappings,
      ...draft,
    });
    const send = (event: unknown = order) => app.call("destinations.test", { id, event });
    return { app, send };
  };
  const signed = (text: string) => createHmac("sha1", "s3cret").update(text).digest("hex");
  const receiving = async () => {
    const receiver = await startReceiver();
    onTestFinished(() => receiver.stop());
    return receiver;
  };

  test("sends the request of every enabled mapping whose trigger matches, of a batch one", async () => {
    const { url, requests } = await receiving();
    const { app, send } = await mapped(
      [
        {
          name: "Single",
          url: { "@template": `${url}/{{userId}}` },
          method: "PATCH",
          headers: { "X-Total": { "@path": "$.properties.total" } },
          data: { total: { "@path": "$.properties.total" } },
        },
        { name: "Batched", url: `${url}/batch`, batch: { enabled: true, size: 100 } },
        { name: "Others", url, trigger: 'event = "Cart Viewed"' },
        { name: "Off", url, enabled: false },
        { name: "Wrong", url, data: { "@path": "$.event" } },
      ],
      { filters: [{ name: "Mask", action: "drop-properties", properties: ["properties.email"] }] },
    );
    const answer = await send();
    expect(answer).toMatchObject({ sent: true, reason: "routed", filters: ["Mask"] });
    expect(answer.mappings.map(({ name, reason }) => [name, reason])).toEqual([
      ["Single", "routed"],
      ["Batched", "routed"],
      ["Others", "trigger_not_met"],
      ["Off", "mapping_disabled"],
      ["Wrong", "payload_error"],
    ]);
    expect(answer.mappings[1]?.detail).toBe("Its data is sent as a batch of one.");
    expect(answer.attempts).toMatchObject([
      { mapping: "Single", outcome: "success", request: { body: '{"total":12}' } },
      { mapping: "Batched", outcome: "success", response: { status: 200 } },
    ]);

    const [single, batch] = requests.toSorted((a, b) => (a.method < b.method ? -1 : 1));
    expect(single).toMatchObject({ method: "PATCH", url: "/hook/ada", body: '{"total":12}' });
    expect(single?.headers).toContainEqual(["x-total", "12"]);
    expect(single?.headers).toContainEqual(["x-signature", signed('{"total":12}')]);
    expect(answer.attempts[0]?.request.headers).toEqual(single?.headers);
    const { body = "" } = batch ?? {};
    expect(batch).toMatchObject({ method: "POST", url: "/hook/batch" });
    expect(JSON.parse(body)).toMatchObject([{ messageId: "m-1", properties: { total: 12 } }]);
    expect(body).not.toContain("email");
    expect(batch?.headers).toContainEqual(["x-signature", signed(body.slice(1, -1))]);
    expect(await counts(app)).toEqual({ messages: 0, deliveries: 0, profiles: 0 });
  });

  test("is not sent when no mapping makes a request of it, and says why for each", async () => {
    const { send } = await mapped([
      { name: "Carts", url: "http://127.0.0.1:9", trigger: 'event = "Cart Viewed"' },
      { name: "Name", url: "http://127.0.0.1:9", data: { "@path": "$.event" } },
    ]);
    expect(await send()).toMatchObject({
      sent: false,
      reason: "payload_error",
      detail: expect.stringContaining("Name: The data must be an object."),
      attempts: [],
    });
    expect(await send({ ...order, integrations: { "Actions Webhook": false } })).toMatchObject({
      sent: false,
      reason: "integrations_false",
      mappings: [],
    });
  });

  test("with data that is empty sends an empty body without a signature, in a batch null", async () => {
    const { url, requests } = await receiving();
    const data = { "@path": "$.missing" };
    const { send } = await mapped([
      { name: "Empty", url: `${url}/one`, data },
      { name: "Batch", url: `${url}/batch`, data, batch: { enabled: true } },
    ]);
    await send();
    const bodies = requests.map((request) => `${request.url} ${request.body}`);
    expect(bodies.toSorted()).toEqual(["/hook/batch [null]", "/hook/one "]);
    expect(JSON.stringify(requests)).not.toContain("x-signature");
  });
});
