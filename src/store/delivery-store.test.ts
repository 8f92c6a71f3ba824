import { describe, expect, test } from "vitest";
import type { DeliveryId, DestinationId, MessageRowId, WebhookId } from "../domain/ids.ts";
import type { TestStore } from "./store.fixture.ts";
import {
  attempt,
  expectConsistent,
  moveTo,
  openTestStore,
  request,
  startOfTime,
} from "./store.fixture.ts";

const first = 1 as DestinationId;
const far = startOfTime + 1_000_000;
const delivery = (id: number): DeliveryId => id as DeliveryId;
const webhook = (id: number): WebhookId => id as WebhookId;

function queue({ store }: TestStore, count: number, to = [1]): void {
  store.commit([
    request(Array.from({ length: count }, (_, n) => ({ to, text: `{"n":${n + 1}}` }))),
  ]);
}

function claimed({ store }: TestStore, now = startOfTime, limit = 100): number[] {
  return store.claim(first, now, limit).map(({ id }) => id);
}

/** A claim and a round that failed, to be tried again at the time. */
function wait(one: TestStore, id: number, nextAttemptAt: number, startedAt = startOfTime): void {
  one.store.record(
    [attempt(delivery(id), { status: 503, startedAt })],
    [moveTo(delivery(id), "waiting", nextAttemptAt)],
  );
}

describe("a claim", () => {
  test("takes what is due in the order in which it was due, then what is queued, each once, and of its destination only", () => {
    const one = openTestStore();
    queue(one, 4);
    queue(one, 1, [2]);
    claimed(one);
    wait(one, 2, startOfTime + 5000);
    wait(one, 3, startOfTime + 3000);
    wait(one, 4, startOfTime + 9000);
    queue(one, 2);
    expect(one.store.countRunnable(first, startOfTime + 5000, 100)).toBe(4);
    expect(one.store.nextDueAt([first])).toBe(startOfTime + 3000);
    expect(claimed(one, startOfTime + 5000, 3)).toEqual([3, 2, 6]);
    expect(claimed(one, startOfTime + 5000, 3)).toEqual([7]);
    expect(claimed(one, startOfTime + 5000, 3)).toEqual([]);
    expect(one.store.nextDueAt([first])).toBe(startOfTime + 9000);
    expect(one.store.delivery(delivery(5))?.state).toBe("queued");
    expectConsistent(one.db);
  });

  test("carries the payload, the round, the window, and the webhooks that failed for good in it", () => {
    const one = openTestStore();
    queue(one, 1);
    expect(one.store.claim(first, startOfTime, 1)).toEqual([
      {
        id: 1,
        messageRow: 1,
        destinationId: 1,
        round: 1,
        windowRound: 1,
        firstAttemptAt: null,
        finished: [],
        payload: `{"n":1}`,
      },
    ]);
    one.store.record(
      [
        attempt(delivery(1), { webhookId: webhook(7), status: 404 }),
        attempt(delivery(1), { webhookId: webhook(8), status: 503, startedAt: startOfTime + 2 }),
      ],
      [moveTo(delivery(1), "waiting", far)],
    );
    expect(one.store.claim(first, far, 1)).toMatchObject([
      { round: 2, windowRound: 1, firstAttemptAt: startOfTime, finished: [7] },
    ]);
    one.store.record(
      [attempt(delivery(1), { round: 2, webhookId: webhook(8), status: 410 })],
      [moveTo(delivery(1), "failed")],
    );
    one.store.record([], [moveTo(delivery(1), "queued")]);
    expect(one.store.claim(first, far, 1)).toMatchObject([
      { round: 3, windowRound: 3, firstAttemptAt: null, finished: [] },
    ]);
  });
});

test("webhooks that failed for good are those of the delivery, in its window", () => {
  const one = openTestStore();
  queue(one, 3);
  claimed(one);
  for (const id of [1, 2, 3])
    one.store.record(
      [
        attempt(delivery(id), { webhookId: webhook(10 + id), status: 404 }),
        attempt(delivery(id), { webhookId: webhook(20), status: 503 }),
      ],
      [moveTo(delivery(id), "waiting", far)],
    );
  expect(one.store.claim(first, far, 3).map(({ id, finished }) => [id, finished])).toEqual([
    [1, [11]],
    [2, [12]],
    [3, [13]],
  ]);
  one.store.record(
    [attempt(delivery(3), { round: 2, webhookId: webhook(20), status: 404 })],
    [moveTo(delivery(3), "failed")],
  );
  one.store.record([], [moveTo(delivery(3), "queued")]);
  one.store.claim(first, far, 1);
  one.store.record(
    [attempt(delivery(3), { round: 3, webhookId: webhook(20), status: 410 })],
    [moveTo(delivery(3), "waiting", far)],
  );
  expect(one.store.claim(first, far, 1)).toMatchObject([
    { id: 3, round: 4, windowRound: 3, finished: [20] },
  ]);
});

