import { once } from "node:events";
import type { Worker } from "node:worker_threads";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { until } from "../../../test/support/running-app.ts";
import { answering, post, receiver, stopAll } from "../../../test/support/sending.ts";
import { createSteppedClock } from "../../../test/support/stepped-clock.ts";
import type { Webhook } from "../../domain/configuration.ts";
import type { DeliveryId, WebhookId } from "../../domain/ids.ts";
import { isProblem } from "../../domain/problem.ts";
import { openTestStore, request, startOfTime } from "../../store/store.fixture.ts";
import { createChangeFeed } from "../changes.ts";
import { Activity, Holds } from "../clock/activity.ts";
import { DeliveryThread } from "./delivery-thread.ts";
import { createTrust } from "./dial.ts";
import { Recorder } from "./recorder.ts";
import type { AttemptTrace, DeliveryTraces } from "../traces/traces.ts";
import { bytesOfRound, Rounds } from "./rounds.ts";
import { createLanes } from "./lanes.ts";
import { openConfiguration } from "../configuration.fixture.ts";

afterEach(stopAll);

/** The rounds of one destination whose lanes have one connection, without their scheduler. */
function startRounds({
  urls,
  waitMs,
  retryProfile = "documented",
  traces,
}: {
  urls: string[];
  waitMs?: number;
  retryProfile?: string;
  traces?: DeliveryTraces;
}) {
  const { store } = openTestStore();
  const clock = createSteppedClock(startOfTime);
  const changes = createChangeFeed();
  const configuration = openConfiguration({ store, clock, changes });
  configuration.updateSettings({ jitter: false });
  const destination = configuration.createDestination({
    name: "One",
    sourceIds: [],
    retryProfile,
    webhooks: urls.map((url) => ({ url, headers: {} })),
  });
  if (isProblem(destination)) throw new Error(destination.message);
  const reported: unknown[] = [];
  const report = (error: unknown): void => void reported.push(error);
  const trust = createTrust();
  const thread =
    waitMs === undefined
      ? undefined
      : new DeliveryThread({ trust, ownPorts: [], waitMs, onTrouble: () => {}, report });
  const lanes = createLanes({ trust, thread, idleMs: 3_600_000, connections: () => 1, report });
  const activity = new Activity();
  const recorder: Recorder = new Recorder({
    store,
    changes,
    attemptsUnderWay: () => rounds.attemptsUnderWay,
    onReady: () => recorder.flush(),
    onRecorded: () => {},
    report,
  });
  const rounds: Rounds = new Rounds({
    ...{ configuration, clock, activity, lanes, recorder, changes, holds: new Holds() },
    originOf: () => "own",
    traces,
  });
  onTestFinished(async () => {
    await rounds.abandon();
    recorder.stop();
    lanes.close();
    await thread?.stop();
    changes.stop();
  });
  const beginDue = (): void => {
    const current = configuration.destination(destination.id) ?? destination;
    for (const delivery of store.claim(destination.id, clock.now(), 1))
      rounds.begin([delivery], current);
  };
  return {
    ...{ store, clock, configuration, activity, lanes, rounds, destination, reported },
    feed: changes,
    begin(text = "{}"): void {
      store.commit([request([{ to: [destination.id], text }])]);
      beginDue();
    },
    beginDue,
    /** What became of the first delivery. */
    changes: () =>
      store
        .deliveryDetails(1 as DeliveryId)
        ?.transitions.map(({ state, reason, nextAttemptAt: at }) => [
          ...[state, reason],
          at === null ? null : at - startOfTime,
        ]),
  };
}

