import { expect, onTestFinished, test, vi } from "vitest";
import type { Destination, Source } from "../../domain/configuration.ts";
import type { DestinationId, SourceId } from "../../domain/ids.ts";
import { isProblem } from "../../domain/problem.ts";
import { expectConsistent, openTestStore, startOfTime } from "../../store/store.fixture.ts";
import { Activity } from "../clock/activity.ts";
import { acceptRequest, type AcceptedRequest } from "./accept.ts";
import { CommitQueue } from "./commit-queue.ts";
import { parseBody } from "./read-request.ts";
import { partsOf } from "./request-parts.ts";
import { nextTurn } from "../real-time.ts";
import type { Decision, MappedRequest, RoutedMessage } from "../route/decision.ts";
import { loadPlans, planFrom } from "../plans/plans.ts";

const source = {
  ...{ id: 1 as SourceId, name: "Shop", kind: "server", plan: null, deduplicate: true },
  correctClockSkew: "always",
} as unknown as Source;

const destinations = (
  count: number,
  payload: Destination["payload"] = "documented",
): Destination[] =>
  Array.from({ length: count }, (_, nth) => ({
    ...{ id: (nth + 1) as DestinationId, kind: "webhooks", name: `D${nth}`, enabled: true },
    ...{ sourceIds: [source.id], mappings: [], filters: [], webhooks: [], sharedSecret: null },
    ...{ retryProfile: "documented", payload, createdAt: startOfTime },
  }));

const seen = (count: number) =>
  Array.from({ length: count }, (_, nth) => `{"type":"track","userId":"u","event":"ü${nth}"}`);

/** A batch whose defaults stand before and after its messages. */
function batchOf(
  items: string[],
  to: number | Destination[],
  plan: Source["plan"] = null,
): AcceptedRequest {
  const body = Buffer.from(`{"context":{"a":1},"batch":[ ${items.join(" , ")} ],"sentAt":null}`);
  const parsed = parseBody(body, true);
  if (isProblem(parsed)) throw new Error(parsed.message);
  return acceptRequest(
    {
      ...{
        source: { ...source, plan },
        destinations: typeof to === "number" ? destinations(to) : to,
        seed: 1,
        typeFromPath: null,
        body,
      },
      ...{ receivedAt: startOfTime, wallAt: startOfTime, method: "POST", path: "/v1/batch" },
      ...{ headers: [], ip: null, isSuppressed: () => false },
    },
    parsed,
  );
}

function startQueue(refuse: (commit: number) => void = () => {}) {
  const { db, store } = openTestStore();
  const commits: { bodies: string[]; messages: number; deliveries: number }[] = [];
  const activity = new Activity();
  const queue = new CommitQueue({
    store: {
      inWritingTurn: setImmediate,
      commit(requests) {
        refuse(commits.length + 1);
        const before = store.newestRows().delivery;
        const committed = store.commit(requests);
        commits.push({
          bodies: requests.map(({ body }) => Buffer.from(body).toString()),
          messages: committed.flat().length,
          deliveries: store.newestRows().delivery - before,
        });
        return committed;
      },
    },
    activity,
    onCommitted: () => {},
    report: (error) => {
      throw error;
    },
  });
  return { db, store, queue, commits, activity };
}

test("a request with more than 8,000 rows is committed in parts of 5,000, each a smaller batch", async () => {
  const { db, store, queue, commits, activity } = startQueue();
  const items = seen(120);
  const large = queue.add(batchOf(items, 100));
  expect(activity.isQuiet(true)).toBe(false);
  const committed = await large;
  expect(committed).toHaveLength(120);
  expect(commits.map(({ messages, deliveries }) => [messages, deliveries])).toEqual([
    [50, 5000],
    [50, 5000],
    [20, 2000],
  ]);
  expect(commits.map(({ bodies }) => bodies)).toEqual(
    [items.slice(0, 50), items.slice(50, 100), items.slice(100)].map((part) => [
      `{"context":{"a":1},"batch":[ ${part.join(" , ")} ],"sentAt":null}`,
    ]),
  );
  for (const [place, { id }] of committed.entries())
    expect(Buffer.from(store.message(id)?.raw ?? []).toString()).toBe(items[place]);
  expectConsistent(db);
  await activity.whenQuiet();
});

test("a message that fills a part alone is not in the part of the one after it", async () => {
  const items = seen(2);
  const parts: [body: string, rest: string | null][] = [];
  for await (const { body, rest } of partsOf(batchOf(items, 5000)))
    parts.push([Buffer.from(body).toString(), rest && Buffer.from(rest).toString()]);
  const [first = "", second = ""] = items.map(
    (item) => `{"context":{"a":1},"batch":[ ${item} ],"sentAt":null}`,
  );
  expect(parts).toEqual([
    [first, second],
    [second, null],
  ]);
});

test("a part counts its payloads, of whatever kind, as many rows as they are large", async () => {
  const sizes: Record<string, number[]> = {};
  const text = "x".repeat(20_000);
  const items = Array.from(
    { length: 200 },
    () => `{"type":"track","userId":"u","event":"e","properties":{"text":"${text}"}}`,
  );
  for (const payload of ["documented", "full"] as const) {
    sizes[payload] = [];
    for await (const { messages } of partsOf(batchOf(items, destinations(20, payload))))
      sizes[payload].push(messages.length);
  }
  expect(sizes).toEqual({ documented: [192, 8], full: [192, 8] });
});

/** A request with so many messages, each of which is routed like this, in steps of these costs. */
function routedLike(count: number, value: RoutedMessage, steps: number[] = []): AcceptedRequest {
  const request = batchOf(seen(count), 0);
  for (const message of request.messages)
    message.routing = function* () {
      yield* steps;
      return value;
    };
  return request;
}