test("the window begins with the first attempt, also when that is on record long before its round is over", () => {
  const one = openTestStore();
  queue(one, 1);
  claimed(one);
  one.store.record(
    [attempt(delivery(1), { webhookId: webhook(1), status: 503, startedAt: startOfTime + 10 })],
    [],
  );
  one.store.record(
    [attempt(delivery(1), { webhookId: webhook(2), status: 503, startedAt: startOfTime + 4000 })],
    [moveTo(delivery(1), "waiting", far)],
  );
  expect(one.store.delivery(delivery(1))?.firstAttemptAt).toBe(startOfTime + 10);
  const paused = (now: number) =>
    one.store.pausedPastWindow(first, now, 100, 9).map(({ id }) => id);
  expect(paused(startOfTime + 109)).toEqual([]);
  expect(paused(startOfTime + 110)).toEqual([1]);
  expect(one.store.nextWindowEnd(first, 100)).toBe(startOfTime + 110);
});

test("a message shows the first state of its deliveries, its attempts and the last status", () => {
  const one = openTestStore();
  queue(one, 1, [1, 2]);
  const state = () => one.store.message(1 as MessageRowId);
  claimed(one);
  expect(state()).toMatchObject({ state: "sending", attempts: 0, lastStatus: null });
  one.store.record([attempt(delivery(1), { status: 503 })], [moveTo(delivery(1), "waiting", far)]);
  expect(state()).toMatchObject({ state: "queued", attempts: 1, lastStatus: 503 });
  one.store.claim(2 as DestinationId, startOfTime, 1);
  one.store.record(
    [
      attempt(delivery(2), { webhookId: webhook(2) }),
      attempt(delivery(2), { webhookId: webhook(3), status: 404 }),
    ],
    [moveTo(delivery(2), "delivered")],
  );
  expect(state()).toMatchObject({ state: "waiting", attempts: 3, lastStatus: 404 });
  one.store.record(
    [attempt(delivery(2), { webhookId: webhook(4), status: 204 })],
    [moveTo(delivery(1), "cancelled")],
  );
  expect(state()).toMatchObject({ state: "cancelled", attempts: 4, lastStatus: 204 });
  one.store.record([], [moveTo(delivery(2), "queued")]);
  expect(state()).toMatchObject({ state: "queued", attempts: 4 });
  expectConsistent(one.db);
});

test("a record that fails leaves the states, the counts and the message as they were", () => {
  const one = openTestStore();
  queue(one, 2);
  claimed(one);
  one.db.exec(
    "CREATE TRIGGER refuse BEFORE INSERT ON transitions WHEN new.delivery_id = 2 BEGIN SELECT raise(ABORT, 'not this one'); END",
  );
  expect(() =>
    one.store.record(
      [attempt(delivery(1), { status: 503 })],
      [moveTo(delivery(1), "failed"), moveTo(delivery(2), "failed")],
    ),
  ).toThrow("not this one");
  expect(one.store.message(1 as MessageRowId)).toMatchObject({ state: "sending", attempts: 0 });
  expect(one.store.destinationsWithWork()).toEqual(new Set([1]));
  expectConsistent(one.db);
  one.db.exec("DROP TRIGGER refuse");
  one.store.record([], [moveTo(delivery(1), "delivered")]);
  expect(one.store.countByState()).toMatchObject({ sending: 1, delivered: 1, failed: 0 });
  expectConsistent(one.db);
});

