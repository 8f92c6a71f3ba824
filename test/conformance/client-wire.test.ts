/**
 * What the client sends is what the Go library sent, byte for byte, for the same calls, ids and
 * times.
 */

import { readFileSync } from "node:fs";
import { Agent } from "node:http";
import { connect } from "node:net";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { Analytics } from "../../src/client/client.ts";
import type { AnalyticsOptions } from "../../src/client/client.ts";
import { answering, ok, stopAll } from "../support/sending.ts";

afterEach(stopAll);

// The captures were taken there.
beforeAll(() => void vi.stubEnv("TZ", "UTC"));
afterAll(() => void vi.unstubAllEnvs());

function capturedRequest(name: string): string {
  const requests = readFileSync(new URL(`./wire/${name}.http`, import.meta.url), "latin1").split(
    /\n(?=POST )/,
  );
  return (requests[0] ?? "").trimEnd();
}

/** The ids of the messages and then of the batch; `sentAt`, or the time of the messages. */
function idsAndTime(request: string): { ids: string[]; at: number } {
  const ids = [...request.matchAll(/"messageId":"([^"]+)"/g)].map(([, id]) => id ?? "");
  const [, time = ""] = /"(?:sentAt|timestamp)":"([^"]+?)(?:\+0000|\d{6}Z)"/.exec(request) ?? [];
  // Version 3 names a batch before its messages.
  if (/^\{"messageId"/m.test(request)) ids.push(ids.shift() ?? "");
  return { ids, at: Date.parse(`${time}Z`) };
}

/** Leads to the receiver, whatever the host of the request is. */
function agentTo(port: number): Agent {
  const agent = new Agent();
  agent.createConnection = () => connect(port, "127.0.0.1");
  return agent;
}

async function requestOf(
  name: string,
  options: AnalyticsOptions,
  make: (client: Analytics) => void,
): Promise<string> {
  const { ids, at } = idsAndTime(capturedRequest(name));
  const receiver = await answering(ok);
  const agent = agentTo(receiver.port);
  const time = { now: () => at, schedule: () => ({ cancel() {} }) };
  const client = new Analytics("wk_test", {
    endpoint: "http://127.0.0.1:9911",
    agent,
    time,
    newId: () => ids.shift() ?? "",
    ...options,
  });
  make(client);
  await client.close();
  agent.destroy();
  expect(ids).toEqual([]);
  return receiver.received[0] ?? "";
}

const context = { userAgent: "sendall/1", locale: "en-US", ip: "203.0.113.7" };

function fullCalls(integrations?: Record<string, unknown>): (client: Analytics) => void {
  return (client) => {
    const common = { userId: "user-0", context, integrations };
    client.identify({ ...common, traits: { plan: "pro", email: "user-0@example.com", age: 42 } });
    client.track({
      ...common,
      event: "Order Completed",
      properties: { revenue: 19.95, html: "<a&b>", currency: "USD" },
    });
    const properties = { url: "https://example.com/", title: "Home", referrer: "", path: "/" };
    client.page({
      ...common,
      anonymousId: "anon-user-0",
      category: "Docs",
      name: "Home",
      properties,
    });
    client.group({ ...common, groupId: "acme", traits: { name: "Acme", employees: 12 } });
    client.alias({ userId: "user-0", previousId: "anon-user-0" });
  };
}

const userId = "user-0";

function bareCalls(client: Analytics): void {
  client.identify({ userId });
  client.track({ userId, event: "Order Completed" });
  client.page({ userId });
  client.group({ userId, groupId: "acme" });
  client.alias({ userId, previousId: "anon-user-0" });
}

function oldCalls(client: Analytics): void {
  client.identify({ userId, traits: { email: "user-0@example.com" } });
  client.track({ userId, event: "Order Completed", properties: { revenue: 19.95 } });
  client.page({ userId, name: "Home" });
  client.screen({ userId, name: "Main" });
  client.group({ userId, groupId: "acme" });
  client.alias({ userId, previousId: "anon" });
}

test.each([
  { name: "v211", options: {}, make: fullCalls({ Mixpanel: true, All: false }) },
  { name: "v211-bare", options: {}, make: bareCalls },
  { name: "v200", options: { wire: "v2.0" as const }, make: fullCalls() },
  { name: "v120", options: { wire: "v1.2" as const }, make: oldCalls },
])("the request in the capture $name", async ({ name, options, make }) => {
  expect(await requestOf(name, options, make)).toBe(capturedRequest(name));
});

test("the request in the capture v330, and times of nine digits", async () => {
  const captured = capturedRequest("v330");
  const times = [...captured.matchAll(/"timestamp":"([^"]+)"/g)].map(([, time]) => time ?? "");
  const sent = await requestOf("v330", { wire: "v3" }, (client) => {
    const common = () => ({
      userId,
      timestamp: times.shift() ?? "",
      context: { locale: "en-US", foo: 1 },
      integrations: { Mixpanel: true, all: false },
    });
    client.identify({ ...common(), traits: { email: "user-0@example.com" } });
    client.track({ ...common(), event: "Order Completed", properties: { revenue: 19.95 } });
    client.page({ ...common(), name: "Home", properties: { url: "https://example.com/" } });
    client.screen({ ...common(), name: "Main" });
    client.group({ ...common(), groupId: "acme", traits: { name: "Acme" } });
    client.alias({ ...common(), previousId: "anon" });
  });
  // JavaScript has no digits below the millisecond to hold to those of the capture.
  const belowMs = /(?<="sentAt":"[\d:T.-]{23})\d{6}(?=Z")/;
  expect(sent).toMatch(belowMs);
  expect(sent.replace(belowMs, "")).toBe(captured.replace(belowMs, ""));

  const stamped = await requestOf("v330", { wire: "v3" }, (client) => {
    for (let call = 0; call < 6; call += 1) client.track({ userId, event: "Order Completed" });
  });
  const stamps = [...stamped.matchAll(/"timestamp":"[^"]+\.(\d{9})Z"/g)].map(([, text]) =>
    Number(text),
  );
  expect(stamps.length).toBe(6);
  expect(stamps).toEqual(stamps.toSorted((a, b) => a - b));
  expect(new Set(stamps).size).toBe(6);
});

test("v2.0 closed with nothing queued sends nothing, where the original sent an empty batch", async () => {
  const receiver = await answering(ok);
  const client = new Analytics("wk_test", {
    endpoint: `http://127.0.0.1:${receiver.port}`,
    wire: "v2.0",
  });
  await client.close();
  expect(receiver.sockets).toEqual([]);
});
