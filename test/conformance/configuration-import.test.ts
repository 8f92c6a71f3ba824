/** A configuration from a file. */

import { expect, test as base } from "vitest";
import { starting, type RunningApp } from "../support/running-app.ts";

const test = base.extend("start", starting);

test("a document with a bad entry at its end changes nothing", async ({ start }) => {
  const app = await start.app();
  await app.call("sources.create", { name: "Web", writeKey: "k" });
  const before = await app.call("configuration.export", { secrets: true });
  const document = {
    version: 1 as const,
    settings: { vendor: "Acme" },
    retryProfiles: [{ name: "quick", windowMs: 60_000 }],
    sources: [
      { name: "Renamed", writeKey: "k" },
      { name: "New", writeKey: "n" },
    ],
    endpoints: [{ name: "Receiver", steps: [{ do: "answer" as const }] }],
    destinations: [
      {
        name: "Shop",
        sources: ["k"],
        webhooks: [{ url: "http://a.localhost/" }],
        retryProfile: "quick",
      },
      { name: "Bad", sources: ["n"], webhooks: [{ url: "ftp://a.localhost/" }] },
    ],
  };
  expect(await app.refused("configuration.import", document)).toMatchObject({ status: 400 });
  expect(await app.call("configuration.export", { secrets: true })).toEqual(before);

  const [good] = document.destinations;
  await app.call("configuration.import", {
    ...document,
    destinations: good === undefined ? [] : [good],
  });
  expect((await app.call("sources.list", {})).items.map(({ name }) => name).toSorted()).toEqual([
    "New",
    "Renamed",
  ]);
});

test("an export has no credentials unless they are asked for; read back, they stay as they are, and what nobody knows is named", async ({
  start,
}) => {
  const app = await start.app();
  const source = await app.call("sources.create", { name: "Web", writeKey: "k" });
  const webhooks = [
    {
      url: "https://ada:s3cr3t@a.localhost/?token=s3cr3t&x=1",
      headers: { Authorization: "Bearer s3cr3t", "X-Team": "a" },
    },
  ];
  await app.call("destinations.create", {
    name: "Shop",
    sourceIds: [source.id],
    webhooks,
    sharedSecret: "s3cr3t",
  });
  const plain = [{ url: "http://c.localhost/", headers: {} }];
  await app.call("destinations.create", { name: "Unsigned", sourceIds: [], webhooks: plain });
  const endpoint = "https://ada:s3cr3t@b.localhost/";
  await app.call("clients.create", { name: "Phone", writeKey: "k", endpoint });
  const document = await app.call("configuration.export", {});
  expect(JSON.stringify(document)).not.toContain("s3cr3t");
  expect(document.destinations?.[0]?.webhooks).toEqual([
    {
      url: "https://left-out:left-out@a.localhost/?token=left-out&x=1",
      headers: { Authorization: "left-out", "X-Team": "a" },
    },
  ]);

  expect(await app.call("configuration.import", document)).toEqual({ created: 0, updated: 5 });
  const [shop] = (await app.call("destinations.list", {})).items;
  expect(shop).toMatchObject({ webhooks, hasSharedSecret: true });
  expect(await app.call("destinations.secret", { id: shop?.id ?? "" })).toMatchObject({
    sharedSecret: "s3cr3t",
  });

  await app.call("pipeline.reset", { what: "everything" });
  const { missing } = await app.call("configuration.import", document);
  expect(missing).toEqual([
    "Shop: the credentials in the URL https://left-out:left-out@a.localhost/?token=left-out&x=1",
    "Shop: the value of Authorization for https://left-out:left-out@a.localhost/?token=left-out&x=1",
    "Shop: the shared secret",
    "Phone: the credentials in the URL https://left-out:left-out@b.localhost/",
  ]);
  expect((await app.call("destinations.list", {})).items).toMatchObject([
    { name: "Shop", hasSharedSecret: false },
    { name: "Unsigned", hasSharedSecret: false },
  ]);
});

