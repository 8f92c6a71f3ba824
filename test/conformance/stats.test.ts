/** What `GET /api/stats` says of how much goes through, and of what keeps it from going on. */

import type { ServerResponse } from "node:http";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, onTestFinished, test as base, vi } from "vitest";
import { dataFileName } from "../../src/store/open.ts";
import { starting, until } from "../support/running-app.ts";

const test = base.extend("start", starting);

test("the rates are those of real time: messages that came in and attempts that went out, on a paused clock too", async ({
  start,
}) => {
  const still = vi.spyOn(performance, "now").mockReturnValue(performance.now());
  onTestFinished(() => still.mockRestore());
  const app = await start.app({ clock: "paused" });
  const [first, second] = [await start.receiver(200), await start.receiver(200)];
  await app.destination([first.url, second.url]);
  expect((await app.call("stats.get", {})).rates).toEqual({
    ingestedPerSecond: 0,
    attemptsPerSecond: 0,
  });
  await app.sendMany(5);
  await app.ingest("/v1/batch", {
    batch: [{ type: "track", userId: "u" }, {}, { type: "nothing" }, null, 7],
  });
  await app.settle();
  // Over five seconds.
  expect((await app.call("stats.get", {})).rates).toEqual({
    ingestedPerSecond: 2,
    attemptsPerSecond: 2,
  });
  await app.advance({ byMs: 3_600_000 });
  expect((await app.call("stats.get", {})).rates).toEqual({
    ingestedPerSecond: 2,
    attemptsPerSecond: 2,
  });
  expect(await app.call("stats.get", {})).toMatchObject({
    messages: { total: 10, byState: { delivered: 5, rejected: 5 }, byType: { track: 6 } },
    deliveries: { total: 5, byState: { delivered: 5 } },
    queueDepth: 0,
  });
});

test("an attempt that cannot be recorded is told with its reason while nothing comes in, until it is recorded", async ({
  start,
}) => {
  const data = await start.directory();
  const app = await start.app({ data });
  const receiver = await start.receiver(() => undefined);
  await app.destination([receiver.url]);
  // Who watches asks again when something changed, and not otherwise.
  const told: (string | null)[] = [];
  const areas: string[] = [];
  app.changes.subscribe((changes) => {
    areas.push(...changes.map(({ area }) => area));
    void app.call("stats.get", {}).then(({ trouble }) => told.push(trouble));
  });
  const waiting: ServerResponse[] = [];
  receiver.answer = (response) => void waiting.push(response);
  const id = await app.send();
  const response = await until(() => waiting[0]);
  // With this line everything was told that was before it.
  await app.call("sources.create", { name: "Another" });
  await until(() => areas.includes("sources"));
  // Whoever reads states writes them first, which is refused while the file is locked.
  expect((await app.delivery(id)).state).toBe("sending");
  const other = new Database(join(data, dataFileName));
  other.exec("BEGIN IMMEDIATE");
  response.end();
  expect(await until(() => told.at(-1) ?? undefined)).toMatch(/locked by another program/);
  expect((await app.delivery(id)).state).toBe("sending");
  // Neither is the time of the clock stored.
  expect(await app.refused("clock.set", { mode: "real" })).toMatchObject({ status: 503 });
  other.exec("ROLLBACK");
  other.close();
  await until(() => told.at(-1) === null);
  await app.settle();
  expect((await app.delivery(id)).state).toBe("delivered");
});
