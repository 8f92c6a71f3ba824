import { expect, test } from "vitest";
import type { Source } from "../../domain/configuration.ts";
import { problem } from "../../domain/problem.ts";
import { openTestStore, startOfTime, type TestStore } from "../../store/store.fixture.ts";
import { createChangeFeed } from "../changes.ts";
import { createRefusedRequests, type Refused } from "./refused-requests.ts";

function refusedIn({ store }: TestStore, report: (error: unknown) => void = () => {}) {
  let now = startOfTime;
  const refused = createRefusedRequests({
    store,
    now: () => (now += 1000),
    changes: createChangeFeed(),
    configuration: { sources: () => [], source: () => undefined },
    ingestUrl: () => "http://127.0.0.1:4700",
    report,
  });
  return refused;
}

const wrongPath = (url: string, more: Partial<Refused> = {}): Refused => ({
  problem: problem(404, "unknown_path", `${url} is not an ingest path.`),
  address: "127.0.0.1",
  method: "POST",
  url,
  userAgent: "analytics-python/2.3.4",
  ...more,
});

test("equal requests are one entry with a count, its first and its last time, and it is the newest again", () => {
  const refused = refusedIn(openTestStore());
  refused.note(wrongPath("/t?writeKey=secret"));
  refused.note(wrongPath("/track"));
  refused.note(wrongPath("/t", { address: "127.0.0.2" }));
  refused.note(wrongPath("/t", { userAgent: "curl/8.5.0" }));
  const { items, dropped } = refused.list();
  expect(items.map(({ path, count, library }) => [path, count, library.name])).toEqual([
    ["/t", 1, "cURL"],
    ["/t", 2, "segment-analytics-python"],
    ["/track", 1, "segment-analytics-python"],
  ]);
  expect(items[1]).toMatchObject({
    firstAt: startOfTime + 1000,
    lastAt: startOfTime + 3000,
    address: "127.0.0.2",
    status: 404,
    line: `analytics.host = "http://127.0.0.1:4700"`,
  });
  expect(dropped).toBe(0);
});

test("the list has 200 entries and 128 KB at most, and the oldest go first", () => {
  const refused = refusedIn(openTestStore());
  for (let n = 0; n < 250; n += 1) refused.note(wrongPath(`/${n}`));
  expect(refused.list()).toMatchObject({ dropped: 50 });
  expect(refused.list().items.map(({ path }) => path)).toEqual(
    Array.from({ length: 200 }, (_, n) => `/${249 - n}`),
  );
  for (let n = 0; n < 250; n += 1)
    refused.note(
      wrongPath(`/${n}${"x".repeat(20_000)}`, { writeKey: "k".repeat(20_000), method: "M" }),
    );
  const { items } = refused.list();
  expect(items.length).toBeGreaterThan(50);
  expect(items.length).toBeLessThan(120);
  expect(items[0]?.path).toMatch(/^\/249x{195}…$/);
  expect(items[0]?.writeKey).toBe(`${"k".repeat(59)}…`);
  expect(items[0]?.message).toMatch(/^\/249x{395}…$/);
  expect(JSON.stringify(items).length).toBeLessThan(128 * 1024);

  // Each takes 1 KB: 200 bytes, and two for each character of its texts.
  refused.clear();
  const message = problem(404, "unknown_path", "m".repeat(278));
  for (const [from, to, dropped] of [
    [0, 128, 0],
    [128, 129, 1],
  ] as const) {
    for (let n = from; n < to; n += 1)
      refused.note(wrongPath(`/${String(n).padEnd(99, "x")}`, { problem: message }));
    expect([refused.list().items.length, refused.list().dropped]).toEqual([128, dropped]);
  }
});