test("a round whose only attempt comes back unsent starts when it is sent again", async () => {
  const there = await receiver({
    onRequest(socket) {
      // The first connection is kept busy.
      if (socket !== there.sockets[0]) socket.write("HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n");
    },
  });
  const one = startRounds({ urls: [`http://127.0.0.1:${there.port}/`], waitMs: 1 });
  const { id, url } = one.destination.webhooks[0]!;
  const other = post(one.lanes.of(id).sender, url);
  await there.connection(0);
  one.begin();
  /** Resolves when what is under way now has come back, and is under way again. */
  const whenBack = async (): Promise<unknown> => {
    const [before] = one.rounds.underWay();
    return await until(() => {
      const [now] = one.rounds.underWay();
      return now !== undefined && now.startedAt !== before?.startedAt;
    });
  };
  await whenBack();
  one.clock.advanceBy(60_000);
  await whenBack();
  other.abort("stopped");
  await one.activity.whenQuiet();
  expect(one.store.deliveryDetails(1 as DeliveryId)).toMatchObject({
    attempts: [{ startedAt: startOfTime + 60_000, round: 1 }],
    transitions: [{ state: "waiting", nextAttemptAt: startOfTime + 70_000 }],
  });
  expect(one.reported).toEqual([]);
});

test("one that comes back unsent is not sent as its destination was before", async () => {
  const silent = await receiver({});
  const one = startRounds({ urls: [`http://127.0.0.1:${silent.port}/`], waitMs: 1 });
  const { id, url } = one.destination.webhooks[0]!;
  const other = post(one.lanes.of(id).sender, url);
  await silent.connection(0);
  one.begin();
  expect(one.rounds.attemptsUnderWay).toBe(1);
  one.configuration.updateDestination(one.destination.id, { enabled: false });
  one.rounds.onConfigurationChanged();
  expect(one.rounds.attemptsUnderWay).toBe(1);
  await one.activity.whenQuiet();
  expect([one.changes(), one.rounds.bytesOfAll]).toEqual([[["queued", "disabled", null]], 0]);
  expect([one.rounds.hasOwn, one.lanes.hasWaiting()]).toEqual([false, false]);
  other.abort("stopped");
});

test("rounds count with their bodies while they are in progress, and what waits in a lane until it is abandoned", async () => {
  const silent = await receiver({});
  const one = startRounds({ urls: [`http://127.0.0.1:${silent.port}/`] });
  const { id, webhooks } = one.destination;
  const bytes = (rounds: number, ofBodies: number): number[] =>
    Array(2).fill(rounds * bytesOfRound + ofBodies) as number[];
  const state = () => [
    one.rounds.bytesUnderWay(id),
    one.rounds.bytesOfAll,
    one.rounds.attemptsUnderWay,
    one.rounds.isMoving(webhooks[0]!.id),
    one.rounds.hasOwn,
    one.rounds.hasOwnInLane,
  ];
  expect(state()).toEqual([0, 0, 0, false, false, false]);
  one.begin('"one"');
  await silent.connection(0);
  expect(state()).toEqual([...bytes(1, 5), 1, true, true, false]);
  one.begin('"other"');
  expect(state()).toEqual([...bytes(2, 12), 1, true, true, true]);
  await one.rounds.abandon();
  expect(state()).toEqual([...bytes(2, 12), 0, false, true, false]);
  one.rounds.forget();
  expect(state()).toEqual([0, 0, 0, false, false, false]);
  one.begin('"last"');
  expect(state()).toEqual([...bytes(1, 6), 1, true, true, false]);
  await silent.connection(1);
  silent.sockets[1]?.destroy();
  await one.activity.whenQuiet();
  expect(state()).toEqual([0, 0, 0, false, false, false]);
  expect(one.store.countByState()).toMatchObject({ waiting: 1, sending: 2 });
});

const saying = (status: string, head = ""): string =>
  `HTTP/1.1 ${status}\r\n${head}Content-Length: 0\r\n\r\n`;
const urlOf = ({ port }: { port: number }): string => `http://127.0.0.1:${port}/`;

