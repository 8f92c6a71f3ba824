import { afterEach, expect, onTestFinished, test } from "vitest";
import { until } from "../../../test/support/running-app.ts";
import { post, receiver, stopAll } from "../../../test/support/sending.ts";
import { createSteppedClock } from "../../../test/support/stepped-clock.ts";
import type { DeliveryId } from "../../domain/ids.ts";
import { isProblem } from "../../domain/problem.ts";
import { openTestStore, request, startOfTime } from "../../store/store.fixture.ts";
import { createChangeFeed } from "../changes.ts";
import { Activity, Holds } from "../clock/activity.ts";
import { DeliveryThread } from "./delivery-thread.ts";
import { createTrust } from "./dial.ts";
import { Recorder } from "./recorder.ts";
import { Rounds } from "./rounds.ts";
import { createLanes } from "./lanes.ts";
import { openConfiguration } from "../configuration.fixture.ts";

afterEach(stopAll);

/** The rounds of one destination whose lanes have one connection, without their scheduler. */
function startRounds({ urls, waitMs }: { urls: string[]; waitMs?: number }) {
  const { store } = openTestStore();
  const clock = createSteppedClock(startOfTime);
  const changes = createChangeFeed();
  const configuration = openConfiguration({ store, clock, changes });
  configuration.updateSettings({ jitter: false });
  const destination = configuration.createDestination({
    name: "One",
    sourceIds: [],
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
  });
  onTestFinished(async () => {
    await rounds.abandon();
    recorder.stop();
    lanes.close();
    await thread?.stop();
    changes.stop();
  });
  return {
    ...{ store, clock, activity, lanes, rounds, destination, reported },
    begin(text = "{}"): void {
      store.commit([request([{ to: [destination.id], text }])]);
      for (const delivery of store.claim(destination.id, clock.now(), 1))
        rounds.begin([delivery], destination);
    },
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

test("bodies count while their round is in progress, and what waits in a lane until it is abandoned", async () => {
  const silent = await receiver({});
  const one = startRounds({ urls: [`http://127.0.0.1:${silent.port}/`] });
  const { id, webhooks } = one.destination;
  const state = () => [
    one.rounds.bytesUnderWay(id),
    one.rounds.attemptsUnderWay,
    one.rounds.isMoving(webhooks[0]!.id),
    one.rounds.hasOwn,
    one.rounds.hasOwnInLane,
  ];
  expect(state()).toEqual([0, 0, false, false, false]);
  one.begin('"one"');
  await silent.connection(0);
  expect(state()).toEqual([5, 1, true, true, false]);
  one.begin('"other"');
  expect(state()).toEqual([12, 1, true, true, true]);
  await one.rounds.abandon();
  expect(state()).toEqual([12, 0, false, true, false]);
  one.rounds.forget();
  expect(state()).toEqual([0, 0, false, false, false]);
  one.begin('"last"');
  expect(state()).toEqual([6, 1, true, true, false]);
  await silent.connection(1);
  silent.sockets[1]?.destroy();
  await one.activity.whenQuiet();
  expect(state()).toEqual([0, 0, false, false, false]);
  expect(one.store.countByState()).toMatchObject({ waiting: 1, sending: 2 });
});
