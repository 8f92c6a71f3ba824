import fc from "fast-check";
import { expect, test } from "vitest";
import type { DeliveryId, DestinationId, MessageRowId } from "../domain/ids.ts";
import { isSettled, messageStates } from "../domain/states.ts";
import type { AttemptRecord, Transition } from "../engine/ports.ts";
import type { TestStore } from "./store.fixture.ts";
import {
  attempt,
  expectConsistent,
  moveTo,
  openTestStore,
  passOver,
  request,
  startOfTime,
} from "./store.fixture.ts";

/** A row for many blocks of messages. */
const fewSegments = "SCAN posting_segments";

type PlanRow = { id: number; parent: number; detail: string };

const draft = fc.record({
  messageId: fc.oneof(
    { weight: 4, arbitrary: fc.uuid() },
    { weight: 1, arbitrary: fc.constantFrom("twice", "thrice") },
  ),
  type: fc.constantFrom("track", "identify", "page", null),
  userId: fc.constantFrom("ada", "bob", null),
  to: fc.subarray([1, 2, 3]),
  notTo: fc.subarray([4, 5]),
  rejection: fc.constantFrom(null, null, null, {
    reason: "missing_event",
    detail: "There is no event.",
  }),
});

const commit = fc.array(fc.array(draft, { maxLength: 6 }), { minLength: 1, maxLength: 4 });
const destination = fc.integer({ min: 1, max: 3 });
const limit = fc.integer({ min: 1, max: 20 });

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("commit" as const),
      requests: commit,
      sourceId: fc.integer({ min: 1, max: 2 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("failing commit" as const), requests: commit }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("atomically" as const),
      requests: commit,
      fails: fc.constantFrom("no", "inside", "outside"),
    }),
  },
  { weight: 6, arbitrary: fc.record({ do: fc.constant("claim" as const), destination, limit }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("record" as const),
      outcomes: fc.array(fc.constantFrom(200, 404, 500, 501), { minLength: 1 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("failing record" as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("late sibling" as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constantFrom("retry" as const, "cancel" as const), limit }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("remove old" as const),
      keep: fc.integer({ min: 0, max: 30 }),
      limit,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("pin" as const),
      id: fc.integer({ min: 1, max: 40 }),
      pinned: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constantFrom("restart" as const, "clear" as const) }),
  },
);

const failure = new Error("in the middle");

function attemptsAndMoves(
  ids: number[],
  outcomes: number[],
  now: number,
): [AttemptRecord[], Transition[]] {
  const attempts: AttemptRecord[] = [];
  const moves: Transition[] = [];
  for (const [place, row] of ids.entries()) {
    const id = row as DeliveryId;
    const status = outcomes[place % outcomes.length] ?? 200;
    attempts.push(attempt(id, { status, startedAt: now }));
    // 501 stands for a sibling that is still under way: the attempt is on record before its round
    // is over.
    if (status === 200) moves.push(moveTo(id, "delivered"));
    if (status === 404) moves.push(moveTo(id, "failed"));
    if (status === 500) moves.push(moveTo(id, "waiting", now + 1000));
  }
  return [attempts, moves];
}

test("counts and lists are those of the rows, and nothing belongs to what is gone, whatever happens", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
      let one: TestStore = openTestStore();
      let now = startOfTime;
      const inState = (...states: number[]): number[] => {
        const codes = states.join(",");
        one.store.recordClaims();
        return one.db
          .prepare(`SELECT id FROM deliveries WHERE state IN (${codes}) ORDER BY id`)
          .pluck()
          .all() as number[];
      };
      for (const each of steps) {
        now += 500;
        switch (each.do) {
          case "commit":
            one.store.commit(
              each.requests.map((drafts) => request(drafts, { at: now, sourceId: each.sourceId })),
            );
            break;
          case "failing commit":
            failsWith(() =>
              one.store.commit([
                ...each.requests.map((drafts) => request(drafts, { at: now })),
                request([{}, { failure }], { at: now }),
              ]),
            );
            break;
          case "atomically": {
            const run = (): void =>
              one.store.atomically(() => {
                one.store.commit(each.requests.map((drafts) => request(drafts, { at: now })));
                one.store.claim(1 as DestinationId, now, 3);
                one.store.commit([
                  request([{}], { at: now }),
                  request(each.fails === "inside" ? [{ failure }] : [], { at: now }),
                ]);
                if (each.fails === "outside") throw failure;
              });
            if (each.fails === "no") run();
            else failsWith(run);
            break;
          }
          case "claim":
            one.store.claim(each.destination as DestinationId, now, each.limit);
            break;
          case "record":
            one.store.record(...attemptsAndMoves(inState(0), each.outcomes, now));
            break;
          case "failing record": {
            const [attempts, moves] = attemptsAndMoves(inState(0), [200], now);
            const unwritable = attempt((inState(0, 1, 2)[0] ?? 0) as DeliveryId, {
              startedAt: Number.NaN,
            });
            failsOrFindsNothing(() => one.store.record([...attempts, unwritable], moves));
            break;
          }
          case "late sibling":
            one.store.record(
              [attempt(1 as DeliveryId), attempt(9999 as DeliveryId)],
              [moveTo(9999 as DeliveryId, "delivered")],
            );
            break;
          case "retry":
            one.store.record(
              [],
              inState(2, 3, 4, 5)
                .slice(0, each.limit)
                .map((id) => moveTo(id as DeliveryId, "queued")),
            );
            break;
          case "cancel":
            one.store.record(
              [],
              inState(1, 2)
                .slice(0, each.limit)
                .map((id) => moveTo(id as DeliveryId, "cancelled")),
            );
            break;
          case "remove old":
            passOver(one);
            one.store.removeOld(
              { maxMessages: each.keep, olderThanWall: now - 10_000 },
              each.limit,
            );
            break;
          case "pin":
            one.store.pin(each.id as MessageRowId, each.pinned);
            break;
          case "restart":
            one = one.restarted();
            one.store.requeueInterrupted(now);
            one.store.spreadOverdue(now, 250, 60_000);
            break;
          case "clear":
            one.store.clearMessages();
        }
        expectConsistent(one.db);
        await expectListsOfRows(one);
      }
      expectStatsOfRows(one);
    }),
    { numRuns: 40 },
  );
});