test("what there is to do is counted up to a limit, and known by time and row", () => {
  const one = openTestStore();
  expect([
    one.store.destinationsWithWork(),
    one.store.nextDueAt([first]),
    one.store.nextWindowEnd(first, 100),
  ]).toEqual([new Set(), null, null]);
  expect(one.store.newestRows()).toEqual({ message: 0, delivery: 0 });
  queue(one, 3);
  queue(one, 2, [2]);
  expect(one.store.newestRows()).toEqual({ message: 5, delivery: 5 });
  expect([1, 3, 9].map((limit) => one.store.countRunnable(first, startOfTime, limit))).toEqual([
    1, 3, 3,
  ]);
  claimed(one);
  // What is claimed is still to be recorded.
  expect(one.store.destinationsWithWork()).toEqual(new Set([1, 2]));
  wait(one, 1, startOfTime + 5000);
  wait(one, 2, startOfTime + 4000);
  expect(one.store.destinationsWithWork()).toEqual(new Set([1, 2]));
  expect(
    [startOfTime + 3999, startOfTime + 4000, startOfTime + 5000].map((now) =>
      one.store.countRunnable(first, now, 9),
    ),
  ).toEqual([0, 1, 2]);
  expect(one.store.countRunnable(first, startOfTime + 5000, 1)).toBe(1);
  expect(one.store.nextDueAt([2 as DestinationId, first])).toBe(startOfTime + 4000);
  one.db.exec(
    `UPDATE deliveries SET state = 2, next_attempt_at = ${startOfTime + 4500} WHERE id = 4`,
  );
  expect(one.store.nextDueAt([first, 2 as DestinationId])).toBe(startOfTime + 4000);
  one.db.exec("UPDATE deliveries SET state = 1, next_attempt_at = NULL WHERE id = 4");
  // Delivery 2 waits and is due, 3 is being sent, 4 and 5 are queued for the other.
  const runnable = (now: number, upTo: number) => one.store.hasRunnableUpTo(first, now, upTo);
  expect([
    runnable(startOfTime + 4000, 2),
    runnable(startOfTime + 4000, 1),
    runnable(startOfTime + 3999, 9),
  ]).toEqual([true, false, false]);
  expect(
    [3, 4].map((upTo) => one.store.hasRunnableUpTo(2 as DestinationId, startOfTime, upTo)),
  ).toEqual([false, true]);
  expect(one.store.hasUnsettledUpTo(first, false, 1)).toBe(true);
  expect(
    [false, true].map((isEnabled) => one.store.hasUnsettledUpTo(2 as DestinationId, isEnabled, 9)),
  ).toEqual([false, true]);
  expect(one.store.hasUnsettledUpTo(2 as DestinationId, true, 3)).toBe(false);
  expect([2, 3, 4].map((row) => one.store.unsettledOf(row as MessageRowId))).toEqual([
    [{ destinationId: 1, state: "waiting", hasWindow: true }],
    [{ destinationId: 1, state: "sending", hasWindow: false }],
    [{ destinationId: 2, state: "queued", hasWindow: false }],
  ]);
  one.store.record(
    [],
    [1, 2, 3].map((id) => moveTo(delivery(id), "delivered")),
  );
  expect([
    one.store.unsettledOf(2 as MessageRowId),
    one.store.hasUnsettledUpTo(first, true, 9),
  ]).toEqual([[], false]);
});

test("the window of what is queued again ends with that of its first attempt", () => {
  const one = openTestStore();
  queue(one, 3);
  claimed(one);
  wait(one, 1, far, startOfTime + 30);
  wait(one, 2, far, startOfTime + 20);
  one.store.record([attempt(delivery(3), { status: 503, startedAt: startOfTime + 10 })], []);
  one.store.requeueInterrupted(startOfTime);
  expect(one.store.delivery(delivery(3))).toMatchObject({
    state: "queued",
    firstAttemptAt: startOfTime + 10,
  });
  expect(one.store.nextWindowEnd(first, 100)).toBe(startOfTime + 110);
  expect(
    [109, 110, 120, 130].map((ms) =>
      one.store.pausedPastWindow(first, startOfTime + ms, 100, 9).map(({ id }) => id),
    ),
  ).toEqual([[], [3], [2, 3], [2, 1, 3]]);
  expect(one.store.pausedPastWindow(first, startOfTime + 130, 100, 2)).toHaveLength(2);
  one.store.record([], [moveTo(delivery(3), "expired")]);
  expect(one.store.nextWindowEnd(first, 100)).toBe(startOfTime + 120);
});

