/**
 * Times of clients that live by the machine's time, while the pipeline's clock is elsewhere: the
 * source's `correctClockSkew: "auto"`.
 */

import { readFileSync } from "node:fs";
import { Analytics } from "@segment/analytics-node";
import { expect, test } from "vitest";
import { startIngestApp, writeKey, type IngestApp } from "../support/ingest-app.ts";

const day = 86_400_000;

/** What a real client sent, with the machine's time in the place of its own. */
function captured(name: string): { body: string; headers: Record<string, string> } {
  const request = readFileSync(new URL(`./wire/${name}.http`, import.meta.url), "utf8");
  const now = new Date().toISOString();
  const body = (/^\{.*\}\s*$/m.exec(request)?.[0] ?? "")
    .replaceAll(/2026-11-21T[\d:]+\+0000/g, `${now.slice(0, 19)}+0000`)
    .replaceAll(/2026-11-21T[\d:.]+Z/g, `${now.slice(0, 23)}456789Z`);
  return { body, headers: { "user-agent": /^User-Agent: (.*)$/m.exec(request)?.[1] ?? "" } };
}

const tracks = (app: IngestApp) => app.messages({ type: "track" });

/** The users of the audience "Order Completed within seven days". */
async function buyers(app: IngestApp): Promise<unknown[]> {
  await app.call("pipeline.settle", {});
  const rule = { event: "Order Completed", withinDays: 7 };
  const { sample } = await app.call("audiences.preview", { rule });
  return sample.map(({ userId }) => userId);
}

async function startMoved(byMs: number): Promise<IngestApp> {
  const app = await startIngestApp();
  if (byMs !== 0) await app.call("clock.advance", { byMs });
  return app;
}

test.for(["v120", "v200", "v211", "v330", "node-3.1.0"])(
  "after eight days, what %s sends now is within the last seven",
  async (name) => {
    const app = await startMoved(8 * day);
    const { body, headers } = captured(name);
    await app.send("/v1/batch", body, { headers });
    const [track] = await tracks(app);
    const off = Date.parse(track?.receivedAt ?? "") - Date.parse(track?.timestamp ?? "");
    expect(Math.abs(off)).toBeLessThan(120_000);
    expect(track?.warnings.join()).toContain("the clock was moved by as much");
    expect(await buyers(app)).toEqual(["user-0"]);
  },
);

test("so is what a real library sends", async () => {
  const app = await startMoved(8 * day);
  const client = new Analytics({ writeKey, host: app.url });
  client.track({ userId: "user-1", event: "Order Completed" });
  await client.closeAndFlush();
  expect(await buyers(app)).toEqual(["user-1"]);
});

test("nothing changes while the clock shows the machine's time, or when the source says so", async () => {
  const app = await startMoved(0);
  const { body } = captured("v330");
  await app.send("/v1/batch", body);
  await app.call("clock.advance", { byMs: 8 * day });
  for (const correctClockSkew of [false, true] as const) {
    await app.call("sources.update", { id: app.source.id, correctClockSkew, deduplicate: false });
    await app.send("/v1/batch", body);
  }
  const given = /"timestamp":"([\d:T.-]{23})/.exec(body)?.[1];
  const [unmoved, kept, corrected] = await tracks(app);
  expect([unmoved?.timestamp, kept?.timestamp]).toEqual([`${given}Z`, `${given}Z`]);
  expect(unmoved?.warnings.join()).not.toContain("moved");
  expect(corrected?.timestamp.slice(0, 19)).toBe(corrected?.receivedAt.slice(0, 19));
});

test("a replay, one of a replay, and an adopted request get the times that they had", async () => {
  const app = await startMoved(8 * day);
  const now = new Date().toISOString();
  const batch = [{ type: "track", userId: "u", event: "Order Completed", timestamp: now }];
  await app.send("/v1/batch", { batch, sentAt: now });
  await app.send("/v1/batch", { batch, sentAt: now }, { key: "wk_new" });
  // Were it read now, it would be older than a minute.
  await app.call("clock.advance", { byMs: 600_000 });
  const [first] = await tracks(app);
  const replayed = await app.call("messages.replay", { id: first?.id ?? "" });
  await app.call("clock.advance", { byMs: 600_000 });
  await app.call("messages.replay", { id: replayed.id });
  for (const { timestamp, warnings } of await tracks(app))
    expect([timestamp, warnings]).toEqual([first?.timestamp, first?.warnings]);
  await app.call("unknownKeys.adopt", { writeKey: "wk_new", name: "New" });
  const adopted = (await tracks(app)).at(-1);
  const off = Date.parse(adopted?.timestamp ?? "") - Date.parse(first?.timestamp ?? "");
  expect(Math.abs(off)).toBeLessThan(60_000);
});

test("so do those of a source that corrects times by sentAt, and one without a time gets that of the replay", async () => {
  const app = await startMoved(8 * day);
  await app.call("sources.update", { id: app.source.id, correctClockSkew: true });
  const order = { type: "track", userId: "u", event: "Order Completed" };
  const [timestamp, sentAt] = ["2026-11-01T00:00:00.000Z", "2026-11-01T00:10:00.000Z"];
  await app.send("/v1/batch", { batch: [{ ...order, timestamp }, order], sentAt });
  const [given, none] = await tracks(app);
  const off = Date.parse(given?.receivedAt ?? "") - Date.parse(given?.timestamp ?? "");
  expect(off).toBe(600_000);
  await app.call("clock.advance", { byMs: 600_000 });
  const replayed = await app.call("messages.replay", { id: given?.id ?? "" });
  const again = await app.call("messages.replay", { id: replayed.id });
  expect([replayed.timestamp, again.timestamp]).toEqual([given?.timestamp, given?.timestamp]);
  const other = await app.call("messages.replay", { id: none?.id ?? "" });
  expect(other.timestamp).toBe(other.receivedAt);
});