test("a webhook that is not to be tried again is left out, and without any left the delivery has failed", async () => {
  const [gone, busy] = [await answering(saying("400 No")), await answering(saying("503 No"))];
  const one = startRounds({ urls: [urlOf(gone), urlOf(busy)] });
  const counts = () =>
    [gone, busy].map(({ received }) => received.join("").split("POST").length - 1);
  one.begin();
  await one.activity.whenQuiet();
  one.clock.advanceBy(10_000);
  one.beginDue();
  await one.activity.whenQuiet();
  expect(counts()).toEqual([1, 2]);
  one.configuration.updateDestination(one.destination.id, {
    webhooks: [{ url: urlOf(gone), headers: {} }],
  });
  one.clock.advanceBy(20_000);
  one.beginDue();
  await one.activity.whenQuiet();
  expect(counts()).toEqual([1, 2]);
  expect(one.changes()).toEqual([
    ["waiting", "retry", 10_000],
    ["waiting", "retry", 30_000],
    ["failed", "no_webhook_left", null],
  ]);
  expect(one.rounds.hasOwn).toBe(false);
});

test("a delivery of which every webhook has refused fails, and one whose destination is gone is cancelled", async () => {
  for (const [status, isDeleted, state, reason] of [
    ["400 No", false, "failed", "not_retried"],
    ["503 No", true, "cancelled", "destination_deleted"],
  ] as const) {
    const there = await receiver({
      onRequest(socket) {
        if (isDeleted) one.configuration.deleteDestination(one.destination.id);
        socket.write(saying(status));
      },
    });
    const one = startRounds({ urls: [urlOf(there), urlOf(there)] });
    one.begin();
    await one.activity.whenQuiet();
    expect(one.changes()).toEqual([[state, reason, null]]);
  }
});

test("the next round counts from the first attempt of this one, and nothing starts after the window", async () => {
  const there = await answering(saying("503 No"));
  const silent = await receiver({});
  for (const [waited, changes, attempts] of [
    [60_000, [["waiting", "retry", 10_000]], 2],
    [4 * 3_600_000, [["waiting", "retry", 10_000]], 2],
    [4 * 3_600_000 + 1, [["expired", "window_closed", null]], 1],
  ] as const) {
    const one = startRounds({ urls: [urlOf(there), urlOf(there)] });
    const second = one.destination.webhooks[1]!;
    const before = post(one.lanes.of(second.id).sender, urlOf(silent));
    let free = (): void => {};
    one.lanes.of(second.id).add({
      url: urlOf(silent),
      start: (end) => (free = () => end(() => "slow")),
    });
    one.begin();
    await until(() => one.rounds.attemptsUnderWay === 0);
    one.clock.advanceBy(waited);
    free();
    await one.activity.whenQuiet();
    before.abort("stopped");
    expect(one.changes()).toEqual(changes);
    expect(one.store.deliveryDetails(1 as DeliveryId)?.attempts).toHaveLength(attempts);
  }
});

test("a delivery that waited for its lane until its window had closed expires without an attempt", async () => {
  const there = await answering(saying("503 No"));
  const one = startRounds({ urls: [urlOf(there)] });
  one.begin();
  await one.activity.whenQuiet();
  one.clock.advanceBy(10_000);
  const { id } = one.destination.webhooks[0]!;
  let free = (): void => {};
  one.lanes.of(id).add({ url: urlOf(there), start: (end) => (free = () => end(() => "slow")) });
  one.beginDue();
  one.clock.advanceBy(4 * 3_600_000 - 10_000 + 1);
  free();
  await one.activity.whenQuiet();
  expect(one.changes()).toEqual([
    ["waiting", "retry", 10_000],
    ["expired", "window_closed", null],
  ]);
  expect(there.received.join("").split("POST")).toHaveLength(2);
});

