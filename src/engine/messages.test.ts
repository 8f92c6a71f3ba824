/** What a user does with messages: adopting keys, sending, sending again, pinning. */

import { createServer } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { sourceIds, type MessageRowId, type SourceId } from "../domain/ids.ts";
import type { Destination } from "../domain/configuration.ts";
import { isProblem, problem } from "../domain/problem.ts";
import { openTestStore, request, startOfTime } from "../store/store.fixture.ts";
import { createChangeFeed } from "./changes.ts";
import { openConfiguration } from "./configuration.fixture.ts";
import { close, listen } from "./http-port.ts";
import { createIngestClient, createMessages } from "./messages.ts";

function startMessages() {
  const { store } = openTestStore();
  const feed = createChangeFeed();
  onTestFinished(() => feed.stop());
  const noted: string[] = [];
  const changes = {
    ...feed,
    note: (area: string, id: string | null) => void noted.push(`${area} ${id}`),
  };
  const configuration = openConfiguration({ store, clock: { now: () => 0 }, changes: feed });
  const calls: unknown[] = [];
  const adopting = { failure: null as Error | null };
  const messages = createMessages({
    ...{ store, configuration, changes },
    ingest: {
      async adopt(writeKey) {
        await Promise.resolve();
        if (adopting.failure !== null) throw adopting.failure;
        calls.push(["adopt", writeKey, noted.length]);
      },
      replay: (id) => Promise.resolve({ id, messageId: "again" }),
      routedAgain: (id, destinations) => ({ id, destinations }) as never,
      sendAgain: (id) => (id === 2 ? null : Promise.resolve()) as never,
    },
    ingestClient: {
      send: (...call) => {
        calls.push(call);
        return Promise.resolve({ status: 200, body: "" });
      },
    },
  });
  return {
    ...{ store, configuration, noted, calls, adopting, messages },
    keep(writeKey: string): void {
      store.keepUnknownKeyRequest(
        {
          ...{ writeKey, receivedAt: startOfTime, wallAt: startOfTime, method: "POST" },
          ...{ path: "/v1/track", headers: [], ip: null, body: Buffer.from("{}") },
        },
        1000,
      );
    },
  };
}

const missing = { status: 404, code: "not_found" };

test("a key that is kept is adopted by a new source or by the one that has it, and announced also when that fails", async () => {
  const one = startMessages();
  expect(one.messages.unknownKeys()).toEqual([]);
  expect(await one.messages.adopt("new", "New")).toMatchObject(missing);
  one.keep("new");
  one.keep("other");
  expect(
    one.messages
      .unknownKeys()
      .map(({ writeKey }) => writeKey)
      .toSorted(),
  ).toEqual([...["new", "other"]]);
  expect(await one.messages.adopt("new", "New")).toMatchObject({ name: "New", writeKey: "new" });
  expect([one.calls, one.noted]).toEqual([[["adopt", "new", 0]], ["unknown-keys new"]]);
  // It is still kept: an adoption that a crash interrupted.
  expect(await one.messages.adopt("new", "Newer")).toMatchObject({ name: "New" });
  expect(one.configuration.sources()).toHaveLength(1);
  one.adopting.failure = new Error("no room");
  await expect(one.messages.adopt("other", "Other")).rejects.toThrow("no room");
  expect(one.noted).toEqual(["unknown-keys new", "unknown-keys new", "unknown-keys other"]);
  one.keep("a:b");
  expect(await one.messages.adopt("a:b", "Wrong")).toMatchObject({ status: 400 });
  expect(one.calls).toHaveLength(2);
});

test("a key is forgotten with its requests", () => {
  const one = startMessages();
  expect(one.messages.forgetUnknownKey("new")).toMatchObject(missing);
  one.keep("new");
  expect(one.messages.forgetUnknownKey("new")).toBeNull();
  expect([one.messages.unknownKeys(), one.noted]).toEqual([[], ["unknown-keys new"]]);
});

test("a source sends what is composed with its key, and one of an audience or none sends nothing", async () => {
  const one = startMessages();
  const source = one.configuration.createSource({ name: "Shop", writeKey: "key" });
  if (isProblem(source)) throw new Error(source.message);
  const own = one.configuration.createOwnSource("Big");
  expect(await one.messages.send(source.id, "track", "{}")).toEqual({ status: 200, body: "" });
  expect(one.calls).toEqual([["key", "track", "{}"]]);
  expect(await one.messages.send(own.id, "track", "{}")).toMatchObject({
    ...{ status: 409, code: "audience_source" },
  });
  expect(await one.messages.send(99 as SourceId, "track", "{}")).toMatchObject({
    ...{ ...missing, message: expect.stringContaining(sourceIds.format(99 as SourceId)) as string },
  });
  expect(one.calls).toHaveLength(1);
});

test("messages are sent again and counted, those that cannot be are not, and a pin is announced", async () => {
  const one = startMessages();
  const ids = [1, 2, 3].map((id) => ({ id: id as MessageRowId, messageId: `m${id}` }));
  expect(await one.messages.sendAgain(ids, { id: 1 } as Destination)).toBe(2);
  expect(await one.messages.replay(5 as MessageRowId)).toEqual({ id: 5, messageId: "again" });
  expect(one.messages.routedAgain(5 as MessageRowId, [])).toEqual({ id: 5, destinations: [] });
  expect(one.messages.pin(1 as MessageRowId, true)).toMatchObject(missing);
  expect(one.noted).toEqual([]);
  one.store.commit([request([{}])]);
  expect(one.messages.pin(1 as MessageRowId, true)).toBeNull();
  expect([one.noted, one.store.message(1 as MessageRowId)?.pinned]).toEqual([
    ["messages msg_000000001"],
    true,
  ]);
  expect(one.messages.pin(1 as MessageRowId, false)).toBeNull();
  expect(one.store.message(1 as MessageRowId)?.pinned).toBe(false);
});

test.for([
  [true, "close"],
  [false, "keep-alive"],
] as const)(
  "the own client is one like any other, steady: %s, and says when there is no answer",
  async ([steady, connection]) => {
    const seen: unknown[] = [];
    const server = createServer((received, response) => {
      const { method, url, headers } = received;
      let body = "";
      received.on("data", (chunk) => (body += String(chunk)));
      received.on("end", () => {
        seen.push([method, url, headers["authorization"], headers["connection"], body]);
        response.writeHead(418).end("short and stout");
      });
    });
    const port = await listen(server, "127.0.0.1", 0);
    const client = createIngestClient({
      ingestUrl: () => `http://127.0.0.1:${port}`,
      ...(steady ? { steady } : {}),
    });
    const key = Buffer.from("key:").toString("base64");
    expect(await client.send("key", "batch", "{}")).toEqual({
      ...{ status: 418, body: "short and stout" },
    });
    expect(seen).toEqual([["POST", "/v1/batch", `Basic ${key}`, connection, "{}"]]);
    await close(server, 0);
    expect(await client.send("key", "batch", "{}")).toEqual(
      problem(502, "no_answer", expect.stringContaining("without an answer") as never),
    );
  },
);
