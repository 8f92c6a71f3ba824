/** The same messageId from the same source within 24 hours of the clock is accepted once. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { startIngestApp, type IngestApp } from "../support/ingest-app.ts";

const message = { type: "track", userId: "u", event: "e", messageId: "m1" };
const hourMs = 3_600_000;

const directories: string[] = [];
afterEach(() => {
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true });
});

async function states(app: IngestApp): Promise<string[]> {
  return (await app.messages()).map(({ state }) => state);
}

test("a repeat is recorded, shown as such, answered with 200 and not delivered again", async () => {
  const app = await startIngestApp();
  const destination = await app.destination({ sourceIds: [app.source.id] });
  expect((await app.send("/v1/track", message)).json).toEqual({ success: true });
  // Also as another type, and with other contents: a messageId names one message.
  expect((await app.send("/v1/page", { userId: "other", messageId: "m1" })).json).toEqual({
    success: true,
    rejected: [],
    duplicates: [{ index: 0, messageId: "m1" }],
  });
  expect(await destination.received()).toHaveLength(1);
  const [original, repeat] = await app.messages();
  expect(repeat).toMatchObject({
    state: "duplicate",
    reason: "duplicate",
    duplicateOf: original?.id,
    decisions: [],
    deliveries: [],
  });
});

test("in one batch, and in requests that share a commit", async () => {
  const app = await startIngestApp();
  const other = { ...message, messageId: "m2" };
  const { json } = await app.send("/v1/batch", { batch: [message, other, message, message] });
  expect(json).toMatchObject({ duplicates: [{ index: 2 }, { index: 3 }] });
  await Promise.all(
    Array.from({ length: 20 }, () => app.send("/v1/track", { ...message, messageId: "m3" })),
  );
  expect((await app.call("stats.get", {})).messages.byState).toMatchObject({
    filtered: 3,
    duplicate: 21,
  });
});

test("24 hours go by the clock, and count from the message that was accepted", async () => {
  const app = await startIngestApp();
  await app.call("clock.set", { mode: "paused" });
  await app.send("/v1/track", message);
  await app.call("clock.advance", { byMs: 23 * hourMs });
  await app.send("/v1/track", message);
  await app.call("clock.advance", { byMs: hourMs });
  await app.send("/v1/track", message);
  await app.call("clock.advance", { byMs: 1 });
  await app.send("/v1/track", message);
  await app.send("/v1/track", message);
  expect(await states(app)).toEqual([
    "filtered",
    "duplicate",
    "duplicate",
    "filtered",
    "duplicate",
  ]);
});

test("another source's message with the same messageId is another message", async () => {
  const app = await startIngestApp();
  await app.call("sources.create", { name: "Other", writeKey: "other" });
  await app.send("/v1/track", message);
  await app.send("/v1/track", message, { key: "other" });
  await app.send("/v1/track", message, { key: "other" });
  expect(await states(app)).toEqual(["filtered", "filtered", "duplicate"]);
});

test("a source can turn it off, and on again", async () => {
  const app = await startIngestApp({ source: { deduplicate: false } });
  const destination = await app.destination({ sourceIds: [app.source.id] });
  await app.send("/v1/batch", { batch: [message, message] });
  expect(await destination.received()).toHaveLength(2);
  await app.call("sources.update", { id: app.source.id, deduplicate: true });
  await app.send("/v1/track", message);
  expect(await states(app)).toEqual(["delivered", "delivered", "duplicate"]);
});

test("a rejected message is no original, and is itself rejected each time", async () => {
  const app = await startIngestApp();
  const bad = { type: "track", userId: "u", messageId: "m1" };
  await app.send("/v1/batch", { batch: [bad, bad, message, bad, message] });
  expect(await states(app)).toEqual(["rejected", "rejected", "filtered", "rejected", "duplicate"]);
});

test("ids of any characters are told apart", async () => {
  const app = await startIngestApp();
  const ids = [
    "ß",
    "ss",
    "m\u0000",
    "m",
    "\u0000",
    "M",
    "m ",
    "é",
    "e\u0301",
    "x".repeat(20_000),
    "\ud83d\ude00",
  ];
  const batch = ids.map((messageId) => ({ ...message, messageId }));
  await app.send("/v1/batch", { batch });
  await app.send("/v1/batch", { batch });
  expect((await app.messages()).map(({ state, messageId }) => [state, messageId])).toEqual([
    ...ids.map((id) => ["filtered", id]),
    ...ids.map((id) => ["duplicate", id]),
  ]);
});

test("an id with half of a character in it is known again as well", async () => {
  const app = await startIngestApp();
  const half = `{"userId":"u","event":"e","messageId":"m\\ud800"}`;
  await app.send("/v1/track", half);
  await app.send("/v1/track", half);
  expect(await states(app)).toEqual(["filtered", "duplicate"]);
});

test("across a restart, and everything else is still there too", async () => {
  const data = mkdtempSync(join(tmpdir(), "hookyard-ingest-"));
  directories.push(data);
  const before = await startIngestApp({ data });
  const destination = await before.destination({ sourceIds: [before.source.id] });
  await before.call("clock.set", { mode: "paused" });
  const batch = [
    ...Array.from({ length: 300 }, (_, place) => ({ ...message, messageId: `m${place}` })),
    { type: "track" },
  ];
  await before.send("/v1/batch", { batch });
  await before.send("/v1/track", message, { key: "nobody" });
  await destination.received();
  const record = await before.messages();
  await before.stop();

  const after = await startIngestApp({ data });
  expect(await after.messages()).toEqual(record);
  expect(record.map(({ state }) => state)).toEqual([
    ...Array.from({ length: 300 }, () => "delivered"),
    "rejected",
  ]);
  expect((await after.call("unknownKeys.list", {})).items).toMatchObject([
    { writeKey: "nobody", requests: 1 },
  ]);
  await after.send("/v1/batch", { batch: [batch[0], batch[299]] });
  await after.call("clock.advance", { byMs: 24 * hourMs + 1 });
  await after.send("/v1/batch", { batch: [batch[0], { ...message, messageId: "new" }] });
  await after.call("pipeline.settle", {});
  expect((await states(after)).slice(-4)).toEqual([
    "duplicate",
    "duplicate",
    expect.not.stringMatching("duplicate"),
    expect.not.stringMatching("duplicate"),
  ]);
});
