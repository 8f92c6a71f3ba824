import { describe, expect, test } from "vitest";
import type { MessageRowId } from "../domain/ids.ts";
import type { MessageFilter } from "../engine/ports.ts";
import { batchRequest, openTestStore, request } from "./store.fixture.ts";

describe("free text", () => {
  const found = async (texts: string[], search: string): Promise<number[]> => {
    const { store } = openTestStore();
    store.commit([request(texts.map((text) => ({ text })))]);
    return (await store.messages({ search }, 10, null)).items.map(({ id }) => id);
  };

  test("is looked for in the bytes of each message, not in its neighbours", async () => {
    expect(await found(['{"a":"Apfel"}', '{"a":"Birne"}', '{"b":"apfelmus"}'], "APFEL")).toEqual([
      3, 1,
    ]);
    expect(await found(['{"a":1}', '{"b":2}'], "},{")).toEqual([]);
  });

  test("may be anything", async () => {
    expect(await found(['{"a":"100%"}', '{"a":"100_"}'], "100%")).toEqual([1]);
    expect(await found(['{"a":"naïve 🌈"}', "{}"], "NAÏVE 🌈")).toEqual([1]);
    expect(await found(['{"a":"\'; DROP TABLE messages"}'], "'; drop")).toEqual([1]);
  });

  test("is found ten thousand single calls back, with a turn of the event loop in between", async () => {
    const { store } = openTestStore();
    store.commit([request([{ text: '{"a":"needle"}' }])]);
    store.commit(Array.from({ length: 10_000 }, () => request([{}])));
    let turns = 0;
    const count = (): void => {
      turns += 1;
      if (turns < 1000) setImmediate(count);
    };
    setImmediate(count);
    expect(await store.messages({ search: "needle" }, 10, null)).toMatchObject({
      items: [{ id: 1 }],
      total: 1,
    });
    expect(turns).toBeGreaterThan(5);
  });

  test("is found in a batch that gives back the bytes of its rejected messages meanwhile", async () => {
    const { store } = openTestStore();
    const rejection = { reason: "invalid", detail: "It is." } as never;
    const bad = `{"bad":"${"x".repeat(4900)}"}`;
    store.commit([batchRequest([{ rejection, text: bad }, { text: '{"a":"needle"}' }])]);
    store.commit(Array.from({ length: 999 }, () => request([{}])));
    let removed = 0;
    setImmediate(() => (removed = store.removeRejected(0, 10)));
    const { items } = await store.messages({ search: "needle" }, 10, null);
    expect([removed, items.map(({ id }) => id)]).toEqual([1, [2]]);
  });

  test("is found in message ids too, each message once, from any place on", async () => {
    const { store } = openTestStore();
    store.commit([
      request([
        { messageId: "needle", text: "{}" },
        {},
        { messageId: "a", text: '{"a":"needle"}' },
      ]),
    ]);
    store.commit([
      request([
        { messageId: "needle", deduplicate: false, text: '{"a":"needle"}' },
        { messageId: "Needle-2", text: '{"needle-2":1}' },
      ]),
    ]);
    store.commit([request([{ messageId: "needle", deduplicate: false }])]);
    const found = async (before: number | null) => {
      const { items, total } = await store.messages(
        { search: "needle" },
        10,
        before as MessageRowId | null,
      );
      return [items.map(({ id }) => Number(id)), total];
    };
    expect(await found(null)).toEqual([[6, 5, 4, 3, 1], 5]);
    expect(await found(5)).toEqual([[4, 3, 1], 5]);
    expect(await found(4)).toEqual([[3, 1], 5]);
    expect(await found(1)).toEqual([[], 5]);
  });

  test("is found in a message id that its body does not have, and left out by it", async () => {
    const { store } = openTestStore();
    store.commit([
      request([
        { messageId: "given-1", userId: "ada", text: "{}" },
        { messageId: "given-2", userId: "ada", text: '{"é":"given-2"}' },
        { userId: "ada", text: '{"é":"é"}' },
      ]),
    ]);
    const ids = async (filter: MessageFilter) =>
      (await store.messages(filter, 10, null)).items.map(({ id }) => Number(id));
    expect(await ids({ userId: "ada", search: "given-1" })).toEqual([1]);
    expect(await ids({ userId: "ada", search: ["given", "é"] })).toEqual([2]);
    expect(await ids({ not: { search: "given-1" } })).toEqual([3, 2]);
    expect(await ids({ not: { search: ["GIVEN", "nothing"] } })).toEqual([3]);

    const messageId = "4f503abe-1d2c-4b3a-8899-aabbccddeeff";
    store.commit([request([{ messageId, text: "{}" }, { text: "{}" }])]);
    expect(await ids({ search: "503A" })).toEqual([4]);
    expect(await ids({ search: "4b3a-8899" })).toEqual([4]);
    expect(await ids({ not: { search: "503a" } })).toEqual([5, 3, 2, 1]);
  });
});
