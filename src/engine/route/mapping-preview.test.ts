/** What a mapping that is being written would make of the messages on record. */

import { createHmac } from "node:crypto";
import { expect, onTestFinished, test } from "vitest";
import { createSteppedClock } from "../../../test/support/stepped-clock.ts";
import type { SourceId } from "../../domain/ids.ts";
import { isProblem } from "../../domain/problem.ts";
import { openTestStore, request, startOfTime } from "../../store/store.fixture.ts";
import { createChangeFeed } from "../changes.ts";
import { openConfiguration } from "../configuration.fixture.ts";
import { createMappingPreview } from "./mapping-preview.ts";

const url = "http://a.test/";
const sha1 = (text: string): string => createHmac("sha1", "s").update(text).digest("hex");

/** A store with a source, whose messages are previewed. */
function start() {
  const { store } = openTestStore();
  const changes = createChangeFeed();
  onTestFinished(() => changes.stop());
  const configuration = openConfiguration({
    store,
    changes,
    clock: createSteppedClock(startOfTime),
  });
  const source = configuration.createSource({ name: "Shop" });
  if (isProblem(source)) throw new Error(source.message);
  const preview = createMappingPreview({ store, configuration });
  return {
    ...{ store, configuration, source },
    /** One message for each number. */
    commit(numbers: number[], sourceId: SourceId = source.id): void {
      const texts = numbers.map((n) => ({
        text: JSON.stringify({ type: "track", event: `E${n % 2}`, userId: "u", properties: { n } }),
      }));
      const { body, messages, ...rest } = request(texts, { sourceId });
      const before = Buffer.from('{"batch":');
      store.commit([
        {
          ...rest,
          body: Buffer.concat([before, body, Buffer.from("}")]),
          messages: messages.map((each) => ({ ...each, offset: each.offset + before.length })),
        },
      ]);
    },
    preview: (mapping: object, more: Partial<Parameters<typeof preview>[0]> = {}) =>
      preview({
        mapping: { name: "Draft", url, data: { n: { "@path": "$.properties.n" } }, ...mapping },
        ...{ sourceIds: [source.id], secret: "s" },
        ...more,
      }),
  };
}

const from = (first: number, last: number): number[] =>
  Array.from({ length: last - first + 1 }, (_, nth) => first + nth);

test("the newest hundred are looked at, of the sources that are named and there", async () => {
  const one = start();
  one.commit(from(1, 101));
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const { looked, matching, shown, failing } = await one.preview({});
  isOver = true;
  // Others have a turn after each ten.
  expect([turns >= 10, turns < 20]).toEqual([true, true]);
  expect([looked, matching.length, failing]).toEqual([100, 100, 0]);
  expect([matching[0]?.id, matching.at(-1)?.id, shown?.id]).toEqual([101, 2, 101]);
  expect((await one.preview({}, { sourceIds: [] })).looked).toBe(0);
  const gone = 99 as SourceId;
  one.commit([7, 8], gone);
  expect((await one.preview({}, { sourceIds: [gone, one.source.id] })).looked).toBe(98);
  one.store.commit([
    request([{ rejection: { reason: "no", detail: "No." } }], { sourceId: one.source.id }),
  ]);
  expect((await one.preview({})).looked).toBe(100);
});

test("one that is asked for is shown, also when its trigger leaves it out, and else the newest that it takes", async () => {
  const one = start();
  one.commit([1, 2, 3]);
  const trigger = 'event = "E1"';
  const newest = await one.preview({ trigger });
  expect(newest.matching.map(({ id }) => id)).toEqual([3, 1]);
  expect(newest.shown).toEqual({
    ...{ id: 3, detail: "Its request is sent.", batch: null },
    request: {
      ...{ url, method: "POST", headers: [], signature: sha1('{"n":3}') },
      body: Buffer.from('{"n":3}'),
    },
  });
  const left = await one.preview({ trigger }, { id: 2 as never });
  expect(left.shown).toEqual({
    ...{ id: 2, request: null, batch: null },
    detail: `The message does not match its trigger \`${trigger}\`.`,
  });
  expect((await one.preview({ trigger }, { id: 77 as never })).shown?.id).toBe(3);
  expect((await one.preview({ trigger: 'event = "none"' })).shown).toBeNull();
});

test("without a secret or a body there is no signature", async () => {
  const one = start();
  one.commit([1]);
  const shown = async (...args: Parameters<typeof one.preview>) =>
    (await one.preview(...args)).shown?.request;
  expect(await shown({}, { secret: null })).toMatchObject({ signature: null });
  expect(await shown({ data: null })).toMatchObject({
    ...{ signature: null, body: new Uint8Array(0) },
  });
});

