import { expect, onTestFinished, test } from "vitest";
import { createSteppedClock } from "../../../test/support/stepped-clock.ts";
import type { DeliveryId, DestinationId, JobId, MessageRowId } from "../../domain/ids.ts";
import type { DeliveryState } from "../../domain/states.ts";
import { moveTo, openTestStore, request, startOfTime } from "../../store/store.fixture.ts";
import { createChangeFeed } from "../changes.ts";
import { Activity } from "../clock/activity.ts";
import { nextTurn } from "../real-time.ts";
import { createDeliveries } from "./deliveries.ts";
import { openConfiguration } from "../configuration.fixture.ts";

/** Two destinations, and so many failed deliveries of the first. */
function startDeliveries(failed: number) {
  const { db, store } = openTestStore();
  for (const name of ["One", "Other"]) {
    store.insertDestination({
      ...{ name, enabled: true, sourceIds: [], webhooks: [], sharedSecret: null },
      ...{ retryProfile: "documented", payload: "documented", filters: [], createdAt: startOfTime },
    });
  }
  const changes = createChangeFeed();
  onTestFinished(() => changes.stop());
  const activity = new Activity();
  const seen = {
    kicks: 0,
    reported: [] as unknown[],
    noted: [] as string[],
    many: [] as unknown[],
  };
  const clock = createSteppedClock(startOfTime);
  const configuration = openConfiguration({ store, clock, changes });
  const deliveries = createDeliveries({
    ...{ store, configuration, clock },
    activity,
    changes: {
      ...changes,
      note: (area, id) => void seen.noted.push(`${area} ${id}`),
      noteMany: (area, ids, _, added) => void seen.many.push([area, [...ids], added]),
    },
    scheduler: { kick: () => void (seen.kicks += 1) },
    report: (error) => seen.reported.push(error),
  });
  const one = {
    db,
    store,
    activity,
    deliveries,
    seen,
    /** One that is in a state. */
    add(state: DeliveryState, to = 1): DeliveryId {
      store.commit([request([{ to: [to] }])]);
      const id = store.newestRows().delivery as DeliveryId;
      if (state !== "queued") store.claim(to as DestinationId, startOfTime, 1000);
      if (state !== "queued" && state !== "sending")
        store.record([], [moveTo(id, state, state === "waiting" ? startOfTime + 9000 : null)]);
      return id;
    },
  };
  store.commit([request(Array.from({ length: failed }, () => ({ to: [1] })))]);
  const claimed = store.claim(1 as DestinationId, startOfTime, failed);
  store.record(
    [],
    claimed.map(({ id }) => moveTo(id, "failed")),
  );
  return one;
}

const countOf = ({ store }: ReturnType<typeof startDeliveries>, state: DeliveryState): number =>
  store.countByState()[state];

test("a retry of all requeues two hundred in a turn, newest first, as work, and says how far it is", async () => {
  const one = startDeliveries(450);
  const job = one.deliveries.retryAll({});
  const { id } = job;
  expect(job).toMatchObject({ state: "running", total: 450 });
  const progress: number[] = [];
  while (one.deliveries.retryJob(id)?.state === "running") {
    if (progress.at(-1) !== job.done) progress.push(job.done);
    await nextTurn();
  }
  expect(progress).toEqual([200, 400, 450]);
  expect(job).toEqual({ id, state: "done", total: 450, done: 450, retried: 450 });
  expect([countOf(one, "queued"), one.seen.kicks, one.activity.isQuiet(true)]).toEqual([
    450,
    3,
    true,
  ]);
  expect(one.seen.noted).toEqual(Array.from({ length: 5 }, () => "jobs job_000000001"));
});

test("newer ones come first, and those that moved meanwhile are left as they are", async () => {
  const one = startDeliveries(201);
  const job = one.deliveries.retryAll({ state: "failed" });
  const { state } = one.store.delivery(1 as DeliveryId) ?? {};
  expect([state, countOf(one, "queued")]).toEqual(["failed", 200]);
  one.store.record([], [moveTo(1 as DeliveryId, "cancelled")]);
  while (job.state === "running") await nextTurn();
  expect(job).toMatchObject({ state: "done", total: 201, done: 200, retried: 200 });
});