test.each([
  [["100", "50"], 100_000],
  [["50", "100"], 100_000],
  [[null, "70"], 70_000],
  [["70", null], 70_000],
  [[null, null], 5_000],
  [["1", "0"], 5_000],
])("the latest time that receivers ask for in one round, %j, is kept to", async (asked, next) => {
  const urls: string[] = [];
  for (const seconds of asked) {
    const head = seconds === null ? "" : `Retry-After: ${seconds}\r\n`;
    urls.push(urlOf(await answering(saying("503 No", head))));
  }
  const one = startRounds({ urls, retryProfile: "standard-webhooks" });
  one.begin();
  await one.activity.whenQuiet();
  expect(one.changes()).toEqual([["waiting", "retry", next]]);
});

test("a profile that does not honour it passes over what a receiver asks for, and a failed connection asks for nothing", async () => {
  const there = await answering(saying("503 No", "Retry-After: 100\r\n"));
  const gone = await receiver({});
  await gone.stop();
  for (const [url, retryProfile, next] of [
    [urlOf(there), "documented", 10_000],
    [urlOf(gone), "standard-webhooks", 5_000],
  ] as const) {
    const one = startRounds({ urls: [url], retryProfile });
    one.begin();
    await one.activity.whenQuiet();
    expect(one.changes()).toEqual([["waiting", "retry", next]]);
  }
});

test("an attempt at the very end of its window is made, and its delivery expires after it", async () => {
  const there = await answering(saying("503 No"));
  const one = startRounds({ urls: [urlOf(there)] });
  one.begin();
  await one.activity.whenQuiet();
  one.clock.advanceBy(4 * 3_600_000);
  one.beginDue();
  await one.activity.whenQuiet();
  expect(one.changes()).toEqual([
    ["waiting", "retry", 10_000],
    ["expired", "window_closed", null],
  ]);
  expect(there.received.join("").split("POST")).toHaveLength(3);
});

test("a delivery that succeeds at two webhooks is delivered once", async () => {
  const there = await answering(saying("200 OK"));
  const one = startRounds({ urls: [urlOf(there), urlOf(there)] });
  const { record } = one.store;
  const states: string[] = [];
  one.store.record = (attempts, transitions) => {
    states.push(...transitions.map(({ state }) => state));
    record(attempts, transitions);
  };
  one.begin();
  await one.activity.whenQuiet();
  expect([states, there.received.join("").split("POST").length]).toEqual([["delivered"], 3]);
});

test("a delivery whose attempt the thread lost is queued again, unless it succeeded elsewhere", async () => {
  for (const succeeds of [false, true]) {
    const there = await answering(saying("200 OK"));
    const silent = await receiver({});
    const urls = succeeds ? [urlOf(there), urlOf(silent)] : [urlOf(silent)];
    const one = startRounds({ urls, waitMs: 3_600_000 });
    const starting = once(process, "worker") as Promise<[Worker]>;
    one.begin();
    const [worker] = await starting;
    await until(() => silent.received[0]?.endsWith("{}"));
    if (succeeds) await until(() => one.store.countByState().delivered === 1);
    await worker.terminate();
    await one.activity.whenQuiet();
    expect(one.store.countByState()[succeeds ? "delivered" : "queued"]).toBe(1);
    expect(one.changes()).toEqual(succeeds ? [] : [["queued", "interrupted", null]]);
    expect([one.rounds.hasOwn, one.rounds.bytesOfAll]).toEqual([false, 0]);
    expect(one.reported.map(String)).toEqual(["Error: The delivery thread has ended."]);
  }
});