function failsWith(run: () => unknown): void {
  try {
    run();
  } catch (error) {
    if (error === failure) return;
    throw error;
  }
  throw new Error("it did not fail");
}

/** NaN is NULL to the database, which a row must not be; without any delivery there is no row. */
function failsOrFindsNothing(run: () => unknown): void {
  try {
    run();
  } catch (error) {
    if ((error as { code?: string }).code !== "SQLITE_CONSTRAINT_NOTNULL") throw error;
  }
}

/** By each state, for lists know it from memory. */
async function expectListsOfRows({ db, store }: TestStore): Promise<void> {
  const ids = db
    .prepare<[number], number>("SELECT id FROM messages WHERE state = ? ORDER BY id DESC")
    .pluck();
  for (const [code, state] of messageStates.entries()) {
    const page = await store.messages({ state }, 1000, null);
    expect({ state, ids: page.items.map(({ id }) => id) }).toEqual({ state, ids: ids.all(code) });
  }
}

function expectStatsOfRows({ db, store }: TestStore): void {
  const { messages, deliveries } = store.stats();
  const count = (table: string): number =>
    db.prepare(`SELECT count(*) FROM ${table}`).pluck().get() as number;
  const byState = store.countByState();
  const unsettled = Object.entries(byState).reduce(
    (sum, [state, n]) => (isSettled(state as keyof typeof byState) ? sum : sum + n),
    0,
  );
  const rows = db
    .prepare("SELECT count(*) FROM deliveries WHERE state < 3")
    .pluck()
    .get() as number;
  if (
    messages.total !== count("messages") ||
    deliveries.total !== count("deliveries") ||
    unsettled !== rows
  )
    throw new Error("stats differ from the rows");
}

test("a check reads each table once, and not once for each row of another", () => {
  const { db } = openTestStore();
  const explain = db.prepare.bind(db);
  const scans: string[] = [];
  db.prepare = (sql: string) => {
    const plan = explain(`EXPLAIN QUERY PLAN ${sql}`).all() as PlanRow[];
    const isPerRow = (row: PlanRow | undefined): boolean =>
      row !== undefined &&
      (row.detail.includes("CORRELATED") || isPerRow(plan.find(({ id }) => id === row.parent)));
    scans.push(
      ...plan
        .filter(({ detail }) => detail.startsWith("SCAN") && detail !== fewSegments)
        .filter(isPerRow)
        .map(({ detail }) => `${detail} in ${sql}`),
    );
    return explain(sql);
  };
  expectConsistent(db);
  expect(scans).toEqual([]);
});