test("it takes what can be retried, of one destination or state when the filter says so", async () => {
  const one = startDeliveries(0);
  for (const state of [
    "waiting",
    "failed",
    "expired",
    "cancelled",
    "delivered",
    "sending",
  ] as const)
    one.add(state);
  one.add("queued");
  one.add("failed", 2);
  one.add("failed", 3);
  const { deliveries } = one;
  expect(
    [
      {},
      { destinationId: 1 as DestinationId },
      { state: "failed" as const },
      { state: "delivered" as const },
      { destinationId: 3 as DestinationId },
    ].map((filter) => deliveries.countRetryable(filter)),
  ).toEqual([5, 4, 2, 0, 0]);
  const job = deliveries.retryAll({ destinationId: 2 as DestinationId });
  while (job.state === "running") await nextTurn();
  expect([job.done, countOf(one, "failed"), countOf(one, "queued")]).toEqual([1, 2, 2]);
});

test("it can be cancelled between two slices, and ends with Hookyard", async () => {
  for (const end of ["cancel", "stop"] as const) {
    const one = startDeliveries(450);
    const job = one.deliveries.retryAll({});
    if (end === "cancel") expect(one.deliveries.cancelRetryJob(job.id)).toBe(job);
    else one.deliveries.stop();
    for (let turn = 0; turn < 5; turn += 1) await nextTurn();
    expect([job.state, job.done, countOf(one, "queued")]).toEqual(["cancelled", 200, 200]);
  }
});

test("one whose last slice is done cannot be cancelled any more", async () => {
  const { deliveries } = startDeliveries(200);
  const job = deliveries.retryAll({});
  expect([job.state, job.done, job.total]).toEqual(["running", 200, 200]);
  expect(deliveries.cancelRetryJob(job.id)).toBe(job);
  for (let turn = 0; turn < 3; turn += 1) await nextTurn();
  expect([job.state, job.retried]).toEqual(["done", 200]);
  const less = deliveries.startJob(5, []);
  deliveries.cancelRetryJob(less.id);
  expect([less.state, less.done]).toEqual(["done", 0]);
});

test("the newest hundred that have ended are kept, and those that run; newest first", async () => {
  const one = startDeliveries(201);
  const running = one.deliveries.retryAll({});
  for (let job = 0; job < 102; job += 1) one.deliveries.retryAll({ state: "delivered" });
  await nextTurn();
  const last = one.deliveries.retryAll({ state: "delivered" });
  const jobs = one.deliveries.retryJobs();
  expect([jobs.length, jobs[0]?.id, jobs.at(-2)?.id]).toEqual([102, last.id, 4]);
  expect([jobs.at(-1) === running, one.deliveries.retryJob(3 as JobId)]).toEqual([true, undefined]);
  expect(one.deliveries.cancelRetryJob(2 as JobId)).toMatchObject({ status: 404 });
  while (last.state === "running") await nextTurn();
  expect(one.deliveries.cancelRetryJob(last.id)).toMatchObject({ state: "done" });
});

test("a retry of all that the store refuses leaves no work open", async () => {
  const one = startDeliveries(1);
  one.db.exec(
    "CREATE TRIGGER full BEFORE INSERT ON transitions BEGIN SELECT RAISE(ABORT, 'full'); END",
  );
  const { id } = one.deliveries.retryAll({});
  await nextTurn();
  expect(one.seen.reported).toHaveLength(1);
  expect(one.deliveries.retryJob(id)?.state).toBe("cancelled");
  expect(one.activity.isQuiet(true)).toBe(true);
});

