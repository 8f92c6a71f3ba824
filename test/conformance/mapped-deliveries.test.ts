import { createHmac } from "node:crypto";
import { expect, test as base } from "vitest";
import type { InputOf } from "../../src/contract/contract.ts";
import { starting, type RunningApp } from "../support/running-app.ts";

const test = base.extend("start", starting);

type Mapping = NonNullable<InputOf<"destinations.create">["mappings"]>[number];

async function withMappings(app: RunningApp, mappings: Mapping[], sharedSecret = "s3cret") {
  const { id } = await app.source();
  return app.call("destinations.create", {
    kind: "webhooks-actions",
    name: "Mapped",
    sourceIds: [id],
    sharedSecret,
    mappings,
  });
}

const signature = (text: string): string => createHmac("sha1", "s3cret").update(text).digest("hex");

const headersOf = ({ headers }: { headers: [string, string][] }): Record<string, string> =>
  Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value]));

test("a mapping sends what it makes of a message", async ({ start }) => {
  const app = await start.app({ clock: "paused" });
  const receiver = await start.receiver();
  const destination = await withMappings(app, [
    {
      name: "Orders",
      trigger: 'type = "track" and event = "Order Completed"',
      url: { "@template": `${receiver.url}/{{properties.shop}}` },
      method: "PUT",
      headers: { "X-Total": { "@path": "$.properties.total" }, "X-None": { "@path": "$.none" } },
      data: { who: { "@path": "$.userId" }, none: { "@path": "$.none" }, list: [null, 1] },
    },
    { name: "Everything", url: `${receiver.url}/all`, headers: { "X-Signature": "mine" } },
    { name: "Off", enabled: false, url: receiver.url },
  ]);
  expect(destination).toMatchObject({ kind: "webhooks-actions", retryProfile: "actions" });
  const id = await app.send({
    event: "Order Completed",
    properties: { shop: "a%20b", total: 12.5 },
  });
  const other = await app.send({ event: "Viewed" });
  await app.settle();

  const body = '{"who":"u1","list":[null,1]}';
  const order = receiver.requests.find(({ url }) => url === "/hook/a%20b");
  expect(order).toMatchObject({ method: "PUT", body });
  expect(headersOf(order!)).toMatchObject({
    "x-total": "12.5",
    "x-signature": signature(body),
    "content-type": "application/json",
    "user-agent": "Hookyard (Actions)",
  });
  expect(headersOf(order!)).not.toHaveProperty("x-none");
  const all = receiver.requests.filter(({ url }) => url === "/hook/all");
  expect(all).toHaveLength(2);
  expect(headersOf(all[0]!)).toMatchObject({ "x-signature": "mine" });

  const message = await app.message(id);
  expect(message.state).toBe("delivered");
  expect(message.deliveries).toMatchObject([
    { payload: body, signed: body, attempts: [{ request: { method: "PUT", body } }] },
    { state: "delivered" },
  ]);
  expect((await app.message(other)).decisions).toMatchObject([
    {
      routed: true,
      mappings: [
        { name: "Orders", reason: "trigger_not_met" },
        { name: "Everything", reason: "routed" },
        { name: "Off", reason: "mapping_disabled" },
      ],
    },
  ]);
});