describe("after a crash", () => {
  test("what was being sent is queued again, in a round of its own when the last one left an attempt", () => {
    const one = openTestStore();
    queue(one, 3);
    claimed(one, startOfTime, 2);
    one.store.record([attempt(delivery(2), { status: 503, startedAt: startOfTime + 1 })], []);
    one.store.recordClaims();
    const { store, db } = one.restarted();
    expect(store.requeueInterrupted(startOfTime + 500)).toBe(2);
    expect(store.requeueInterrupted(startOfTime + 500)).toBe(0);
    expect(store.message(1 as MessageRowId)?.deliveries[0]).toMatchObject({
      state: "queued",
      reason: "restarted",
      transitions: [{ at: startOfTime + 500, state: "queued", reason: "restarted" }],
    });
    expect(
      store
        .claim(first, startOfTime, 10)
        .map(({ id, round, firstAttemptAt }) => [id, round, firstAttemptAt]),
    ).toEqual([
      [1, 1, null],
      [2, 2, startOfTime + 1],
      [3, 1, null],
    ]);
    expectConsistent(db);
  });

  test("batches that were being sent are queued again until they have so many messages", () => {
    const one = openTestStore();
    const mappedTo = [{ to: 1, key: "k", size: 3 }];
    one.store.commit([request(Array.from({ length: 12 }, () => ({ mappedTo })))]);
    expect(one.store.claim(first, startOfTime, 10)).toHaveLength(4);
    const { store, db } = one.restarted();
    const requeued = [1, 2, 3].map(() => store.requeueInterrupted(startOfTime, 6));
    expect(requeued).toEqual([2, 2, 0]);
    expectConsistent(db);
  });

  test("overdue deliveries that are spread in slices have the same times", () => {
    const dueTimes = (slices: number[]): unknown[] => {
      const one = openTestStore();
      queue(one, 10);
      claimed(one);
      for (let id = 1; id <= 10; id += 1) wait(one, id, startOfTime + id);
      const now = startOfTime + 50_000;
      let place = 0;
      for (const limit of slices) place += one.store.spreadOverdue(now, 2500, 60_000, place, limit);
      expect(place).toBe(10);
      return one.db.prepare("SELECT next_attempt_at FROM deliveries ORDER BY id").pluck().all();
    };
    expect(dueTimes([4, 4, 4, 4])).toEqual(dueTimes([100]));
  });

  test("the round that was interrupted is made again, after all that are on record", () => {
    const one = openTestStore();
    queue(one, 1);
    for (const round of [1, 2, 3]) {
      one.store.claim(first, far, 1);
      one.store.record(
        [attempt(delivery(1), { round, status: 503 })],
        [moveTo(delivery(1), "waiting", startOfTime)],
      );
    }
    expect(one.store.claim(first, far, 1)).toMatchObject([{ round: 4 }]);
    one.store.requeueInterrupted(far);
    expect(one.store.claim(first, far, 1)).toMatchObject([{ round: 4, windowRound: 1 }]);
  });

  test("a retry that was being sent stays in its new window", () => {
    const one = openTestStore();
    queue(one, 1);
    claimed(one);
    one.store.record([attempt(delivery(1), { status: 404 })], [moveTo(delivery(1), "failed")]);
    one.store.record([], [moveTo(delivery(1), "queued")]);
    claimed(one);
    one.store.requeueInterrupted(startOfTime);
    expect(one.store.claim(first, startOfTime, 1)).toMatchObject([
      { round: 2, windowRound: 2, finished: [] },
    ]);
  });

  test("overdue deliveries of every destination run in the order in which they were due, apart, and all within the time", () => {
    const one = openTestStore();
    queue(one, 40);
    queue(one, 1, [2]);
    claimed(one);
    one.store.claim(2 as DestinationId, startOfTime, 1);
    for (let id = 1; id <= 39; id += 1) wait(one, id, startOfTime + 40_000 - id * 1000);
    wait(one, 40, far);
    wait(one, 41, startOfTime + 500);
    const now = startOfTime + 50_000;
    expect(one.store.spreadOverdue(now, 250, 5000)).toBe(40);
    const due = one.db
      .prepare(
        "SELECT id, next_attempt_at AS at FROM deliveries WHERE state = 2 ORDER BY next_attempt_at, id DESC",
      )
      .all() as { id: number; at: number }[];
    const times = due.filter(({ id }) => id !== 40).map(({ at }) => at);
    expect(due[0]).toEqual({ id: 41, at: now });
    expect(due.filter(({ id }) => id < 40).map(({ id }) => id)).toEqual(
      Array.from({ length: 39 }, (_, n) => 39 - n),
    );
    expect(times.every((at) => at % 1000 === 0 && at >= now && at <= now + 5000)).toBe(true);
    expect(
      Math.max(
        ...[0, 1, 2, 3, 4, 5].map(
          (second) => times.filter((at) => at === now + second * 1000).length,
        ),
      ),
    ).toBeLessThanOrEqual(9);
    expect(one.store.delivery(delivery(40))?.nextAttemptAt).toBe(far);
    expect(one.store.message(1 as MessageRowId)?.deliveries[0]?.transitions.at(-1)).toMatchObject({
      at: now,
      state: "waiting",
      reason: "overdue",
    });
    expect(one.store.spreadOverdue(now, 250, 5000)).toBe(0);
    expectConsistent(one.db);
  });
});

