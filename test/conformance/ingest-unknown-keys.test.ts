/** Requests whose write key no source has: refused, kept, and accepted once the key is adopted. */

import { gzipSync } from "node:zlib";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { startIngestApp } from "../support/ingest-app.ts";
import { basic, post, talk } from "../support/ingest-client.ts";

const track = { type: "track", userId: "u", event: "e" };

test("are 401 and listed, with their key and how often it came", async () => {
  const app = await startIngestApp();
  expect(await app.send("/v1/track", track, { key: "lost" })).toMatchObject({
    status: 401,
    json: { success: false, code: "unknown_write_key", message: expect.stringContaining('"lost"') },
  });
  await app.send("/v1/batch", { batch: [track] }, { key: "lost" });
  await app.send("/v1/t", { ...track, writeKey: "in/the body?" }, { key: null });
  await app.send("/v1/t?writeKey=in%20query", track, { key: null });
  expect(
    (await app.call("unknownKeys.list", {})).items.toSorted((one, other) =>
      one.writeKey < other.writeKey ? -1 : 1,
    ),
  ).toMatchObject([
    { writeKey: "in query", requests: 1, lastPath: "/v1/t?writeKey=in%20query" },
    { writeKey: "in/the body?", requests: 1 },
    { writeKey: "lost", requests: 2, lastPath: "/v1/batch" },
  ]);
  expect(await app.messages()).toEqual([]);
});

test("adopting the key makes it a source and takes them in, in order, as they came", async () => {
  const app = await startIngestApp();
  await app.call("clock.set", { mode: "paused" });
  const { now } = await app.call("clock.get", {});
  const bodies = [
    `{"userId":"u","event":"first","properties":{"n":1.0}}`,
    `{"batch":[{"type":"track","userId":"u","event":"second"},{"type":"track"}]}`,
  ];
  const headers = { Authorization: basic("lost"), "User-Agent": "t/1" };
  await talk(app.port, [post("/prefix/v1/track/", bodies[0] ?? "", headers)]);
  await talk(app.port, [
    post("/v1/batch", gzipSync(bodies[1] ?? ""), { ...headers, "Content-Encoding": "gzip" }),
  ]);
  await app.call("clock.advance", { byMs: 60_000 });

  const source = await app.call("unknownKeys.adopt", { writeKey: "lost", name: "Found" });
  expect(source).toMatchObject({ name: "Found", writeKey: "lost" });
  const messages = await app.messages({ sourceId: source.id });
  expect(messages.map(({ event, state, reason, raw }) => [event, state, reason, raw])).toEqual([
    ["first", "filtered", "no_destination", bodies[0]],
    ["second", "filtered", "no_destination", `{"type":"track","userId":"u","event":"second"}`],
    [null, "rejected", "missing_user_id", `{"type":"track"}`],
  ]);
  // The event happened when the request came, not when somebody found it.
  expect(messages[0]?.timestamp).toBe(now);
  expect(messages[0]?.request).toMatchObject({ method: "POST", path: "/prefix/v1/track/" });
  expect(await app.call("unknownKeys.list", {})).toEqual({ items: [] });
  expect((await app.api("unknownKeys.adopt", { writeKey: "lost", name: "Again" })).status).toBe(
    404,
  );

  const destination = await app.destination({ sourceIds: [source.id] });
  expect(await app.send("/v1/track", { ...track, event: "third" }, { key: "lost" })).toMatchObject({
    status: 200,
  });
  expect(await destination.received()).toMatchObject([{ event: "third" }]);
});

test("what an adopted key accepts is routed like any other message", async () => {
  const app = await startIngestApp();
  const kept = { ...track, messageId: "m", context: { ip: "203.0.113.1" } };
  await app.send("/v1/track", kept, { key: "lost" });
  await app.send("/v1/track", kept, { key: "lost" });
  await app.call("unknownKeys.adopt", { writeKey: "lost", name: "Found" });
  expect((await app.messages()).map(({ state, event }) => [state, event])).toEqual([
    ["filtered", "e"],
    ["duplicate", "e"],
  ]);
  const [message] = await app.messages();
  const destination = await app.destination({ sourceIds: [message?.sourceId ?? ""] });
  await app.call("messages.replay", { id: message?.id ?? "" });
  expect(await destination.received()).toMatchObject([
    { event: "e", context: { ip: "203.0.113.1" } },
  ]);
});

