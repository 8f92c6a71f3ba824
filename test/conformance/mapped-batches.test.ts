import { expect, test as base } from "vitest";
import { inconsistenciesIn } from "../../src/store/examine.ts";
import { openDatabase } from "../../src/store/open.ts";
import { starting, type RunningApp } from "../support/running-app.ts";

const test = base.extend("start", starting);

async function batching(app: RunningApp, url: string, batch: object = {}) {
  return app.call("destinations.create", {
    kind: "webhooks-actions",
    name: "Mapped",
    sourceIds: [(await app.source()).id],
    sharedSecret: "s3cret",
    mappings: [
      {
        name: "Batched",
        url,
        headers: { "X-Api-Key": "12345", "X-Shop": { "@path": "$.properties.shop" } },
        data: { n: { "@path": "$.properties.n" } },
        batch: { enabled: true, ...batch },
      },
    ],
  });
}

async function sendThree(app: RunningApp): Promise<string[]> {
  const ids: string[] = [];
  for (const n of [1, 2, 3]) ids.push(await app.send({ properties: { n } }));
  return ids;
}

test("a batch is cancelled and retried as one, and a replay goes into a new one", async ({
  start,
}) => {
  const app = await start.app({ clock: "paused" });
  const receiver = await start.receiver();
  await batching(app, receiver.url);
  const ids = await sendThree(app);
  const { id } = await app.delivery(ids[0]!);
  expect(await app.call("deliveries.cancel", { id })).toMatchObject({ state: "cancelled" });
  for (const each of ids) expect((await app.message(each)).state).toBe("cancelled");

  // Of three messages with one batch, one delivery is retried.
  expect(await app.call("messages.retryAll", { ids, dryRun: true })).toEqual({ count: 1 });
  await app.call("deliveries.retry", { id });
  await app.settle();
  expect(receiver.requests.map(({ body }) => body)).toEqual(['[{"n":1},{"n":2},{"n":3}]']);

  await app.call("messages.replay", { id: ids[1]! });
  await app.advance({ to: "idle" });
  expect(receiver.requests[1]?.body).toBe('[{"n":2}]');
});

test("a batch that has more messages than a new size allows is sent as it is", async ({
  start,
}) => {
  const app = await start.app({ clock: "paused" });
  const receiver = await start.receiver();
  const { id, mappings } = await batching(app, receiver.url, { size: 5 });
  const ids = await sendThree(app);
  const smaller = mappings.map(({ id: _, ...mapping }) => ({
    ...mapping,
    batch: { ...mapping.batch, size: 2 },
  }));
  await app.call("destinations.update", { id, mappings: smaller });
  await app.send({ properties: { n: 4 } });
  await app.settle();
  expect(receiver.requests.map(({ body }) => body)).toEqual(['[{"n":1},{"n":2},{"n":3}]']);
  await app.send({ properties: { n: 5 } });
  await app.settle();
  expect(receiver.requests.map(({ body }) => body).slice(1)).toEqual(['[{"n":4},{"n":5}]']);
  for (const each of ids) expect((await app.message(each)).state).toBe("delivered");
});

test("retention takes messages of a batch, and the batch with the last of them", async ({
  start,
}) => {
  const data = await start.directory();
  const app = await start.app({ clock: "paused", data });
  const receiver = await start.receiver();
  await batching(app, receiver.url, { size: 3 });
  const ids = await sendThree(app);
  await app.settle();
  await app.call("settings.update", { maxMessages: 1 });
  await app.send({ properties: { n: 4 } });
  await expect
    .poll(async () => (await app.call("messages.list", {})).items.map(({ id }) => id))
    .not.toContain(ids[1]);
  await app.stop();
  const { db, close } = openDatabase(data);
  expect(inconsistenciesIn(db)).toEqual([]);
  close();
});

test("an export leaves the credentials of mappings out, and an import brings the rest", async ({
  start,
}) => {
  const app = await start.app({ clock: "paused" });
  await batching(app, "http://user:pass@127.0.0.1/hook?token=abc");
  const exported = await app.call("configuration.export", {});
  expect(JSON.stringify(exported)).not.toMatch(/12345|pass@|abc|s3cret/);
  expect(exported.destinations?.[0]).toMatchObject({
    kind: "webhooks-actions",
    webhooks: [],
    mappings: [{ name: "Batched", headers: { "X-Shop": { "@path": "$.properties.shop" } } }],
  });
  expect(await app.call("configuration.import", exported)).toMatchObject({ created: 0 });
  const whole = await app.call("configuration.export", { secrets: true });
  expect(JSON.stringify(whole)).toContain("user:pass@127.0.0.1/hook?token=abc");

  const other = await start.app();
  expect(await other.call("configuration.import", whole)).toMatchObject({ created: 2 });
  const again = await other.call("configuration.export", { secrets: true });
  expect(again.destinations).toEqual(whole.destinations);
});

test.for([
  [[], /needs at least one/],
  [
    [{ name: "A", url: "http://a.test", trigger: 'type = "a' }],
    /mappings\[0\]\.trigger: The text in/,
  ],
  [[{ name: "A", url: { "@path": 5 } }], /mappings\[0\]\.url\.@path: This must be a text/],
  [
    [{ name: "A", url: "http://a.test", data: { x: { "@liquid": "y" } } }],
    /data\.x: Hookyard has no Liquid/,
  ],
  [[{ name: "A", url: "ftp://a.test" }], /must start with http/],
  [[{ name: "A" }], /mappings\[0\]\.url: The URL is a text or a directive/],
  [
    [
      { name: "A", url: "http://a.test" },
      { name: "A", url: "http://a.test" },
    ],
    /name A already/,
  ],
  [[{ name: "A", url: "http://a.test", batch: { enabled: true, size: 4001 } }], /1 to 4000/],
  [[{ name: "A", url: "http://a.test", headers: [] }], /headers are an object/],
] as const)("mappings %j are refused with their place", async ([mappings, sentence], { start }) => {
  const app = await start.app();
  const { status, body } = await app.answer("destinations.create", {
    kind: "webhooks-actions",
    name: "Mapped",
    sourceIds: [],
    mappings: mappings as never,
  });
  expect(status).toBe(400);
  expect((body as { message: string }).message).toMatch(sentence);
});
