/**
 * One legal request neither blocks others, nor makes a long answer, nor costs an accepted message
 * its place.
 */

import { expect, test } from "vitest";
import { startIngestApp } from "../support/ingest-app.ts";

const track = (n: number) => ({ type: "track", userId: `u${n}`, event: "e", messageId: `m${n}` });
const numbers = (count: number): string =>
  `{"batch":[${Array.from({ length: count }, () => "1").join(",")}]}`;
const megabyte = 1_000_000;

type BatchAnswer = {
  success: true;
  rejected: { index: number; reason: string; message: string }[];
  rejectedCount?: number;
};

test("a batch has 2,500 messages: those over it are one rejected message with their count, in both modes of answering", async () => {
  const app = await startIngestApp();
  const batch = Array.from({ length: 2503 }, (_, n) => track(n));
  const { status, json } = await app.send("/v1/batch", { batch });
  const message = expect.stringContaining("3 from index 2500");
  expect([status, json]).toEqual([
    200,
    {
      success: true,
      rejected: [2500, 2501, 2502].map((index) => ({ index, reason: "batch_too_long", message })),
      duplicates: [],
    },
  ]);
  expect((await app.call("stats.get", {})).messages).toMatchObject({
    total: 2501,
    byState: { filtered: 2500, rejected: 1 },
  });
  const [surplus] = await app.messages({ state: "rejected" });
  expect(surplus).toMatchObject({
    reason: "batch_too_long",
    type: null,
    detail: message,
    raw: JSON.stringify(batch.slice(2500)).slice(1, -1),
  });
  expect(await app.api("messages.replay", { id: surplus?.id ?? "" })).toMatchObject({
    status: 409,
    body: { code: "not_replayable" },
  });

  await app.call("sources.update", { id: app.source.id, mode: "production" });
  expect(await app.send("/v1/batch", { batch })).toMatchObject({
    status: 200,
    text: `{"success":true}`,
  });
  expect((await app.messages({ state: "rejected" })).map(({ reason }) => reason)).toEqual([
    "batch_too_long",
    "batch_too_long",
  ]);
});

test("a batch of 2,500 is accepted whole", async () => {
  const app = await startIngestApp();
  expect(
    await app.send("/v1/batch", { batch: Array.from({ length: 2500 }, (_, n) => track(n)) }),
  ).toMatchObject({
    text: `{"success":true}`,
  });
});

test("250,000 numbers are answered with the first 100 and a count, and recorded as 2,501 messages", async () => {
  const app = await startIngestApp();
  const { text, json } = await app.send("/v1/batch", numbers(250_000));
  const { rejected, rejectedCount } = json as BatchAnswer;
  expect(text.length).toBeLessThan(20_000);
  expect([rejected.length, rejectedCount]).toEqual([100, 250_000]);
  expect(rejected.map(({ index, reason }) => [index, reason])).toEqual(
    Array.from({ length: 100 }, (_, index) => [index, "not_an_object"]),
  );
  expect((await app.call("stats.get", {})).messages).toMatchObject({
    total: 2501,
    byState: { rejected: 2501 },
  });
  const [newest] = (await app.call("messages.list", { limit: 1 })).items;
  const surplus = await app.call("messages.get", { id: newest?.id ?? "" });
  expect(surplus).toMatchObject({
    reason: "batch_too_long",
    detail: expect.stringContaining("247500 from index 2500"),
    rawSize: 494_999,
  });
  expect(JSON.stringify(surplus).length).toBeLessThan(100_000);
});

test("duplicates are listed the same way", async () => {
  const app = await startIngestApp();
  const batch = Array.from({ length: 301 }, () => track(1));
  const { json } = await app.send("/v1/batch", { batch });
  expect(json).toMatchObject({ success: true, rejected: [], duplicateCount: 300 });
  expect((json as { duplicates: unknown[] }).duplicates).toHaveLength(100);
});

/** That many bytes in that many members. */
function contextOf(bytes: number, members: number): Record<string, string> {
  const size = Math.floor(bytes / members) - 10;
  return Object.fromEntries(Array.from({ length: members }, (_, n) => [`k${n}`, "x".repeat(size)]));
}

test("a batch's defaults add at most 32,768 bytes to a message, and members of its own take their place", async () => {
  const app = await startIngestApp();
  const context = contextOf(33_000, 3);
  const batch = [
    track(1),
    { ...track(2), context: { k0: "", k1: "" } },
    { ...track(3), context: { other: 1 } },
  ];
  const { json } = await app.send("/v1/batch", { batch, context });
  expect((json as BatchAnswer).rejected).toEqual([
    { index: 0, reason: "message_too_large", message: expect.stringContaining("`context`") },
    { index: 2, reason: "message_too_large", message: expect.stringContaining("`context`") },
  ]);
  const integrations = { Some: { options: "x".repeat(33_000) } };
  expect((await app.send("/v1/batch", { batch: [track(4)], integrations })).json).toMatchObject({
    rejected: [{ reason: "message_too_large" }],
  });
});

