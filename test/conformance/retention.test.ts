/** Retention as its settings say: by itself, in wall-clock time, and past what is pinned. */

import { expect, test as base } from "vitest";
import { starting, until } from "../support/running-app.ts";
import type { RunningApp } from "../support/running-app.ts";

const test = base.extend("start", starting);

const eventsOf = async (app: RunningApp): Promise<(string | null)[]> =>
  (await app.call("messages.list", {})).items.map(({ event }) => event);

test("the settings say how many messages are kept; the oldest go by themselves, and a pinned one stays", async ({
  start,
}) => {
  const data = await start.directory();
  const app = await start.app({ data });
  const receiver = await start.receiver(200);
  await app.destination([receiver.url]);
  const pinned = await app.send({ event: "Pinned" });
  await app.call("messages.pin", { id: pinned, pinned: true });
  for (let n = 1; n <= 6; n += 1) await app.send({ event: `Event ${n}` });
  await app.settle();
  await app.call("settings.update", { maxMessages: 3 });
  await app.stop();

  const again = await start.app({ data });
  await until(async () => (await again.call("messages.list", {})).total === 3);
  expect(await eventsOf(again)).toEqual(["Event 6", "Event 5", "Pinned"]);
  expect((await again.call("deliveries.list", {})).total).toBe(3);
});

test("they say how old a message may be, in wall-clock time: a clock that is far ahead makes nothing older", async ({
  start,
}) => {
  const data = await start.directory();
  const app = await start.app({ data });
  const receiver = await start.receiver(200);
  await app.destination([receiver.url]);
  await app.send({ event: "Kept" });
  await app.advance({ byMs: 30 * 24 * 3_600_000 });
  await app.call("settings.update", { maxAgeMs: 24 * 3_600_000 });
  await app.stop();

  const again = await start.app({ data });
  await again.send({ event: "Later" });
  await again.settle();
  expect(await eventsOf(again)).toEqual(["Later", "Kept"]);
  await again.call("settings.update", { maxAgeMs: 1 });
  await again.stop();
  const last = await start.app({ data });
  await until(async () => (await last.call("messages.list", {})).total === 0);
});