const bytes = (length: number): Uint8Array => new Uint8Array(length);
const toOne = (more: Partial<Decision> = {}): RoutedMessage => ({
  ...{ decisions: [{ ...({} as Decision), ...more }], plan: null, payloads: {} },
});
const mapped = (...bodies: (Uint8Array | null)[]): MappedRequest[] =>
  bodies.map((body) => ({ body }) as MappedRequest);

test.for<[string, RoutedMessage, number]>([
  ["one for itself", { decisions: [], plan: null, payloads: {} }, 5000],
  ["one for a decision", toOne(), 2500],
  ["four for a mapped request", toOne({ requests: mapped(null) }), 834],
  ["one for 4,000 bytes of its body", toOne({ requests: mapped(bytes(8000), null) }), 417],
  [
    "one for 4,000 bytes of its payloads",
    { ...toOne(), payloads: { documented: bytes(4000), full: bytes(8000) } },
    1000,
  ],
  ["none for a filter without bodies", toOne({ filtered: {} as Decision["filtered"] }), 2500],
  [
    "one for 4,000 bytes before and after a filter",
    toOne({
      filtered: { bodies: { before: bytes(8000), after: bytes(4000) } } as Decision["filtered"],
    }),
    1000,
  ],
])("a message counts as rows: %s", async ([, value, most]) => {
  const sizes: number[] = [];
  const count = Math.min(most + 1, 2500);
  for await (const { messages } of partsOf(routedLike(count, value))) sizes.push(messages.length);
  expect(sizes).toEqual(most < 2500 ? [most, 1] : [2500]);
});

test("routing leaves a turn of the event loop to others after 5,000 steps of a part", async () => {
  const turn = vi.spyOn(globalThis, "setImmediate");
  onTestFinished(() => turn.mockRestore());
  const turnsOf = async (count: number, steps: number[], value = toOne()): Promise<number> => {
    turn.mockClear();
    for await (const { messages } of partsOf(routedLike(count, value, steps)))
      expect(messages.length).toBeGreaterThan(0);
    return turn.mock.calls.length;
  };
  for (const [steps, turns] of [
    [[], 0],
    [[2499], 0],
    [[2500], 1],
    [[4999], 1],
    [[5000], 2],
    [[4999, 1], 2],
    [[1, 5000, 1], 2],
  ] as const)
    expect([steps, await turnsOf(2, [...steps])]).toEqual([steps, turns]);
  // Each of these is a part of its own.
  const large = { ...toOne(), payloads: { full: bytes(20_000_000) } };
  expect(await turnsOf(2, [4999], large)).toBe(0);
});

test("requests that arrive meanwhile are committed between the parts, and large ones in order", async () => {
  const { queue, commits } = startQueue();
  const first = queue.add(batchOf(seen(100), 100));
  const second = queue.add(batchOf(seen(100), 100));
  const small = queue.add(batchOf(seen(1), 100));
  await small;
  expect(commits.length).toBeLessThan(3);
  await queue.drained();
  await Promise.all([first, second]);
  expect(commits.map(({ messages }) => messages).filter((count) => count > 1)).toEqual([
    ...[50, 50],
    ...[50, 50],
  ]);
});

test("messages over the limit of a batch are in the last part, whatever they are", async () => {
  const { store, queue, commits } = startQueue();
  const committed = await queue.add(batchOf([...seen(2500), "1", '"ü"'], 3));
  expect([commits.length, committed.length]).toEqual([3, 2501]);
  const last = store.message(committed.at(-1)!.id);
  expect(Buffer.from(last?.raw ?? []).toString()).toBe('1 , "ü" ');
});

test("when a part cannot be committed, the request fails, and the next one is committed", async () => {
  const full = new Error("full");
  const { queue, commits } = startQueue((commit) => {
    if (commit === 2) throw full;
  });
  const first = queue.add(batchOf(seen(100), 100));
  await expect(first).rejects.toBe(full);
  expect(commits.map(({ messages }) => messages)).toEqual([50]);
});

test("a request whose tracking plan takes long to check is checked in turns, and committed as a whole", async () => {
  await loadPlans();
  const wanted = Array.from({ length: 300 }, (_, nth) => ({ required: [`m${nth}`] }));
  const schemas = { Seen: { allOf: wanted } };
  const plan = planFrom({ schemas }, null);
  if (plan === null || isProblem(plan)) throw new Error("no plan");
  const items = Array.from({ length: 200 }, () => '{"type":"track","userId":"u","event":"Seen"}');
  const request = batchOf(items, 1, plan);
  expect(request.weight).toBeGreaterThan(10_000);
  expect(batchOf(items, 1).weight).toBeLessThan(1000);
  let turns = 0;
  let isDone = false;
  const parts: number[] = [];
  const work = (async () => {
    for await (const part of partsOf(request)) parts.push(part.messages.length);
  })().finally(() => (isDone = true));
  for (; !isDone; turns += 1) await nextTurn();
  await work;
  expect(parts).toEqual([200]);
  expect(turns).toBeGreaterThan(3);
});

test("a usual plan does not make a request heavier", async () => {
  await loadPlans();
  const named = Array.from({ length: 20 }, (_, nth) => [
    `m${nth}`,
    { type: "string", pattern: "^a" },
  ]);
  const products = { type: "array", items: { properties: Object.fromEntries(named.slice(10)) } };
  const schemas = { Seen: { properties: Object.fromEntries([...named, ["products", products]]) } };
  const plan = planFrom({ schemas }, null);
  if (plan === null || isProblem(plan)) throw new Error("no plan");
  const items = Array.from({ length: 50 }, () => '{"type":"track","userId":"u","event":"Seen"}');
  expect(batchOf(items, 1, plan).weight).toBe(batchOf(items, 1).weight);
});