test("a destination has one to five mappings and no webhooks, or the other way round", async ({
  start,
}) => {
  const app = await start.app({ clock: "paused" });
  const mapping = { name: "One", url: "http://127.0.0.1:1/" };
  const webhooks = [{ url: mapping.url }];
  const { id } = await withMappings(app, [mapping]);
  const named = (count: number) =>
    Array.from({ length: count }, (_, n) => ({ ...mapping, name: `M${n}` }));
  const refused = async (change: object) =>
    (await app.answer("destinations.update", { id, ...change })).body;
  expect(await refused({ mappings: named(5) })).toMatchObject({ id });
  for (const [change, message] of [
    [{ mappings: [] }, "A destination with mappings needs at least one."],
    [{ mappings: named(6) }, "A destination has at most 5 mappings, not 6."],
    [
      { mappings: [mapping, mapping] },
      "mappings[1].name: Another mapping has the name One already.",
    ],
    [{ mappings: [{ ...mapping, name: " " }] }, "mappings[0].name: A mapping needs a name."],
    [
      { mappings: [{ ...mapping, batch: { enabled: true, waitMs: 3_600_001 } }] },
      "mappings[0].batch.waitMs: A batch waits for at most an hour.",
    ],
    [{ webhooks }, 'webhooks: A destination of the kind "webhooks-actions" has mappings instead.'],
    [{ kind: "webhooks", webhooks }, "A destination keeps its kind. Create another one."],
  ] as const)
    expect(await refused(change)).toMatchObject({ message });
  const hour = { enabled: true, waitMs: 3_600_000 };
  expect(await refused({ mappings: [{ ...mapping, batch: hour }] })).toMatchObject({ id });
  expect(
    await app.answer("destinations.create", {
      name: "Other",
      sourceIds: [],
      webhooks,
      mappings: [mapping],
    }),
  ).toMatchObject({
    body: { message: 'mappings: Only a destination of the kind "webhooks-actions" has mappings.' },
  });
});

test("a header that HTTP cannot carry is a payload error, and nothing is sent", async ({
  start,
}) => {
  const app = await start.app({ clock: "paused" });
  const receiver = await start.receiver();
  await withMappings(app, [
    { name: "One", url: receiver.url, headers: { "X-Name": { "@path": "$.properties.name" } } },
  ]);
  const wrong = await app.send({ properties: { name: "Zoë ☕" } });
  const right = await app.send({ properties: { name: "Zoë" } });
  await app.settle();
  expect(await app.message(wrong)).toMatchObject({
    state: "filtered",
    reason: "payload_error",
    deliveries: [],
    decisions: [{ routed: false, reason: "payload_error" }],
  });
  expect((await app.message(right)).state).toBe("delivered");
  expect(receiver.requests).toHaveLength(1);
});

test("what cannot be written of one message fails that message alone", async ({ start }) => {
  const app = await start.app({ clock: "paused" });
  const receiver = await start.receiver();
  const data = { "@json": { mode: "decode", value: { "@path": "$.properties.blob" } } };
  await withMappings(app, [{ name: "One", url: receiver.url, data }]);
  const ofDepth = (depth: number) => `${'{"":'.repeat(depth)}1${"}".repeat(depth)}`;
  const blobs = [1, ...Array.from({ length: 17 }, (_, nth) => 3000 + nth * 100), 2].map(ofDepth);
  await app.ingest("/v1/batch", {
    batch: blobs.map((blob) => ({
      ...{ type: "track", event: "Viewed", userId: "u1", properties: { blob } },
    })),
  });
  await app.settle();
  const bodies = receiver.requests.map(({ body }) => body);
  expect(bodies).toEqual(expect.arrayContaining([ofDepth(1), ofDepth(2)]));
  const { items } = await app.call("messages.list", { filter: "reason:payload_error" });
  expect(items.length).toBeGreaterThan(0);
  expect(items.length + bodies.length).toBe(blobs.length);
});

