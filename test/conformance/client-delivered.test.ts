/**
 * The client through the whole pipeline: all its calls are accepted and delivered, in every mode
 * and in both spellings, through trouble too.
 */

import { test as base, expect } from "vitest";
import { Analytics, New, type NotSentError, type WireMode } from "../../src/client/client.ts";
import { deepest } from "../../src/client/json.ts";
import { starting, type RunningApp } from "../support/running-app.ts";
import type { WebhookReceiver } from "../support/webhook-receiver.ts";

const test = base.extend("start", starting);

function payloads(receiver: WebhookReceiver): Record<string, unknown>[] {
  return receiver.requests.map(({ body }) => JSON.parse(body) as Record<string, unknown>);
}

async function byState(app: RunningApp): Promise<Record<string, number>> {
  const { messages } = await app.call("stats.get", {});
  return Object.fromEntries(Object.entries(messages.byState).filter(([, count]) => count > 0));
}

const modes: WireMode[] = ["v3", "v2.1", "v2.0", "v1.2"];

test.for(modes)("all calls of %s are delivered", async (wire, { start }) => {
  const app = await start.app();
  const receiver = await start.receiver();
  await app.destination([receiver.url]);
  const errors: NotSentError[] = [];
  const client = new Analytics("key", {
    endpoint: app.ingestUrl,
    wire,
    onError: (error) => errors.push(error),
  });
  const timestamp = new Date("2019-05-06T07:08:09.123Z");
  client.identify({
    userId: "u",
    traits: { größe: 1.5, html: "<a&b>" },
    timestamp,
    context: { ip: "203.0.113.7" },
  });
  client.track({
    anonymousId: "a",
    event: "Order Completed",
    properties: { revenue: 19.95 },
    messageId: "own-id",
  });
  client.page({
    userId: "u",
    category: "Docs",
    name: "Home",
    properties: { url: "https://example.com/" },
  });
  client.screen({ anonymousId: "a", name: "Main" });
  client.group({ userId: "u", groupId: "acme", traits: { employees: 12 } });
  client.alias({ userId: "u", previousId: "a" });
  client.track({ userId: "u", event: "Left out", integrations: { All: false } });
  client.alias({ userId: "u", previousId: "b", integrations: { All: false } });
  await client.close();
  await app.settle();

  expect(errors).toEqual([]);
  expect(await byState(app)).toEqual({ delivered: 6, filtered: 2 });
  expect(
    Object.fromEntries(payloads(receiver).map((payload) => [payload["type"], payload])),
  ).toMatchObject({
    identify: {
      userId: "u",
      traits: { größe: 1.5, html: "<a&b>" },
      timestamp: timestamp.toISOString(),
      context: { ip: "203.0.113.7" },
    },
    track: {
      anonymousId: "a",
      event: "Order Completed",
      properties: { revenue: 19.95 },
      messageId: "own-id",
    },
    page: { name: "Home", category: "Docs", properties: { url: "https://example.com/" } },
    screen: { anonymousId: "a", name: "Main" },
    group: {
      groupId: "acme",
      traits: { employees: 12 },
      context: { library: { name: "analytics-go" } },
    },
    alias: { "User ID": "u", "Previous ID": "a" },
  });
});

test("so are those in the spelling of the document", async ({ start }) => {
  const app = await start.app();
  const receiver = await start.receiver();
  await app.destination([receiver.url]);
  const client = New("key", { endpoint: app.ingestUrl });
  client.Size = 5;
  client.Identify({ UserId: "u", Traits: { plan: "pro" } });
  client.Track({ UserId: "u", Event: "Bought", Properties: { price: 1 } });
  client.Page({ UserId: "u", Name: "Home", Traits: { url: "/" } });
  client.Group({ UserId: "u", GroupId: "acme" });
  client.Alias({ UserId: "u", PreviousId: "a" });
  await client.Close();
  await app.settle();
  expect(await byState(app)).toEqual({ delivered: 5 });
  expect(payloads(receiver)).toContainEqual(
    expect.objectContaining({ type: "page", name: "Home", properties: { url: "/" } }),
  );
});

test("trouble at the ingest port costs nothing and doubles nothing", async ({ start }) => {
  const app = await start.app();
  const receiver = await start.receiver();
  await app.destination([receiver.url]);
  const source = (await app.call("sources.list", {})).items[0];
  const faults = [
    { do: "answer" as const, status: 503, times: 2 },
    { do: "cut" as const, times: 1 },
    { do: "answer" as const, status: 429, retryAfter: 1, times: 1 },
  ];
  await app.call("sources.update", { id: source?.id ?? "", faults });
  const events: string[] = [];
  const client = new Analytics("key", {
    endpoint: app.ingestUrl,
    flushAt: 2,
    onEvent: ({ event }) => events.push(event),
  });
  for (let call = 0; call < 5; call += 1) client.track({ userId: "u", event: `Event ${call}` });
  await client.close();
  await app.settle();
  expect(await byState(app)).toEqual({ delivered: 5 });
  expect(events.filter((event) => event === "retried")).toHaveLength(4);
  expect(payloads(receiver).map(({ event }) => event)).toHaveLength(5);
});

test("the deepest and the largest that a call may be are accepted, with what is beside them", async ({
  start,
}) => {
  const app = await start.app();
  await app.destination(["http://127.0.0.1:9/"], { enabled: false });
  const errors: NotSentError[] = [];
  const client = new Analytics("key", {
    endpoint: app.ingestUrl,
    flushAt: 1000,
    onError: (error) => errors.push(error),
  });
  let nested: Record<string, unknown> = {};
  for (let level = 0; level < deepest; level += 1) nested = { in: nested };
  client.identify({ userId: "deep", traits: nested });
  expect(() => client.identify({ userId: "deeper", traits: { in: nested } })).toThrow(
    "'traits' is nested too deep",
  );
  const bare = Buffer.byteLength(
    '{"properties":{"text":""},"userId":"u","event":"e","type":"track","messageId":"000","timestamp":"2026-11-21T00:00:00Z"}',
  );
  for (let call = 100; call < 140; call += 1) {
    client.track({
      userId: "u",
      event: "e",
      messageId: String(call),
      timestamp: "2026-11-21T00:00:00Z",
      properties: { text: "x".repeat(32_768 - bare) },
    });
  }
  await client.close();
  expect(errors).toEqual([]);
  expect(await byState(app)).toEqual({ filtered: 41 });
});
