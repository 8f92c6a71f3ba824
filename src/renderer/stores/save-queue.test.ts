import { expect, test } from "vitest";
import { saveQueue } from "./save-queue.ts";

type Step = { do: string; status?: number };

/** Answers each save when it is released, as the API does: with members in its own order. */
function held(first: Step[]) {
  const saves: { value: Step[]; release: () => Promise<void>; refuse: () => Promise<void> }[] = [];
  const use = saveQueue(first, (value) => {
    const { promise, resolve, reject } = Promise.withResolvers<Step[]>();
    const settled = async (settle: () => void) => {
      settle();
      await promise.catch(() => undefined);
      await new Promise((done) => setImmediate(done));
    };
    saves.push({
      value,
      release: () => settled(() => resolve(asSaved(value))),
      refuse: () => settled(() => reject(new Error("no"))),
    });
    return promise;
  });
  return { saves, ...use.getState(), pending: () => use.getState().pending?.value };
}

const asSaved = (steps: Step[]): Step[] =>
  steps.map(({ status, do: does }) => (status === undefined ? { do: does } : { status, do: does }));
const adding = (does: string) => (all: Step[]) => [...all, { do: does, status: 200 }];
const next = () => new Promise((done) => setImmediate(done));

test("a change that follows another at once builds on it, and is sent after its answer", async () => {
  const { saves, put, pending } = held([]);
  const both = Promise.all([put(adding("hang")), put(adding("answer"))]);
  await next();
  expect(saves).toHaveLength(1);
  expect(pending()).toMatchObject([{ do: "hang" }, { do: "answer" }]);
  await saves[0]?.release();
  expect(saves[1]?.value).toMatchObject([{ do: "hang" }, { do: "answer" }]);
  await saves[1]?.release();
  await both;
});

test("a change is shown until it comes back, and then what others change", async () => {
  const { saves, put, arrived, pending } = held([]);
  const saving = put(adding("hang"));
  await next();
  await saves[0]?.release();
  await saving;
  expect(pending()).toMatchObject([{ do: "hang" }]);
  // A read that began before the save.
  arrived([]);
  expect(pending()).toMatchObject([{ do: "hang" }]);
  arrived([{ status: 200, do: "hang" }]);
  expect(pending()).toBeUndefined();
  arrived([{ do: "reset" }]);
  void put(adding("answer"));
  expect(pending()).toMatchObject([{ do: "reset" }, { do: "answer" }]);
});

test("what others change before the change comes back ends it too", async () => {
  const { saves, put, arrived, pending } = held([]);
  const first = put(adding("hang"));
  await next();
  const second = put(adding("answer"));
  await saves[0]?.release();
  await first;
  arrived([{ status: 200, do: "hang" }]);
  await saves[1]?.release();
  await second;
  // The own first change is older than what is shown.
  expect(pending()).toHaveLength(2);
  arrived([{ do: "reset" }]);
  expect(pending()).toBeUndefined();
});

test("a change that is taken back before it comes back ends with it", async () => {
  const { saves, put, pending } = held([{ do: "reset" }]);
  const both = Promise.all([put(adding("hang")), put(() => [{ do: "reset" }])]);
  await next();
  await saves[0]?.release();
  await saves[1]?.release();
  await both;
  expect(pending()).toBeUndefined();
});

test("a refused change shows what was saved last", async () => {
  const { saves, put, pending } = held([]);
  const first = put(adding("hang"));
  const second = put(adding("nonsense"));
  await next();
  await saves[0]?.release();
  await first;
  void saves[1]?.refuse();
  await expect(second).rejects.toThrow("no");
  expect(pending()).toEqual([{ do: "hang", status: 200 }]);
  const third = put(adding("nonsense"));
  await next();
  void saves[2]?.refuse();
  await expect(third).rejects.toThrow("no");
  expect(pending()).toEqual([{ do: "hang", status: 200 }]);
});

test("a change that follows a refused one is saved without that", async () => {
  const { saves, put, pending } = held([]);
  const first = put(adding("hang"));
  const second = put(adding("nonsense"));
  const third = put(adding("answer"));
  await next();
  await saves[0]?.release();
  await first;
  void saves[1]?.refuse();
  await expect(second).rejects.toThrow("no");
  const both = [{ do: "hang" }, { do: "answer" }];
  expect(pending()).toMatchObject(both);
  await next();
  expect(saves[2]?.value).toMatchObject(both);
  await saves[2]?.release();
  await third;
  expect(pending()).toMatchObject(both);
});

test("a change that came back before its answer is not made twice", async () => {
  const { saves, put, arrived, pending } = held([]);
  const first = put(adding("hang"));
  await next();
  arrived([{ status: 200, do: "hang" }]);
  const second = put(adding("answer"));
  const both = [{ do: "hang" }, { do: "answer" }];
  expect(pending()).toMatchObject(both);
  await saves[0]?.release();
  await first;
  expect(pending()).toMatchObject(both);
  expect(saves[1]?.value).toMatchObject(both);
  await saves[1]?.release();
  await second;
});
