import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, get } from "node:http";
import type { AddressInfo } from "node:net";
import { connect } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createFeed, startControlPort, token } from "./control-port.fixture.ts";
import { streamChanges } from "./events.ts";

let feed: ReturnType<typeof createFeed>;
let control: Awaited<ReturnType<typeof startControlPort>>;
beforeEach(async () => {
  feed = createFeed();
  control = await startControlPort({ changes: feed.feed });
});
afterEach(async () => {
  vi.useRealTimers();
  await control.stop();
});

/** Reads events as they come; `next` waits for one. */
async function listen(path = "/api/events", headers: Record<string, string> = {}) {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get(
      `${control.url}${path}`,
      { agent: false, headers: { Authorization: `Bearer ${token}`, ...headers } },
      resolve,
    ).on("error", reject);
  });
  response.setEncoding("utf8");
  const blocks = (async function* () {
    let text = "";
    for await (const chunk of response) {
      text += chunk as string;
      for (let end = text.indexOf("\n\n"); end !== -1; end = text.indexOf("\n\n")) {
        yield text.slice(0, end);
        text = text.slice(end + 2);
      }
    }
  })();
  return {
    response,
    next: async () => (await blocks.next()).value,
    close: () => response.destroy(),
  };
}

test("a change is an event with its sequence number as the id", async () => {
  const stream = await listen();
  expect(stream.response.headers["content-type"]).toBe("text/event-stream; charset=utf-8");
  expect(await stream.next()).toBe("id: 0");
  feed.push(["msg_1"]);
  expect(await stream.next()).toBe(
    'id: 1\nevent: change\ndata: {"sequence":1,"area":"messages","ids":["msg_1"],"count":1,"added":0}',
  );
  stream.close();
});

test.each([
  ["/api/events?after=1", {}],
  ["/api/events", { "Last-Event-ID": "1" }],
  ["/api/events?after=0", { "Last-Event-ID": "1" }],
  ["/api/events?after=1", { "Last-Event-ID": "" }],
])("a client resumes after what it saw: %s %j", async (path, headers) => {
  for (const id of ["a", "b", "c"]) feed.push([id]);
  const stream = await listen(path, headers);
  expect(await stream.next()).toContain('"ids":["b"]');
  expect(await stream.next()).toContain('"ids":["c"]');
  stream.close();
});

test("a client that missed more than may be left unread reads everything again, and its stream stays", async () => {
  const ids = Array.from({ length: 100 }, (_, n) => `msg_${String(n).padStart(20, "0")}`);
  for (let n = 0; n < 1000; n += 1) feed.push(ids);
  const stream = await listen("/api/events?after=0");
  expect(await stream.next()).toBe('id: 1000\nevent: resync\ndata: {"sequence":1000}');
  feed.push(["next"]);
  expect(await stream.next()).toContain('"ids":["next"]');
  stream.close();
});

test("numbers as large as a time in microseconds can be resumed from", async () => {
  const now = 1_795_247_801_478_000;
  feed.forgetUpTo(now);
  feed.push(["a"]);
  feed.push(["b"]);
  const stream = await listen(`/api/events?after=${now + 1}`);
  expect(await stream.next()).toContain('"ids":["b"]');
  stream.close();
});

test.each(["1", "99", "soon"])(
  "a client that saw %s last must read everything again",
  async (after) => {
    for (const id of ["a", "b", "c"]) feed.push([id]);
    feed.forgetUpTo(2);
    const stream = await listen(`/api/events?after=${after}`);
    expect(await stream.next()).toBe('id: 3\nevent: resync\ndata: {"sequence":3}');
    feed.push(["d"]);
    expect(await stream.next()).toContain('"ids":["d"]');
    stream.close();
  },
);

test("a client that does not read is dropped", async () => {
  const stream = await listen();
  await stream.next();
  stream.response.pause();
  const ids = [`x${"x".repeat(100_000)}`];
  // Socket buffers of both ends take some megabytes first.
  for (let sent = 0; feed.listeners.size > 0 && sent < 1000; sent += 1) {
    feed.push(ids);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(feed.listeners.size).toBe(0);
  stream.response.on("error", () => undefined);
  stream.close();
});

test("a client may be a megabyte behind, and is dropped when it is farther behind", async () => {
  const opened = Promise.withResolvers<ServerResponse>();
  const server = createServer((_request, response) => {
    streamChanges({ response, changes: feed.feed, after: null });
    opened.resolve(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  socket.on("error", () => undefined);
  socket.pause();
  socket.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const response = await opened.promise;
  const limit = 1024 * 1024;
  // The socket's own buffers are filled before anything waits in the process.
  while (response.writableLength < limit - 60_000 && !response.destroyed) {
    feed.push(["x".repeat(25_000)]);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(response.destroyed).toBe(false);
  feed.push(["x".repeat(70_000)]);
  expect(response.destroyed).toBe(true);
  feed.push(["nobody reads this"]);
  socket.destroy();
  await new Promise((resolve) => server.close(resolve));
});

test("a stream says every fifteen seconds that it is still there, for as long as its client is", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const stream = await listen();
  await stream.next();
  for (const id of ["a", "b"]) {
    vi.advanceTimersByTime(14_999);
    feed.push([id]);
    vi.advanceTimersByTime(1);
    expect(await stream.next()).toContain(`"ids":["${id}"]`);
    expect(await stream.next()).toBe(": still here");
  }
  stream.close();
  await expect.poll(() => feed.listeners.size).toBe(0);
  expect(vi.getTimerCount()).toBe(0);
});

test("a client that goes is forgotten", async () => {
  const stream = await listen();
  await stream.next();
  expect(feed.listeners.size).toBe(1);
  stream.close();
  await expect.poll(() => feed.listeners.size).toBe(0);
});

test("nothing of a stream is kept once its client has gone", async () => {
  const stream = await listen();
  await stream.next();
  const kept = [...feed.listeners].map((listener) => new WeakRef(listener));
  stream.close();
  await expect.poll(() => feed.listeners.size).toBe(0);
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const isKept = (): boolean => {
    collect();
    return kept.some((one) => one.deref() !== undefined);
  };
  await expect.poll(isKept).toBe(false);
});

test("stopping ends the streams", async () => {
  const stream = await listen();
  await stream.next();
  await control.stop();
  expect(await stream.next()).toBeUndefined();
  expect(feed.listeners.size).toBe(0);
});
