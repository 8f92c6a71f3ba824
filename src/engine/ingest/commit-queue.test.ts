import { describe, expect, test } from "vitest";
import { Activity, type Origin } from "../clock/activity.ts";
import type { CommittedMessage } from "../ports.ts";
import type { AcceptedRequest } from "./accept.ts";
import { CommitQueue } from "./commit-queue.ts";

/** A request with that many messages, told apart by its path. */
function requestOf(path: string, messages: number, bytes = 0, weight = messages): AcceptedRequest {
  return {
    path,
    messages: Array.from({ length: messages }, () => ({})),
    bytes,
    weight,
  } as unknown as AcceptedRequest;
}

function startQueue({
  refuse,
  onCommitted,
}: { refuse?: (paths: string[]) => unknown; onCommitted?: () => void } = {}) {
  const reported: unknown[] = [];
  const activity = new Activity();
  const commits: string[][] = [];
  const told: number[] = [];
  const origins: Origin[] = [];
  const queue = new CommitQueue({
    store: {
      inWritingTurn: setImmediate,
      commit(requests) {
        const paths = requests.map(({ path }) => path);
        const refusal = refuse?.(paths);
        if (refusal !== undefined) throw refusal;
        commits.push(paths);
        return requests.map(({ path, messages }) =>
          messages.map(() => ({ messageId: path }) as CommittedMessage),
        );
      },
    },
    activity,
    onCommitted(committed, origin) {
      told.push(committed.flat().length);
      origins.push(origin);
      onCommitted?.();
    },
    report: (error) => reported.push(error),
  });
  return { queue, activity, commits, told, origins, reported };
}

test("what comes in one turn of the event loop is one commit, and each request hears of its own messages", async () => {
  const { queue, commits, told } = startQueue();
  const answers = await Promise.all([
    queue.add(requestOf("a", 2)),
    queue.add(requestOf("b", 0)),
    queue.add(requestOf("c", 1)),
  ]);
  expect(commits).toEqual([["a", "b", "c"]]);
  expect(answers.map((messages) => messages.map(({ messageId }) => messageId))).toEqual([
    ["a", "a"],
    [],
    ["c"],
  ]);
  expect(told).toEqual([3]);
  await queue.add(requestOf("d", 1));
  expect(commits).toEqual([["a", "b", "c"], ["d"]]);
});

test("a commit takes 2,000 messages, a larger request alone, and none waits for ever", async () => {
  const { queue, commits } = startQueue();
  const sizes = [1500, 500, 1, 2500, 1999, 2];
  await Promise.all(sizes.map((size) => queue.add(requestOf(String(size), size))));
  expect(commits).toEqual([["1500", "500"], ["1"], ["2500"], ["1999"], ["2"]]);
});

test("a commit takes 4 MB, of bodies and of what defaults add to messages, and a larger request alone", async () => {
  const { queue, commits } = startQueue();
  const sizes = [3_000_000, 1_000_000, 1, 5_000_000, 10];
  await Promise.all(sizes.map((bytes) => queue.add(requestOf(String(bytes), 1, bytes))));
  expect(commits).toEqual([["3000000", "1000000"], ["1"], ["5000000"], ["10"]]);
});

test("a commit takes 8,000 steps of routing", async () => {
  const { queue, commits } = startQueue();
  const weights = [7000, 1000, 1, 8000];
  await Promise.all(weights.map((weight) => queue.add(requestOf(String(weight), 1, 0, weight))));
  expect(commits).toEqual([["7000", "1000"], ["1"], ["8000"]]);
});

test("what is thrown after a commit is reported, and every request has its answer, also the next ones", async () => {
  const broken = new Error("of whoever follows");
  const { queue, activity, reported } = startQueue({
    onCommitted() {
      throw broken;
    },
  });
  const answers = await Promise.all([
    queue.add(requestOf("a", 1)),
    queue.add(requestOf("b", 2000)),
    queue.add(requestOf("c", 0)),
  ]);
  expect(answers.map(({ length }) => length)).toEqual([1, 2000, 0]);
  expect(await queue.add(requestOf("d", 1))).toHaveLength(1);
  expect(reported).toEqual([broken, broken, broken]);
  await activity.whenQuiet();
});

test("it is drained when what waits at that moment is committed, and at once when nothing waits", async () => {
  const { queue, commits } = startQueue();
  await queue.drained();
  const waiting = [queue.add(requestOf("a", 2000)), queue.add(requestOf("b", 2000))];
  await queue.drained();
  expect(commits).toEqual([["a"], ["b"]]);
  await Promise.all(waiting);
});

describe("when the store refuses", () => {
  test("all of that commit hear why, and the next ones go on", async () => {
    const full = new Error("disk full");
    let refusals = 1;
    const { queue, activity, commits, told } = startQueue({
      refuse: () => (refusals-- > 0 ? full : undefined),
    });
    const answers = await Promise.allSettled([
      queue.add(requestOf("a", 2000)),
      queue.add(requestOf("b", 2000)),
      queue.add(requestOf("c", 1)),
    ]);
    expect(answers).toMatchObject([
      { status: "rejected", reason: full },
      { status: "fulfilled" },
      { status: "fulfilled" },
    ]);
    expect([commits, told]).toEqual([
      [["b"], ["c"]],
      [2000, 1],
    ]);
    await activity.whenQuiet();
  });

  test("because it cannot write at all, it is asked once for all of them, and for each when one of them is odd", async () => {
    for (const [refusal, asked] of [
      [Object.assign(new Error("full"), { code: "SQLITE_FULL" }), ["a,b,c"]],
      [new Error("odd"), ["a,b,c", "a", "b", "c"]],
    ] as const) {
      const groups: string[] = [];
      const { queue } = startQueue({
        refuse(paths) {
          groups.push(paths.join(","));
          return paths.includes("b") ? refusal : undefined;
        },
      });
      const answers = await Promise.allSettled(
        ["a", "b", "c"].map((path) => queue.add(requestOf(path, 1))),
      );
      expect(groups).toEqual(asked);
      expect(answers.map(({ status }) => status)).toEqual(
        ["rejected", "rejected", "rejected"].map((status, nth) =>
          nth !== 1 && groups.length > 1 ? "fulfilled" : status,
        ),
      );
    }
  });
});

test("it is busy until all that waits is committed", async () => {
  const { queue, activity, commits } = startQueue();
  const added = [queue.add(requestOf("a", 2000)), queue.add(requestOf("b", 2000))];
  expect(activity.isQuiet(true)).toBe(false);
  await activity.whenQuiet();
  expect(commits).toEqual([["a"], ["b"]]);
  await Promise.all(added);
});

test("what came before an advance is the pipeline's own, and what comes during it arrives, however heavy", async () => {
  for (const weight of [1, 8001]) {
    const { queue, activity, origins } = startQueue();
    const request = (path: string): AcceptedRequest => ({
      ...requestOf(path, 1, 0, weight),
      messages: [
        {
          ...{ offset: 0, size: 0 },
          *routing() {
            yield 1;
            return { decisions: [], plan: null, payloads: {} };
          },
        },
      ] as unknown as AcceptedRequest["messages"],
    });
    const first = queue.add(request("a"));
    activity.beginAdvance();
    await first;
    await queue.add(request("b"));
    activity.endAdvance();
    await queue.add(request("c"));
    expect(origins).toEqual(["own", "arrival", "own"]);
    await activity.whenQuiet();
  }
});
