/** The attempts of test events while they are under way; what they send is in `test/conformance/`. */

import { expect, onTestFinished, test } from "vitest";
import { receiver } from "../../test/support/forwarding.ts";
import { until } from "../../test/support/running-app.ts";
import { unwrap } from "../../test/support/running-endpoints.ts";
import { createSteppedClock } from "../../test/support/stepped-clock.ts";
import { defaultSettings, type Destination } from "../domain/configuration.ts";
import type { DestinationId, WebhookId } from "../domain/ids.ts";
import { documented } from "../domain/retry.ts";
import { Activity, Holds } from "./clock/activity.ts";
import { createTrust } from "./deliver/dial.ts";
import { createTestEvents } from "./test-events.ts";

const id = 1 as DestinationId;

function startTestEvents(urls: string[], timeoutMs = 3_600_000) {
  const activity = new Activity();
  const destination = {
    ...{ id, kind: "webhooks", name: "Out", enabled: false, sourceIds: [], mappings: [] },
    ...{ filters: [], payload: "documented", sharedSecret: null, createdAt: 0 },
    ...{ retryProfile: "documented", settings: {} },
    webhooks: urls.map((url, nth) => ({ id: (nth + 1) as WebhookId, url, headers: {} })),
  } as unknown as Destination;
  const tests = createTestEvents({
    configuration: {
      destination: (of) => (of === id ? destination : undefined),
      retryProfileOf: () => ({ ...documented, timeoutMs }),
      settings: () => defaultSettings,
    },
    ...{ clock: createSteppedClock(), activity, holds: new Holds(), trust: createTrust() },
    ...{ thread: undefined, isSuppressed: (userId: string) => userId === "gone" },
  });
  onTestFinished(() => tests.stop());
  return {
    ...{ tests, activity },
    /** How many attempts came to an end of their own. */
    ended: async (caller?: AbortSignal): Promise<number> =>
      unwrap(await tests.send(id, undefined, caller)).attempts.length,
  };
}

test("a caller that leaves ends the attempts of its own event, and no others", async () => {
  const { url, arrived } = await receiver(() => {});
  const { tests, activity, ended } = startTestEvents([url, url]);
  const [first, second] = [new AbortController(), new AbortController()];
  const sent = [ended(first.signal), ended(second.signal), ended()];
  await until(() => arrived.length === 6);
  let isOver = false;
  void Promise.race(sent.slice(1)).then(() => (isOver = true));
  first.abort();
  expect(await sent[0]).toBe(0);
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  expect([isOver, activity.isQuiet(true)]).toEqual([false, false]);
  second.abort();
  expect(await sent[1]).toBe(0);
  tests.stop();
  await sent[2];
  expect(activity.isQuiet(true)).toBe(true);
});

test("a caller that leaves afterwards ends nothing", async () => {
  const { url } = await receiver();
  const { ended } = startTestEvents([url]);
  const caller = new AbortController();
  expect(await ended(caller.signal)).toBe(1);
  const later = ended();
  caller.abort();
  expect(await later).toBe(1);
});

test("a stop ends all attempts", async () => {
  const { url, arrived } = await receiver(() => {});
  const { tests, activity, ended } = startTestEvents([url]);
  const sent = [ended(), ended()];
  await until(() => arrived.length === 2);
  tests.stop();
  expect(await Promise.all(sent)).toEqual([0, 0]);
  expect(activity.isQuiet(true)).toBe(true);
});

test("an attempt says whether a delivery would be tried again", async () => {
  const { url } = await receiver(({ response }, count) =>
    response.writeHead(count === 1 ? 400 : 503).end(),
  );
  const { url: silent } = await receiver(() => {});
  const { tests } = startTestEvents([url]);
  const { tests: impatient } = startTestEvents([silent], 50);
  const seen = [];
  for (const one of [tests, tests, impatient]) {
    const [attempt] = unwrap(await one.send(id, undefined)).attempts;
    seen.push([attempt?.outcome, attempt?.retryable]);
  }
  expect(seen).toEqual([
    ["http_error", false],
    ["http_error", true],
    ["timeout", true],
  ]);
});

test("an event of a suppressed user is refused, and one to no destination", async () => {
  const { tests } = startTestEvents([]);
  const event = { type: "track", userId: "gone", event: "e" };
  expect(await tests.send(id, event)).toMatchObject({ status: 400, code: "suppressed" });
  expect(await tests.send(9 as DestinationId, event)).toMatchObject({ status: 404 });
});