test("a key can be forgotten", async () => {
  const app = await startIngestApp();
  await app.send("/v1/track", track, { key: "lost" });
  await app.call("unknownKeys.forget", { writeKey: "lost" });
  expect(await app.call("unknownKeys.list", {})).toEqual({ items: [] });
});

test("one of 200 characters is kept; a longer one, or one with a colon, belongs to no source", async () => {
  const app = await startIngestApp();
  const key = "k".repeat(200);
  for (const [sent, sentence] of [
    [key, "Hookyard has stored this request for it."],
    [`${key}l`, "which is too long for one: 201 characters."],
  ] as const)
    expect(await app.send("/v1/track", track, { key: sent })).toMatchObject({
      status: 401,
      json: { message: expect.stringContaining(sentence) as string },
    });
  expect(await app.send("/v1/track", { ...track, writeKey: "a:b" }, { key: null })).toMatchObject({
    status: 401,
    json: { message: expect.stringContaining("it has a colon") as string },
  });
  const { items } = await app.call("unknownKeys.list", {});
  expect(items.map(({ writeKey }) => writeKey)).toEqual([key]);
  expect((await app.call("refused.list", {})).items).toMatchObject([
    { code: "unknown_write_key", writeKey: "a:b", count: 2 },
  ]);
});

test("a source has a key of 200 characters at most, as the answer to a longer one says", async () => {
  const app = await startIngestApp();
  const create = (length: number) =>
    app.api("sources.create", { name: "Long", writeKey: "k".repeat(length) });
  expect(await create(201)).toMatchObject({
    status: 400,
    body: { message: "A write key has at most 200 characters." },
  });
  expect(await create(200)).toMatchObject({ status: 201 });
});

test("in production they are answered with success, and listed all the same", async () => {
  const app = await startIngestApp();
  await app.call("settings.update", { unknownKeys: "production" });
  expect(await app.send("/v1/track", track, { key: "lost" })).toMatchObject({
    status: 200,
    text: `{"success":true}`,
  });
  expect(await app.send("/v1/track", track, { key: null })).toMatchObject({ status: 200 });
  expect(await app.send("/v1/track", "{", { key: "lost" })).toMatchObject({ status: 400 });
  expect((await app.call("unknownKeys.list", {})).items).toMatchObject([
    { writeKey: "lost", requests: 1 },
  ]);
});

test("the newest thousand are kept", async () => {
  const app = await startIngestApp();
  const first = post("/v1/track", JSON.stringify({ ...track, event: "first" }), {
    Authorization: basic("lost"),
  });
  const other = post("/v1/track", JSON.stringify(track), { Authorization: basic("lost") });
  const { answers } = await talk(
    app.port,
    [first, Buffer.concat(Array.from({ length: 1000 }, () => other))],
    { answers: 1001 },
  );
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 401));
  expect((await app.call("unknownKeys.list", {})).items).toMatchObject([
    { writeKey: "lost", requests: 1000 },
  ]);
  await app.call("unknownKeys.adopt", { writeKey: "lost", name: "Found" });
  expect((await app.call("messages.list", { event: "first" })).items).toEqual([]);
});

test("a user who is deleted and suppressed while kept requests are accepted does not come back with their rest", async () => {
  const app = await startIngestApp();
  await app.send("/v1/batch", { batch: Array.from({ length: 300 }, () => track) }, { key: "lost" });
  const webhooks = [{ url: "http://a.localhost/" }];
  // Each message has a decision of each destination, so the request is accepted in parts.
  const destinations = Array.from({ length: 100 }, (_, nth) => ({
    ...{ name: `D${nth}`, sources: ["lost"], enabled: false, webhooks },
  }));
  const sources = [{ name: "Found", writeKey: "lost" }];
  await app.call("configuration.import", { version: 1, sources, destinations });
  const adopted = app.call("unknownKeys.adopt", { writeKey: "lost", name: "Found" });
  while ((await app.call("messages.list", {})).total === 0) await nextTurn();
  await app.call("deletions.create", { userIds: [track.userId] });
  await adopted;
  await app.call("pipeline.settle", {});
  expect((await app.call("messages.list", {})).total).toBe(300);
  expect((await app.call("profiles.list", {})).items).toEqual([]);
});