test("what is queued again keeps its window while it waits, and begins a new one once it was settled", () => {
  const one = openTestStore();
  queue(one, 3);
  claimed(one);
  for (const id of [1, 2, 3]) wait(one, id, far);
  one.store.record(
    [],
    [moveTo(delivery(1), "queued"), moveTo(delivery(2), "failed"), moveTo(delivery(3), "failed")],
  );
  one.store.record([], [moveTo(delivery(2), "cancelled"), moveTo(delivery(3), "queued")]);
  expect([1, 2, 3].map((id) => one.store.delivery(delivery(id))?.firstAttemptAt)).toEqual([
    startOfTime,
    startOfTime,
    null,
  ]);
  expect(one.store.claim(first, startOfTime, 9)).toMatchObject([
    { id: 1, round: 2, windowRound: 1, firstAttemptAt: startOfTime },
    { id: 3, round: 2, windowRound: 2, firstAttemptAt: null },
  ]);
});

test("several changes of a delivery in one record come one after the other", () => {
  const one = openTestStore();
  queue(one, 1);
  claimed(one);
  one.store.record(
    [attempt(delivery(1), { status: 404 })],
    [moveTo(delivery(1), "failed"), moveTo(delivery(1), "queued")],
  );
  expect(one.store.delivery(delivery(1))).toMatchObject({ state: "queued", firstAttemptAt: null });
  expect(one.store.countByState()).toMatchObject({ sending: 0, queued: 1, failed: 0 });
  expect(one.store.claim(first, startOfTime, 1)).toMatchObject([{ windowRound: 2 }]);
  expectConsistent(one.db);
});

test("an attempt without a response changes neither the last status nor the start of the window", () => {
  const one = openTestStore();
  queue(one, 1);
  claimed(one);
  const lost = attempt(delivery(1), {
    outcome: "timeout",
    response: null,
    error: { code: "X", message: "It took too long." },
    startedAt: far,
  });
  one.store.record([attempt(delivery(1), { status: 503 }), lost], []);
  expect(one.store.message(1 as MessageRowId)).toMatchObject({ attempts: 2, lastStatus: 503 });
  one.store.record([lost], [moveTo(delivery(1), "failed")]);
  expect(one.store.message(1 as MessageRowId)).toMatchObject({ attempts: 3, lastStatus: 503 });
  expect(one.store.delivery(delivery(1))?.firstAttemptAt).toBe(startOfTime);
  const { attempts } = one.store.deliveryDetails(delivery(1)) ?? {};
  expect(
    attempts?.map(({ response, error, simulated, retryable }) => [
      response?.status,
      error,
      simulated,
      retryable,
    ]),
  ).toEqual([
    [503, null, false, true],
    [undefined, { code: "X", message: "It took too long." }, false, false],
    [undefined, { code: "X", message: "It took too long." }, false, false],
  ]);
  one.store.record(
    [attempt(delivery(1), { simulated: true, status: 500, startedAt: far + 1 })],
    [],
  );
  expect(one.store.deliveryDetails(delivery(1))?.attempts.at(-1)).toMatchObject({
    simulated: true,
    retryable: true,
  });
});

test("overdue deliveries are those due before now, one gap apart, each at a full second", () => {
  const one = openTestStore();
  queue(one, 5);
  claimed(one);
  for (const id of [3, 1, 2]) wait(one, id, startOfTime);
  const now = startOfTime + 10_000;
  wait(one, 4, now);
  const due = () =>
    [1, 2, 3, 4].map((id) => ((one.store.delivery(delivery(id))?.nextAttemptAt ?? 0) - now) / 1000);
  expect(one.store.spreadOverdue(now, 1500, 60_000)).toBe(3);
  expect(due()).toEqual([0, 2, 3, 0]);
  for (const id of [1, 2, 3]) one.store.record([], [moveTo(delivery(id), "waiting", startOfTime)]);
  expect(one.store.spreadOverdue(now, 1500, 1000)).toBe(3);
  expect(due()).toEqual([0, 1, 1, 0]);
  one.store.record([], [moveTo(delivery(1), "waiting", startOfTime)]);
  expect(one.store.spreadOverdue(now - 1, 1500, 1000)).toBe(1);
  expect(due()).toEqual([0, 1, 1, 0]);
});

test("a delivery whose payload is missing sends no bytes", () => {
  const one = openTestStore();
  queue(one, 1);
  one.db.exec("UPDATE payloads SET documented = NULL");
  expect(one.store.deliveryDetails(delivery(1))?.payload).toEqual(new Uint8Array());
  one.db.exec("DELETE FROM payloads");
  expect(one.store.deliveryDetails(delivery(1))?.payload).toEqual(new Uint8Array());
});