test("a document names no port of the installation that it comes from, and gets those of the one that reads it", async ({
  start,
}) => {
  const [first, second] = [await start.app(), await start.app()];
  const port = (url: string): string => new URL(url).port;
  const document = {
    version: 1 as const,
    sources: [{ name: "Web", writeKey: "k" }],
    endpoints: [
      { name: "Flaky one", steps: [{ do: "forward" as const, to: "http://127.0.0.1:9/" }] },
    ],
    destinations: [
      {
        name: "Shop",
        sources: ["k"],
        webhooks: [
          { endpoint: "Flaky one" },
          { url: `https://valid.localhost:${port(first.endpointsTlsUrl)}/flaky-one?a=1` },
          { url: "http://127.0.0.1:9/mine" },
        ],
      },
      {
        kind: "webhooks-actions" as const,
        name: "Mapped",
        sources: ["k"],
        webhooks: [],
        mappings: [{ name: "All", url: `${first.endpointsUrl}/flaky-one` }],
      },
    ],
    clients: [{ name: "Server", writeKey: "k", endpoint: first.ingestUrl }],
  };
  await first.call("configuration.import", document);
  const exported = await first.call("configuration.export", { secrets: true });
  expect(exported.destinations?.[0]?.webhooks.map(({ url }) => url)).toEqual([
    "http://127.0.0.1:{endpointsPort}/flaky-one",
    "https://valid.localhost:{endpointsTlsPort}/flaky-one?a=1",
    "http://127.0.0.1:9/mine",
  ]);
  expect(exported.destinations?.[1]?.mappings?.[0]?.url).toBe(
    "http://127.0.0.1:{endpointsPort}/flaky-one",
  );
  expect(exported.clients?.[0]?.endpoint).toBe("http://127.0.0.1:{ingestPort}");

  await second.call("configuration.import", exported);
  const [shop, mapped] = (await second.call("destinations.list", {})).items;
  expect(shop?.webhooks.map(({ url }) => url)).toEqual([
    `${second.endpointsUrl}/flaky-one`,
    `https://valid.localhost:${port(second.endpointsTlsUrl)}/flaky-one?a=1`,
    "http://127.0.0.1:9/mine",
  ]);
  expect(mapped?.mappings[0]?.url).toBe(`${second.endpointsUrl}/flaky-one`);
  expect((await second.call("clients.list", {})).items[0]?.endpoint).toBe(second.ingestUrl);
  await second.call("configuration.import", document);
  const [again] = (await second.call("destinations.list", {})).items;
  expect(again?.webhooks[0]).toEqual(shop?.webhooks[0]);

  const unknown = {
    ...document,
    endpoints: [],
    destinations: [{ name: "X", sources: [], webhooks: [{ endpoint: "nope" }] }],
  };
  expect(await first.refused("configuration.import", unknown)).toMatchObject({
    code: "invalid",
  });
});

test("a fault that was taken away is in front of its webhook again once its document is read back", async ({
  start,
}) => {
  const app = await start.app();
  const { id, webhooks } = await app.destination(["http://127.0.0.1:9/mine"]);
  const at = { id, webhookId: webhooks[0]?.id ?? "" };
  await app.call("destinations.putFault", { ...at, status: 503 });
  const exported = await app.call("configuration.export", { secrets: true });
  await app.call("destinations.undoFault", at);
  await app.call("configuration.import", exported);
  const [endpoint] = (await app.call("endpoints.list", {})).items;
  expect(endpoint?.inFrontOf).toMatchObject({ destinationId: id, url: "http://127.0.0.1:9/mine" });
  expect((await app.call("destinations.get", { id })).webhooks).toMatchObject([
    { url: endpoint?.url },
  ]);
});

test("a document without credentials and without the fault in front of a webhook leaves the webhook, its headers and the fault as they are", async ({
  start,
}) => {
  const app = await start.app();
  const url = "http://ada:s3cr3t@127.0.0.1:9/mine";
  const headersOf = (value: string) => ({ Authorization: value });
  const { id, webhooks } = await app.destination([
    { url, headers: headersOf("first") },
    { url, headers: headersOf("second") },
  ]);
  const at = { id, webhookId: webhooks[1]?.id ?? "" };
  const plain = await app.call("configuration.export", {});
  await app.call("destinations.putFault", { ...at, lose: "answer" });
  const before = await app.call("destinations.get", { id });
  expect(before.webhooks[1]?.behind).toMatchObject({ url });
  const behind = await app.call("configuration.export", {});
  for (const document of [plain, behind]) {
    expect(await app.call("configuration.import", document)).not.toHaveProperty("missing");
    expect(await app.call("destinations.get", { id })).toEqual(before);
  }

  await app.call("destinations.undoFault", at);
  await app.call("configuration.import", behind);
  expect((await app.call("destinations.get", { id })).webhooks).toMatchObject(
    before.webhooks.map(({ behind: fault, ...webhook }) =>
      fault === undefined ? webhook : { ...webhook, behind: { url } },
    ),
  );
});

test("settings whose default is a retry profile of the document are read with it, and are no obstacle for later documents", async ({
  start,
}) => {
  const app = await start.app();
  await app.call("sources.create", { name: "Web", writeKey: "k" });
  const document = {
    version: 1 as const,
    settings: { retryProfile: "mine" },
    retryProfiles: [{ name: "mine", windowMs: 60_000 }],
    destinations: [{ name: "CRM", sources: ["k"], webhooks: [{ url: "http://a.localhost/" }] }],
  };
  await app.call("configuration.import", document);
  expect((await app.call("destinations.list", {})).items).toMatchObject([{ retryProfile: "mine" }]);

  const members = { name: "Staff", members: ["ada"], destinations: ["CRM"] };
  await app.call("configuration.import", { version: 1, audiences: [members] });
  const exported = await app.call("configuration.export", { secrets: true });
  const other = await start.app();
  await other.call("configuration.import", exported);
  expect(await other.call("configuration.export", { secrets: true })).toEqual(exported);
});