test("a batch has three elements of one key at most, the oldest first, and the one that is shown among them", async () => {
  const one = start();
  one.commit(from(1, 9));
  const batch = { enabled: true, keys: ["url"] };
  const byEvent = { batch, url: { "@template": "http://a.test/{{event}}" } };
  const batchOf = async (id: number) =>
    (await one.preview(byEvent, { id: id as never })).shown?.batch;
  expect((await batchOf(9))?.messages).toEqual([5, 7, 9]);
  expect((await batchOf(8))?.messages).toEqual([4, 6, 8]);
  expect(await batchOf(1)).toEqual({
    ...{ messages: [1, 7, 9], body: Buffer.from('[{"n":1},{"n":7},{"n":9}]'), first: 7 },
    ...{ signature: sha1('{"n":1}'), wholeSignature: sha1('[{"n":1},{"n":7},{"n":9}]') },
  });
  const empty = (await one.preview({ batch, data: null })).shown?.batch;
  expect(empty).toEqual({
    ...{ messages: [7, 8, 9], body: Buffer.from("[]"), first: 0 },
    ...{ signature: null, wholeSignature: sha1("[]") },
  });
});

test("one that cannot be sent is in no batch", async () => {
  const one = start();
  one.commit([1, 99_999, 2]);
  const { failing, shown } = await one.preview({
    url: { "@template": "http://a.test:{{properties.n}}/" },
    batch: { enabled: true, keys: ["method"] },
  });
  expect([failing, shown?.batch?.messages]).toEqual([1, [1, 3]]);
});

test("what cannot be sent is counted, and says why", async () => {
  const one = start();
  one.commit([1, 2]);
  const { failing, matching, shown, mistakes } = await one.preview({
    data: { "@path": "$.properties.n" },
  });
  expect([failing, matching.length]).toEqual([2, 2]);
  expect(shown).toEqual({
    ...{ id: 2, detail: "The data must be an object.", request: null, batch: null },
  });
  const none = { trigger: null, url: null, headers: null, data: null, batch: null };
  expect(mistakes).toEqual(none);
});

test.each<[place: string, draft: object, mistake: RegExp, url: string | null | undefined]>([
  ["trigger", { trigger: 'event = "E' }, /^[A-Z].*character 9\)$/, undefined],
  ["url", { url: "htt" }, /^Write the full URL/, null],
  ["url", { url: undefined }, /^Enter the full URL/, null],
  ["headers", { headers: [] }, /^The headers are an object or a directive\.$/, undefined],
  ["data", { data: { a: { "@path": 5 } } }, /must be a text/, undefined],
  ["batch", { batch: { enabled: true, size: 0 } }, /A batch has 1 to 4000 events\.$/, url],
])("a mistake in the %s is said there, and the rest is shown", async (place, draft, said, at) => {
  const one = start();
  one.commit([1]);
  const { mistakes, shown, matching, failing } = await one.preview(draft);
  expect(failing).toBe(0);
  const { [place as "url"]: mistake, ...others } = mistakes;
  expect(mistake).toMatch(said);
  expect(new Set(Object.values(others))).toEqual(new Set([null]));
  expect(matching).toHaveLength(place === "trigger" ? 0 : 1);
  expect(shown?.request?.url).toBe(at);
  if (place === "headers" || place === "data")
    expect(shown).toEqual({ id: 1, detail: mistake, request: null, batch: null });
  if (place === "batch") expect(shown?.batch?.messages).toEqual([1]);
  if (place === "trigger")
    expect((await one.preview(draft, { id: 1 as never })).shown?.request?.url).toBe(url);
});

test("a draft that is turned off is previewed, and so is one that wants no batches with a mistake in them", async () => {
  const one = start();
  one.commit([1]);
  const { shown } = await one.preview({ enabled: false, batch: { size: 0 } });
  expect([shown?.request?.url, shown?.batch]).toEqual([url, null]);
});

test("what the destination's filters and the settings would change is changed", async () => {
  const one = start();
  one.configuration.updateSettings({ contextIp: "direct" });
  one.commit([1, 2]);
  const data = { "@path": "$." };
  const action = "drop-properties" as const;
  const filters = [
    { name: "No E0", enabled: true, if: 'event = "E0"', action: "drop" as const },
    { name: "Mask", enabled: true, if: "", action, properties: ["properties.n"] },
  ];
  const { matching, shown } = await one.preview({ data }, { filters });
  expect(matching.map(({ id }) => id)).toEqual([1]);
  const event: unknown = JSON.parse(Buffer.from(shown?.request?.body ?? []).toString());
  expect(event).toMatchObject({ event: "E1", properties: {}, context: {} });
  expect(event).not.toHaveProperty("properties.n");
  expect(event).not.toHaveProperty("context.ip");
  expect((await one.preview({ data }, { filters, id: 2 as never })).shown?.detail).toContain(
    "The filter No E0",
  );
});

test("messages of every path are read as they came", async () => {
  const one = start();
  const text = JSON.stringify({ userId: "u", event: "E", properties: { n: 5 } });
  const single = request([{ text }], { sourceId: one.source.id });
  const path = "/v1/track?x=1";
  const [message] = single.messages;
  if (message === undefined) throw new Error("no message");
  const body = Buffer.from(text);
  one.store.commit([{ ...single, path, body, messages: [{ ...message, offset: 0 }] }]);
  const { shown } = await one.preview({});
  expect(Buffer.from(shown?.request?.body ?? []).toString()).toBe('{"n":5}');
  one.configuration.deleteSource(one.source.id);
  expect((await one.preview({})).looked).toBe(0);
});