test("a user retries what has not ended well, and cancels what has not begun", () => {
  const one = startDeliveries(0);
  const { deliveries } = one;
  const answers = (act: "retry" | "cancel") =>
    (["queued", "waiting", "failed", "expired", "cancelled", "delivered", "sending"] as const).map(
      (state) => {
        const answer = deliveries[act](one.add(state));
        return "code" in answer ? answer.code : answer.state;
      },
    );
  expect(answers("retry")).toEqual([
    "queued",
    "queued",
    "queued",
    "queued",
    "queued",
    "already_delivered",
    "being_sent",
  ]);
  expect(one.seen.kicks).toBe(4);
  expect(answers("cancel")).toEqual([
    "cancelled",
    "cancelled",
    "already_over",
    "already_over",
    "cancelled",
    "already_over",
    "being_sent",
  ]);
  expect(one.seen.kicks).toBe(6);
  for (const act of ["retry", "cancel"] as const)
    expect(deliveries[act](999 as DeliveryId)).toMatchObject({ status: 404 });
  expect(deliveries.retry(one.add("failed", 3))).toMatchObject({
    status: 409,
    code: "destination_deleted",
  });
});

test("the deliveries of a deleted destination are cancelled, queued and waiting ones, however many", () => {
  const one = startDeliveries(450);
  one.store.record(
    [],
    Array.from({ length: 450 }, (_, nth) =>
      moveTo(
        (nth + 1) as DeliveryId,
        nth % 2 === 0 ? "queued" : "waiting",
        nth % 2 === 0 ? null : startOfTime,
      ),
    ),
  );
  one.add("queued", 2);
  const cancelled: number[] = [];
  while (one.deliveries.cancelOf(1 as DestinationId)) cancelled.push(countOf(one, "cancelled"));
  expect(cancelled).toEqual([200, 225, 425, 450]);
  expect([countOf(one, "cancelled"), countOf(one, "queued")]).toEqual([450, 1]);
  expect(one.store.deliveryDetails(1 as DeliveryId)?.transitions.at(-1)).toMatchObject({
    state: "cancelled",
    reason: "destination_deleted",
  });
});

test("what moves after its page was read is left as it is", async () => {
  const one = startDeliveries(2);
  const { deliveries } = one.store;
  const messages = Array.from({ length: 1500 }, (_, nth) => nth as MessageRowId);
  // As of batches, so that each is a slice.
  one.store.deliveries = (...args) => {
    const { items, ...page } = deliveries(...args);
    return { ...page, items: items.map((item) => ({ ...item, messages })) };
  };
  const job = one.deliveries.retryAll({ state: "failed" });
  expect(job.done).toBe(1);
  one.store.record([], [moveTo(1 as DeliveryId, "cancelled")]);
  while (job.state === "running") await nextTurn();
  expect(job).toMatchObject({ state: "done", done: 2, retried: 1 });
  expect(one.store.delivery(1 as DeliveryId)?.state).toBe("cancelled");
});

test("a slice of batches has 2,000 messages at most, or one larger batch", async () => {
  const one = startDeliveries(0);
  const mappedTo = [{ to: 1, key: "k", size: 1000 }];
  one.store.commit([request(Array.from({ length: 5000 }, () => ({ mappedTo })))]);
  const single = [{ to: 1, key: "large", size: 2500 }];
  one.store.commit([request(Array.from({ length: 2500 }, () => ({ mappedTo: single })))]);
  const { record } = one.store;
  const sizes: number[] = [];
  one.store.record = (attempts, transitions) => {
    sizes.push(transitions.length);
    record(attempts, transitions);
  };
  const job = one.deliveries.retryAll({});
  while (job.state === "running") await nextTurn();
  expect([sizes.splice(0), job.retried]).toEqual([[1, 2, 2, 1], 6]);
  const ids = [1, 2, 3, 4, 5, 6].map((id) => id as DeliveryId);
  one.store.record(
    [],
    ids.map((id) => moveTo(id, "failed")),
  );
  sizes.length = 0;
  const again = one.deliveries.retryThese(ids);
  while (again.state === "running") await nextTurn();
  expect([sizes, again.retried]).toEqual([[2, 2, 1, 1], 6]);
});

