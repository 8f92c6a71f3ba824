import { createHmac } from "node:crypto";
import { expect, test as base } from "vitest";
import { starting, type RunningApp } from "../support/running-app.ts";

const test = base.extend("start", starting);

const sha1 = (text: string): string => createHmac("sha1", "s3cret").update(text).digest("hex");

async function threeOrders(app: RunningApp) {
  const source = await app.source();
  for (const n of [1, 2, 3])
    await app.send({ event: n === 3 ? "Viewed" : "Ordered", properties: { n, shop: "a/b" } });
  const { items } = await app.call("messages.list", {});
  return {
    idOf: (n: number) => items[3 - n]!.id,
    preview: (mapping: object, rest: object = {}) =>
      app.call("mappings.preview", {
        mapping: { name: "Draft", url: "http://a.test", ...mapping },
        sourceIds: [source.id],
        sharedSecret: "s3cret",
        ...rest,
      }),
  };
}

test("a preview shows what a mapping takes and sends, and stores nothing", async ({ start }) => {
  const app = await start.app({ clock: "paused" });
  const { preview, idOf } = await threeOrders(app);
  const mapping = { trigger: 'event = "Ordered"', data: { n: { "@path": "$.properties.n" } } };
  const newest = await preview(mapping);
  expect(newest).toMatchObject({
    looked: 3,
    failing: 0,
    matching: [{ id: idOf(2) }, { id: idOf(1) }],
    shown: {
      id: idOf(2),
      request: {
        url: "http://a.test/",
        method: "POST",
        body: '{"n":2}',
        signature: sha1('{"n":2}'),
      },
      batch: null,
    },
  });
  expect((await preview(mapping, { id: idOf(1) })).shown?.request?.body).toBe('{"n":1}');
  // One that the trigger does not take says why.
  expect((await preview(mapping, { id: idOf(3) })).shown).toMatchObject({ request: null });
  expect((await preview(mapping, { sourceIds: [] })).looked).toBe(0);
  expect((await preview(mapping, { sharedSecret: null })).shown?.request?.signature).toBeNull();
  expect(await app.call("destinations.list", {})).toEqual({ items: [] });
});

test("a preview of a batch has its first element's signature beside that of all bytes", async ({
  start,
}) => {
  const app = await start.app({ clock: "paused" });
  const { preview, idOf } = await threeOrders(app);
  const { shown } = await preview({
    data: { n: { "@path": "$.properties.n" } },
    batch: { enabled: true },
  });
  const body = '[{"n":1},{"n":2},{"n":3}]';
  expect(shown?.batch).toEqual({
    messages: [idOf(1), idOf(2), idOf(3)],
    body,
    first: 7,
    signature: sha1('{"n":1}'),
    wholeSignature: sha1(body),
  });
});

test("a preview counts what cannot be sent, and says why", async ({ start }) => {
  const app = await start.app({ clock: "paused" });
  const { preview } = await threeOrders(app);
  const answer = await preview({ data: { "@path": "$.properties.n" } });
  expect(answer).toMatchObject({ failing: 3, shown: { request: null, batch: null } });
  expect(answer.shown?.detail).toMatch(/object/);
});

test("a mapping that is half typed is previewed as far as it can be read", async ({ start }) => {
  const app = await start.app({ clock: "paused" });
  const { preview } = await threeOrders(app);
  const url = await preview({ url: "htt" });
  expect(url.mistakes).toMatchObject({ trigger: null, url: expect.stringMatching(/http/) });
  expect(url.shown?.request).toMatchObject({ url: null, body: expect.stringContaining("Viewed") });
  const trigger = await preview({ trigger: 'event = "Or' });
  expect(trigger).toMatchObject({ matching: [], shown: null });
  expect(trigger.mistakes.trigger).toMatch(/character/);
  const data = await preview({ data: { a: { "@path": 5 } } });
  expect(data.mistakes.data).toMatch(/must be a text/);
  expect(data.shown).toMatchObject({ detail: data.mistakes.data, request: null });
  const size = await preview({ batch: { enabled: true, size: 0 } });
  expect(size.mistakes.batch).toMatch(/1 to 4000/);
  expect(size.shown?.batch?.messages).toHaveLength(3);
});

test("a preview says what a request has no URL or header for", async ({ start }) => {
  const app = await start.app({ clock: "paused" });
  const { preview } = await threeOrders(app);
  await app.send({
    properties: {
      ...{ n: 1, one: ["http://a.test/b#c"], long: "y".repeat(101) },
      ...{ odd: { toString: 1, valueOf: 1 }, headers: { Host: "a" } },
    },
  });
  const at = (name: string) => ({ "@path": `$.properties.${name}` });
  expect((await preview({ url: at("one") })).shown?.request?.url).toBe("http://a.test/b");
  const unsent: [object, string][] = [
    [{ url: at("none") }, "The URL is missing."],
    [{ url: at("n") }, "1 is not a full URL. Escape characters outside ASCII."],
    [
      { url: at("long") },
      `"${"y".repeat(99)}… is not a full URL. Escape characters outside ASCII.`,
    ],
    [
      { url: { "@template": "ftp://a.test/{{properties.n}}" } },
      '"ftp://a.test/1" is not an http or https URL.',
    ],
    [{ headers: at("n") }, "The headers must be an object."],
    [{ headers: at("headers") }, "Hookyard sets the header Host itself. Remove it."],
    [{ headers: { X: at("odd") } }, "The value of a header cannot be written as text."],
  ];
  for (const [mapping, detail] of unsent)
    expect((await preview(mapping)).shown).toMatchObject({ detail, request: null });
});