test("a batch collects until its time or its size, and is one delivery", async ({ start }) => {
  const app = await start.app({ clock: "paused" });
  const receiver = await start.receiver();
  const destination = await withMappings(app, [
    {
      name: "Batched",
      url: receiver.url,
      headers: { "X-Kind": { "@path": "$.properties.kind" } },
      data: { n: { "@path": "$.properties.n" }, kind: { "@path": "$.properties.kind" } },
      batch: { enabled: true, size: 3 },
    },
  ]);
  const ids: string[] = [];
  for (const [n, kind] of "aababa".split("").entries())
    ids.push(await app.send({ properties: { n, kind } }));
  await app.settle();
  const ofA = '[{"n":0,"kind":"a"},{"n":1,"kind":"a"},{"n":3,"kind":"a"}]';
  expect(receiver.requests.map(({ body }) => body)).toEqual([ofA]);
  expect(headersOf(receiver.requests[0]!)).toMatchObject({
    "x-kind": "a",
    "x-signature": signature('{"n":0,"kind":"a"}'),
  });
  expect((await app.message(ids[3]!)).state).toBe("delivered");
  expect(await app.message(ids[2]!)).toMatchObject({
    state: "waiting",
    attempts: 0,
    deliveries: [{ reason: "collecting", messages: [ids[2], ids[4]] }],
  });
  expect((await app.call("stats.get", {})).deliveries.byState).toMatchObject({
    delivered: 1,
    waiting: 2,
  });

  await app.advance({ to: "idle" });
  // Both are due at the same time.
  expect(receiver.requests.map(({ body }) => body).sort()).toEqual([
    ofA,
    '[{"n":2,"kind":"b"},{"n":4,"kind":"b"}]',
    '[{"n":5,"kind":"a"}]',
  ]);
  const [first, second] = [await app.delivery(ids[0]!), await app.delivery(ids[3]!)];
  expect(second).toEqual(first);
  expect(first).toMatchObject({ payload: ofA, signed: '{"n":0,"kind":"a"}' });
  expect(first.transitions.map(({ reason }) => reason)).toEqual(["collecting", "full"]);
  const list = await app.call("messages.list", { filter: "destination:Mapped" });
  expect(list.items.map(({ id }) => id).sort()).toEqual(ids.toSorted());
  expect(destination.webhooks).toHaveLength(1);

  const explain = (given: { digest?: string; body?: string }) =>
    app.call("deliveries.signature", { id: first.id, ...given });
  const element = '{"n":0,"kind":"a"}';
  expect(await explain({})).toMatchObject({
    signature: signature(element),
    from: 1,
    length: element.length,
    cause: "none",
  });
  for (const given of [{ digest: signature(ofA) }, { body: ofA }])
    expect(await explain(given)).toMatchObject({
      cause: "whole_batch",
      sentence: expect.stringMatching(
        /^The receiver computes the digest over the whole body\. Of a /,
      ),
    });
  expect(await explain({ digest: signature(element) })).toMatchObject({ cause: "none" });
  expect(await explain({ body: '{"n": 0, "kind": "a"}' })).toMatchObject({ cause: "spaces" });
});

test("a batch that fails is retried as that batch", async ({ start }) => {
  const app = await start.app({ clock: "paused" });
  const receiver = await start.receiver((response, _, count) =>
    response.writeHead(count === 1 ? 503 : 200).end(),
  );
  await withMappings(app, [
    {
      name: "Batched",
      url: receiver.url,
      data: { n: { "@path": "$.properties.n" } },
      batch: { enabled: true },
    },
  ]);
  const one = await app.send({ properties: { n: 1 } });
  const two = await app.send({ properties: { n: 2 } });
  await app.advance({ to: "next-due" });
  await app.settle();
  const three = await app.send({ properties: { n: 3 } });
  expect(await app.message(two)).toMatchObject({ state: "waiting", attempts: 1, lastStatus: 503 });
  await app.advance({ to: "idle" });
  const bodies = receiver.requests.map(({ body }) => body);
  expect(bodies.filter((body) => body === '[{"n":1},{"n":2}]')).toHaveLength(2);
  expect(bodies.filter((body) => body === '[{"n":3}]')).toHaveLength(1);
  for (const id of [one, two, three]) expect((await app.message(id)).state).toBe("delivered");
});

test.for([301, 302, 303, 307, 308])(
  "a redirect of a receiver is not followed, and is not retried: %i",
  async (status, { start }) => {
    const app = await start.app({ clock: "paused" });
    const receiver = await start.receiver();
    receiver.answer = (response) =>
      void response.writeHead(status, { Location: `${receiver.url}/moved` }).end();
    await withMappings(app, [{ name: "Orders", url: receiver.url }]);
    const id = await app.send({ event: "Order Completed" });
    await app.advance({ to: "idle" });
    expect(receiver.requests.map(({ url }) => url)).toEqual(["/hook"]);
    expect((await app.message(id)).deliveries).toMatchObject([
      { state: "failed", attempts: [{ outcome: "http_error", response: { status } }] },
    ]);
  },
);