test("what is queued again or cancelled is told with its messages, those of a batch too", () => {
  const one = startDeliveries(0);
  const mappedTo = [{ to: 1, key: "k", size: 2 }];
  one.store.commit([request([{ mappedTo }, { mappedTo }, { to: [1] }])]);
  expect(one.deliveries.cancel(1 as DeliveryId)).toMatchObject({ state: "cancelled" });
  expect(one.deliveries.cancel(2 as DeliveryId)).toMatchObject({ state: "cancelled" });
  expect(one.deliveries.retry(2 as DeliveryId)).toMatchObject({ state: "queued" });
  const told = (delivery: number, messages: number[]) => [
    ["deliveries", [delivery], false],
    ["messages", messages, false],
  ];
  const [batch, single] = [1, 2].map((id) => one.store.delivery(id as DeliveryId));
  const messages = [batch?.messages ?? [batch?.messageRow], [single?.messageRow]] as number[][];
  expect(new Set(messages.map(({ length }) => length))).toEqual(new Set([1, 2]));
  expect(one.seen.many).toEqual([
    ...told(1, messages[0] as number[]),
    ...told(2, messages[1] as number[]),
    ...told(2, messages[1] as number[]),
  ]);
  expect(one.store.deliveryDetails(2 as DeliveryId)?.transitions).toMatchObject([
    { state: "cancelled", reason: "cancelled", at: startOfTime, nextAttemptAt: null },
    { state: "queued", reason: "retry_now", at: startOfTime, nextAttemptAt: null },
  ]);
});

test("of a message, those can be retried that have not ended well, at destinations that are there", async () => {
  const one = startDeliveries(0);
  one.store.commit([request([{ to: [1, 2, 3] }])]);
  const message = one.store.newestRows().message as MessageRowId;
  for (const to of [1, 2, 3]) one.store.claim(to as DestinationId, startOfTime, 1);
  const moved = (first: DeliveryState, second: DeliveryState): void =>
    one.store.record(
      [],
      [
        moveTo(1 as DeliveryId, first),
        moveTo(2 as DeliveryId, second),
        moveTo(3 as DeliveryId, "failed"),
      ],
    );
  moved("failed", "delivered");
  expect(one.deliveries.retryableOf(message)).toEqual([1]);
  moved("cancelled", "expired");
  expect(new Set(one.deliveries.retryableOf(message))).toEqual(new Set([1, 2]));
  const others = [one.add("delivered"), one.add("queued"), one.add("sending")];
  const job = one.deliveries.retryThese([1, 99, 2, ...others].map((id) => id as DeliveryId));
  expect(job).toMatchObject({ total: 6, done: 5, retried: 2 });
  while (job.state === "running") await nextTurn();
  expect([job.state, countOf(one, "queued"), countOf(one, "delivered")]).toEqual(["done", 2, 1]);
});

test("a job of another kind is work while a slice runs, counts what its slices say, and ends with its failure", async () => {
  const one = startDeliveries(0);
  let finish = (_queued: number): void => {};
  const later = new Promise<number>((resolve) => (finish = resolve));
  const job = one.deliveries.startJob(9, [
    { size: 4, run: () => later },
    { size: 3, run: () => 1 },
    {
      size: 2,
      run() {
        throw new Error("no");
      },
    },
  ]);
  expect([job.done, one.activity.isQuiet(true)]).toEqual([0, false]);
  finish(2);
  await nextTurn();
  await nextTurn();
  await nextTurn();
  expect(job).toMatchObject({ state: "cancelled", total: 9, done: 7, retried: 3 });
  expect([one.seen.reported, one.activity.isQuiet(true)]).toEqual([[new Error("no")], true]);
  const { noted } = one.seen;
  expect(noted).toEqual(["jobs job_000000001", "jobs job_000000001", "jobs job_000000001"]);
  one.deliveries.cancelRetryJob(job.id);
  expect([job.state, noted.length]).toEqual(["cancelled", 4]);
});