test("an installation keeps its own limit of bytes when the configuration comes from memory or from a file, and after a change of another setting", async ({
  start,
}) => {
  const inMemory = await start.app();
  const inFile = await start.app({ data: await start.directory() });
  const maxBytes = async (app: RunningApp) => (await app.call("settings.get", {})).maxBytes;
  for (const [from, to, limit] of [
    [inMemory, inFile, 20_000_000_000],
    [inFile, inMemory, 250_000_000],
  ] as const) {
    await from.call("settings.update", { vendor: "Acme" });
    await to.call("configuration.import", await from.call("configuration.export", {}));
    expect(await maxBytes(to)).toBe(limit);
  }
  await inMemory.call("settings.update", { maxBytes: 2_000_000 });
  await inFile.call("configuration.import", await inMemory.call("configuration.export", {}));
  expect(await maxBytes(inFile)).toBe(2_000_000);
});

test("a document that is read again leaves the time of the next sync as it is", async ({
  start,
}) => {
  const app = await start.app({ clock: "paused" });
  const syncing = (minutes: number) => ({
    version: 1 as const,
    audiences: [{ name: "Buyers", rule: { event: "Bought" }, sync: { everyMs: minutes * 60_000 } }],
  });
  const nextIn = async () => {
    const [audience] = (await app.call("audiences.list", {})).items;
    const { now } = await app.call("clock.get", {});
    return (Date.parse(audience?.nextSyncAt ?? "") - Date.parse(now)) / 60_000;
  };
  await app.call("configuration.import", syncing(60));
  await app.advance({ byMs: 50 * 60_000 });
  await app.call("configuration.import", syncing(60));
  expect(await nextIn()).toBe(10);
  await app.advance({ byMs: 15 * 60_000 });
  expect(await nextIn()).toBe(55);
  await app.call("configuration.import", syncing(30));
  expect(await nextIn()).toBe(30);
});

test("a document that is read again neither rewinds test endpoints nor starts the faults of sources again", async ({
  start,
}) => {
  const app = await start.app();
  const document = (status: number) => ({
    version: 1 as const,
    sources: [
      { writeKey: "k", name: "Web", faults: [{ do: "answer" as const, status, times: 1 }] },
    ],
    endpoints: [
      {
        name: "Flaky",
        steps: [
          { do: "answer" as const, status, times: 2 },
          { do: "answer" as const, status: 200 },
        ],
      },
    ],
  });
  const ingested = async () =>
    (
      await fetch(`${app.ingestUrl}/v1/track`, {
        method: "POST",
        headers: { Authorization: `Basic ${btoa("k:")}` },
        body: JSON.stringify({ userId: "ada", event: "Bought" }),
      })
    ).status;
  const received = async () =>
    (await fetch(`${app.endpointsUrl}/flaky`, { method: "POST", body: "{}" })).status;
  await app.call("configuration.import", document(503));
  expect([await ingested(), await received(), await received()]).toEqual([503, 503, 503]);
  await app.call("configuration.import", document(503));
  expect([await ingested(), await received()]).toEqual([200, 200]);
  await app.call("configuration.import", document(500));
  expect([await ingested(), await received()]).toEqual([500, 500]);
});

test("a source of a document is not that of an audience with its name", async ({ start }) => {
  const app = await start.app();
  await app.call("audiences.create", { name: "VIP", members: ["ada"] });
  const destination = { name: "CRM", sources: ["VIP"], webhooks: [{ url: "http://a.localhost/" }] };
  const document = {
    version: 1 as const,
    sources: [{ name: "VIP", kind: "web" as const }],
    destinations: [destination],
  };
  const alone = { version: 1 as const, destinations: [destination] };
  expect(await app.refused("configuration.import", alone)).toMatchObject({ code: "invalid" });
  for (const created of [2, 0])
    expect(await app.call("configuration.import", document)).toMatchObject({ created });
  const [ofAudience, source, ...others] = (await app.call("sources.list", {})).items;
  expect([ofAudience?.kind, source?.kind, others]).toEqual(["audience", "web", []]);
  const [connected] = (await app.call("destinations.list", {})).items;
  expect(connected?.sourceIds).toEqual([source?.id]);
});

test("of two webhooks of one URL, the one behind a fault stays behind it wherever a document lists it", async ({
  start,
}) => {
  const app = await start.app();
  const url = "http://127.0.0.1:9/mine";
  const { id, webhooks } = await app.destination([
    { url, headers: { "X-Nth": "first" } },
    { url, headers: { "X-Nth": "second" } },
  ]);
  await app.call("destinations.putFault", { id, webhookId: webhooks[0]?.id ?? "", status: 503 });
  const before = await app.call("destinations.get", { id });
  const document = await app.call("configuration.export", {});
  for (const destination of document.destinations ?? []) destination.webhooks.reverse();
  await app.call("configuration.import", document);
  expect((await app.call("destinations.get", { id })).webhooks).toEqual(before.webhooks.reverse());
});
