/** What `GET /api/stats` says of how much goes through. */

import { expect, test as base } from "vitest";
import { starting } from "../support/running-app.ts";

const test = base.extend("start", starting);

test("the rates are those of real time: messages that came in and attempts that went out, on a paused clock too", async ({ start }) => {
  const app = await start.app({ clock: "paused" });
  const [first, second] = [await start.receiver(200), await start.receiver(200)];
  await app.destination([first.url, second.url]);
  expect((await app.call("stats.get", {})).rates).toEqual({ ingestedPerSecond: 0, attemptsPerSecond: 0 });
  await app.sendMany(5);
  await app.ingest("/v1/batch", { batch: [{ type: "track", userId: "u" }, {}, { type: "nothing" }, null, 7] });
  await app.settle();
  // Over five seconds.
  expect((await app.call("stats.get", {})).rates).toEqual({ ingestedPerSecond: 2, attemptsPerSecond: 2 });
  await app.advance({ byMs: 3_600_000 });
  expect((await app.call("stats.get", {})).rates).toEqual({ ingestedPerSecond: 2, attemptsPerSecond: 2 });
  expect(await app.call("stats.get", {})).toMatchObject({
    messages: { total: 10, byState: { delivered: 5, rejected: 5 }, byType: { track: 6 } },
    deliveries: { total: 5, byState: { delivered: 5 } },
    queueDepth: 0,
  });
});