test("a request that comes a thousand times takes the place of one, and an emptied list takes none", () => {
  const refused = refusedIn(openTestStore());
  const fill = (count: number): void => {
    for (let n = 0; n < count; n += 1) refused.note(wrongPath(`/${n}`));
  };
  fill(150);
  for (let n = 0; n < 1000; n += 1) refused.note(wrongPath("/again"));
  expect([refused.list().items.length, refused.list().dropped]).toEqual([151, 0]);
  fill(250);
  expect(refused.list().dropped).toBe(51);
  refused.clear();
  fill(200);
  expect([refused.list().items.length, refused.list().dropped]).toEqual([200, 0]);
});

test("entries are numbered as they come, and cut only when they are too long", () => {
  const refused = refusedIn(openTestStore());
  const path = `/${"p".repeat(199)}`;
  const more = { writeKey: "k".repeat(60), method: "M".repeat(60) };
  for (const url of [path, "/b", "/c"])
    refused.note({ ...wrongPath(url, more), problem: problem(404, "x", "m".repeat(400)) });
  const { items } = refused.list();
  expect(items.map(({ id }) => id)).toEqual([3, 2, 1]);
  expect(items[2]).toMatchObject({ path, message: "m".repeat(400), ...more });
});

test("a body names its library within its first 64 KB", () => {
  const refused = refusedIn(openTestStore());
  const named = '"library":{"name":"analytics-python"}';
  for (const before of [64 * 1024 - named.length, 64 * 1024 - named.length + 40]) {
    const body = Buffer.from(`${" ".repeat(before)}${named}`);
    const userAgent = undefined;
    refused.note(wrongPath(`/${before}`, { body, userAgent }));
  }
  expect(refused.list().items.map(({ library }) => library.recognisedBy)).toEqual([null, "body"]);
});

test("the line that mends a request has the key of its source, or of one, or an example", () => {
  const source = (id: number, more: object = {}): Source =>
    ({ id, kind: "server", writeKey: `wk_${id}`, ...more }) as unknown as Source;
  const lineWith = (sources: Source[], sourceId: number | null): string | null | undefined => {
    const refused = createRefusedRequests({
      store: openTestStore().store,
      now: () => 0,
      changes: createChangeFeed(),
      configuration: {
        sources: () => sources,
        source: (id) => sources.find((one) => one.id === id),
      },
      ingestUrl: () => "http://127.0.0.1:4700",
      report: () => {},
    });
    const userAgent = "curl/8.5.0";
    refused.note({
      ...wrongPath("/t", { userAgent, sourceId: sourceId as Source["id"] | null }),
      problem: problem(401, "missing_write_key", "There is no key."),
    });
    return refused.list().items[0]?.line;
  };
  const all = [source(1, { kind: "audience" }), source(2), source(3)];
  expect(lineWith(all, 3)).toContain("wk_3");
  expect(lineWith(all, null)).toContain("wk_2");
  expect(lineWith([], 3)).toContain("WRITE_KEY");
});

test("the list is kept from one run to the next, and can be emptied", () => {
  const one = openTestStore();
  const first = refusedIn(one);
  first.note(wrongPath("/t"));
  first.note(wrongPath("/track"));
  first.save();
  const again = refusedIn(one);
  expect(again.list()).toEqual(first.list());
  again.note(wrongPath("/page"));
  expect(new Set(again.list().items.map(({ id }) => id)).size).toBe(3);
  expect(again.clear()).toBe(3);
  expect(again.list()).toEqual({ items: [], dropped: 0 });
  expect(refusedIn(one).list().items).toEqual([]);
});

test("a store that refuses costs the list, and nothing else", () => {
  const one = openTestStore();
  const errors: unknown[] = [];
  const refused = refusedIn(one, (error) => errors.push(error));
  one.db.exec("CREATE TRIGGER full BEFORE INSERT ON meta BEGIN SELECT RAISE(ABORT, 'full'); END");
  refused.save();
  expect(errors).toEqual([]);
  refused.note(wrongPath("/t"));
  refused.save();
  expect(errors).toMatchObject([{ message: "full" }]);
});
