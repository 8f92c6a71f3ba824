/**
 * The client library for Node, as it is published: what it sends is delivered, and its own retry
 * brings everything in, once.
 */

import { Analytics, Context } from "@segment/analytics-node";
import { expect, test } from "vitest";
import type { InputOf } from "../../src/contract/contract.ts";
import { startIngestApp, writeKey, type IngestApp } from "../support/ingest-app.ts";

function clientOf(
  app: IngestApp,
  flushAt = 15,
): { client: Analytics; answers: number[]; retryCounts: (string | null)[]; errors: unknown[] } {
  const answers: number[] = [];
  const retryCounts: (string | null)[] = [];
  const errors: unknown[] = [];
  const client = new Analytics({
    writeKey,
    host: app.url,
    flushAt,
    async httpClient(url, options) {
      retryCounts.push(new Headers(options?.headers).get("x-retry-count"));
      const response = await fetch(url, options);
      answers.push(response.status);
      return response;
    },
  });
  client.on("error", (error) => errors.push(error));
  return { client, answers, retryCounts, errors };
}

test("all its calls arrive and are delivered", async () => {
  const app = await startIngestApp();
  const destination = await app.destination({ sourceIds: [app.source.id], sharedSecret: "s3cret" });
  const { client, answers, errors } = clientOf(app);
  const timestamp = new Date("2019-05-06T07:08:09.123Z");
  const context = { ip: "203.0.113.7", locale: "de-DE" };
  client.identify({ userId: "u", traits: { plan: "pro", größe: 1.5 }, timestamp, context });
  client.track({
    userId: "u",
    event: "Order Completed",
    properties: { revenue: 19.95, html: "<a&b>" },
    messageId: "own-id",
  });
  client.page({
    userId: "u",
    category: "Docs",
    name: "Home",
    properties: { url: "https://example.com/" },
  });
  client.screen({ anonymousId: "a", name: "Main", properties: { tab: 1 } });
  client.group({ userId: "u", groupId: "acme", traits: { employees: 12 } });
  client.alias({ userId: "u", previousId: "a" });
  client.track({ userId: "u", event: "Left out", integrations: { All: false } });
  await client.closeAndFlush();

  const received = await destination.received();
  expect([answers, errors]).toEqual([[200], []]);
  const library = { name: "@segment/analytics-node", version: "3.1.0" };
  const byType = Object.fromEntries(received.map((payload) => [payload["type"], payload]));
  expect(received).toHaveLength(6);
  expect(byType).toMatchObject({
    identify: {
      userId: "u",
      traits: { plan: "pro", größe: 1.5 },
      timestamp: timestamp.toISOString(),
      context: { ...context, library },
    },
    track: {
      messageId: "own-id",
      event: "Order Completed",
      properties: { revenue: 19.95, html: "<a&b>" },
      context: { ip: "127.0.0.1", library },
    },
    page: { name: "Home", category: "Docs", properties: { url: "https://example.com/" } },
    screen: { anonymousId: "a", name: "Main", properties: { tab: 1 } },
    group: { groupId: "acme", userId: "u", traits: { employees: 12 } },
    alias: { "Previous ID": "a", "User ID": "u" },
  });
  expect((await app.messages()).map(({ state }) => state)).toEqual([
    ...Array.from({ length: 6 }, () => "delivered"),
    "filtered",
  ]);
});

type Faults = NonNullable<InputOf<"sources.create">["faults"]>;

const troubles: {
  trouble: string;
  faults: Faults;
  answers: number[];
  retryCounts: (string | null)[];
}[] = [
  {
    trouble: "503 twice",
    faults: [{ do: "answer", status: 503, times: 2 }],
    answers: [503, 503, 200],
    retryCounts: [null, "1", "2"],
  },
  {
    trouble: "429 with Retry-After",
    faults: [{ do: "answer", status: 429, retryAfter: 1, times: 1 }],
    answers: [429, 200],
    retryCounts: [null, "1"],
  },
  {
    trouble: "a cut connection",
    faults: [{ do: "cut", times: 1 }],
    answers: [200],
    retryCounts: [null, "1"],
  },
];

test.each(troubles)(
  "$trouble makes it try again, and nothing is lost or there twice",
  async ({ faults, answers, retryCounts }) => {
    const app = await startIngestApp({ source: { faults } });
    const destination = await app.destination({ sourceIds: [app.source.id] });
    const seen = clientOf(app);
    const outcomes: Promise<unknown>[] = [];
    for (let i = 0; i < 5; i += 1) {
      outcomes.push(
        new Promise((resolve) =>
          seen.client.track({ userId: "u", event: `Event ${i}` }, (_error, context) =>
            resolve(context),
          ),
        ),
      );
    }
    await seen.client.closeAndFlush();
    expect(await Promise.all(outcomes)).toEqual(outcomes.map(() => expect.any(Context)));
    expect([seen.answers, seen.retryCounts, seen.errors]).toEqual([answers, retryCounts, []]);

    const received = await destination.received();
    expect(received.map(({ event }) => event ?? "").toSorted()).toEqual([
      "Event 0",
      "Event 1",
      "Event 2",
      "Event 3",
      "Event 4",
    ]);
    expect((await app.call("stats.get", {})).messages.byState).toMatchObject({
      delivered: 5,
      duplicate: 0,
      rejected: 0,
    });
  },
);

test("an answer that is lost after the commit makes it send everything again: recorded as duplicates, delivered once", async () => {
  const app = await startIngestApp();
  const destination = await app.destination({ sourceIds: [app.source.id] });
  let lost = 0;
  const client = new Analytics({
    writeKey,
    host: app.url,
    async httpClient(url, options) {
      const response = await fetch(url, options);
      if (lost++ === 0) throw new Error("the answer was lost");
      return response;
    },
  });
  client.track({ userId: "u", event: "Once" });
  client.identify({ userId: "u" });
  await client.closeAndFlush();
  expect((await destination.received()).map(({ type }) => type).toSorted()).toEqual([
    "identify",
    "track",
  ]);
  expect((await app.messages()).map(({ state }) => state)).toEqual([
    "delivered",
    "delivered",
    "duplicate",
    "duplicate",
  ]);
});