test.each([
  ["300 KB", contextOf(300_000, 10), 0],
  ["300 KB of small members", contextOf(300_000, 20_000), 0],
  ["20 KB", contextOf(20_000, 10), 197],
  ["6 KB of small members", contextOf(6000, 400), 205],
  ["1 KB", contextOf(1000, 10), 2500],
])(
  "the defaults of a batch, %s, add a bounded number of bytes to all its messages together",
  async (_, context, accepted) => {
    const app = await startIngestApp();
    await app.destination({ sourceIds: [app.source.id] });
    await app.call("clock.set", { mode: "paused" });
    const batch = Array.from({ length: 2500 }, (_, n) => ({
      type: "track",
      userId: `u${n}`,
      event: "e",
    }));
    const { json, text } = await app.send("/v1/batch", { batch, context });
    const { rejected, rejectedCount = rejected?.length ?? 0 } = json as Partial<BatchAnswer>;
    expect(2500 - rejectedCount).toBeGreaterThanOrEqual(accepted);
    expect(2500 - rejectedCount).toBeLessThanOrEqual(accepted * 1.1);
    expect(text.length).toBeLessThan(50_000);
  },
);

test("accepted messages stay, however many are rejected and repeated: these have a quota, and the oldest go", async () => {
  const app = await startIngestApp();
  await app.call("settings.update", { maxRejectedBytes: megabyte, maxMessages: 1000 });
  const good = Array.from({ length: 1000 }, (_, n) => track(n));
  await app.send("/v1/batch", { batch: good });
  for (let n = 0; n < 3; n += 1) await app.send("/v1/batch", numbers(2500));
  for (let n = 0; n < 3; n += 1) await app.send("/v1/batch", { batch: good });
  await app.call("pipeline.settle", {});
  const states = async () => (await app.call("stats.get", {})).messages.byState;
  await expect.poll(async () => (await states()).rejected).toBe(0);
  const { filtered, duplicate } = await states();
  expect(filtered).toBe(1000);
  // Of 575 bytes each, and half of the last batch of them is kept.
  expect(duplicate).toBeGreaterThan(1000);
  expect(duplicate).toBeLessThan(2000);
  expect((await app.send("/v1/track", track(5))).json).toMatchObject({
    duplicates: [{ messageId: "m5" }],
  });
  expect((await app.send("/v1/track", {})).status).toBe(400);
  expect(await app.messages({ state: "rejected" })).toHaveLength(1);
});

test("requests with an unknown write key have a quota, the oldest go, and a key that is too long is not kept", async () => {
  const app = await startIngestApp();
  await app.call("settings.update", { maxUnknownKeyBytes: megabyte });
  const large = {
    batch: Array.from({ length: 13 }, (_, n) => ({
      ...track(n),
      properties: { filler: "x".repeat(30_000) },
    })),
  };
  for (const key of ["first", "second", "third", "fourth"])
    expect((await app.send("/v1/batch", large, { key })).status).toBe(401);
  const kept = async () =>
    (await app.call("unknownKeys.list", {})).items.map(({ writeKey }) => writeKey).toSorted();
  expect(await kept()).toEqual(["fourth", "third"]);
  const answer = await app.send(
    "/v1/track",
    { ...track(1), writeKey: "k".repeat(400_000) },
    { key: null },
  );
  expect([answer.status, answer.json]).toEqual([
    401,
    { success: false, code: "unknown_write_key", message: expect.stringContaining("too long") },
  ]);
  expect(answer.text.length).toBeLessThan(500);
  expect(await kept()).toEqual(["fourth", "third"]);
});

test("lists stay below 1 MB, whatever names clients choose, and lead to all messages", async () => {
  const app = await startIngestApp();
  const destination = await app.destination({ sourceIds: [app.source.id] });
  for (let n = 0; n < 60; n += 1)
    await app.send("/v1/track", { userId: "u", event: `${n} ${"\u0001".repeat(5000)}` });
  await destination.received();
  for (const name of ["messages.list", "deliveries.list"] as const) {
    const events: (string | null)[] = [];
    let cursor: string | undefined;
    do {
      const page = await app.call(name, {
        limit: 1000,
        ...(cursor === undefined ? {} : { cursor }),
      });
      expect(JSON.stringify(page).length).toBeLessThan(megabyte);
      events.push(...page.items.map(({ event }) => event));
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
    expect(new Set(events).size).toBe(60);
  }
});

test("a rejected body of any bytes is shown in less than 1 MB", async () => {
  const app = await startIngestApp();
  expect((await app.send("/v1/batch", `é${"\u0001".repeat(500_000)}`)).status).toBe(400);
  const [message] = await app.messages();
  expect(message).toMatchObject({ reason: "invalid_json", rawSize: 500_002 });
  expect(JSON.stringify(message).length).toBeLessThan(megabyte);
});