test("who traces hears of each attempt and of the end of each round, and adds a header unless there is one", async () => {
  const told: unknown[] = [];
  const traces: DeliveryTraces = {
    begin({ id }, { id: webhook }): AttemptTrace {
      told.push(["begin", id, webhook]);
      return { traceparent: `of ${webhook}`, end: ({ outcome }) => void told.push(outcome) };
    },
    endRound: ({ id }, succeeded) => void told.push(["end", id, succeeded]),
    forget: () => void told.push("forget"),
  };
  const there = await answering(saying("200 OK"));
  const busy = await answering(saying("503 No"));
  const one = startRounds({ urls: [urlOf(there), urlOf(busy)], traces });
  const [first, second] = one.destination.webhooks as [Webhook, Webhook];
  one.configuration.updateDestination(one.destination.id, {
    webhooks: [first, { ...second, headers: { TraceParent: "own" } }],
  });
  one.begin();
  await one.activity.whenQuiet();
  expect(told.slice(0, 2)).toEqual([
    ["begin", 1, first.id],
    ["begin", 1, second.id],
  ]);
  expect(new Set(told.slice(2, 4))).toEqual(new Set(["http_error", "success"]));
  expect(told.slice(4)).toEqual([["end", 1, true]]);
  expect(there.received[0]).toContain(`\r\ntraceparent: of ${first.id}\r\n`);
  expect(busy.received[0]?.match(/traceparent: .*/gi)).toEqual(["TraceParent: own"]);
  one.rounds.forget();
  expect(told.at(-1)).toBe("forget");
});

test("a mapping's request goes through the lane of its webhook to its own address, with a type if it has a body", async () => {
  const there = await answering(saying("200 OK"));
  const one = startRounds({ urls: ["http://127.0.0.1:1/", "http://127.0.0.1:2/"] });
  const [, second] = one.destination.webhooks as [Webhook, Webhook];
  const begin = async (webhookId: WebhookId, payload: string): Promise<void> => {
    one.store.commit([request([{ to: [one.destination.id] }])]);
    const [delivery] = one.store.claim(one.destination.id, one.clock.now(), 1);
    if (delivery === undefined) throw new Error("nothing was claimed");
    const headers: [string, string][] = [["x-own", "1"]];
    const mapped = { webhookId, url: `${urlOf(there)}mapped`, method: "PUT", headers };
    one.rounds.begin(
      [{ ...delivery, payload, mapped: { ...mapped, signed: null, messages: [] } }],
      one.destination,
    );
    expect(one.lanes.load(second.id)).toBe(webhookId === second.id ? 1 : 0);
    await one.activity.whenQuiet();
  };
  const told = vi.spyOn(one.feed, "noteMany");
  await begin(second.id, "{}");
  expect(told.mock.calls.slice(0, 2).map(([area, ids]) => [area, ids])).toEqual([
    ["deliveries", [1]],
    ["messages", [1]],
  ]);
  await begin(second.id, "");
  const [first, ...others] = there.received.join("").split(/(?=PUT)/);
  expect(first).toMatch(/^PUT \/mapped HTTP\/1.1\r\n/);
  const named = (text = ""): string[] | null => text.toLowerCase().match(/content-type|x-own/g);
  expect([first, ...others].map(named)).toEqual([["x-own", "content-type"], ["x-own"]]);
  expect(one.store.countByState().delivered).toBe(2);
  await begin(99 as WebhookId, "{}");
  expect(one.store.countByState()).toMatchObject({ delivered: 2, failed: 1 });
});

test("deliveries that are begun together are told together, with their messages", async () => {
  const silent = await receiver({});
  const one = startRounds({ urls: [urlOf(silent)] });
  const { id } = one.destination;
  const mappedTo = [{ to: id, key: "k", size: 2 }];
  one.store.commit([request([{ mappedTo }, { mappedTo }, { to: [id] }])]);
  const claimed = one.store.claim(id, one.clock.now(), 9);
  const told = vi.spyOn(one.feed, "noteMany");
  one.rounds.begin(claimed, one.destination);
  expect(told.mock.calls.map(([area, ids, , added]) => [area, ids, added])).toEqual([
    ["deliveries", claimed.map((each) => each.id), false],
    ["messages", expect.arrayContaining([1, 2, 3]) as number[], false],
  ]);
  await one.rounds.abandon();
});
