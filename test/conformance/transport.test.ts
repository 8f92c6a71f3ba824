/**
 * One suite for the inspector's two transports: over each, the same calls have the same answers,
 * errors and changes.
 */

import { MessageChannel } from "node:worker_threads";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { App } from "../../src/app.ts";
import { createApp } from "../../src/app.ts";
import { createPortApi } from "../../src/api/port-api.ts";
import { createControlPort } from "../../src/headless/http-api.ts";
import { createStaticPages } from "../../src/headless/static-pages.ts";
import { createPortTransport, type Port } from "../../src/renderer/transport/port.ts";
import {
  showPipeline,
  type Change,
  type Connection,
  type Transport,
} from "../../src/renderer/transport/transport.ts";
import { lastingPort } from "../support/free-ports.ts";

/** A host that can go away and come back, with the same app or another. */
type Host = { transport: Transport; serve(app: App): Promise<void>; leave(): Promise<void> };
type HttpHost = Omit<Host, "serve"> & {
  serve(app: App, token?: string): Promise<void>;
  /** As when another tab is chosen in place of this one, and this one again. */
  hide(isHidden: boolean): void;
};

const stops: (() => Promise<unknown> | void)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).toReversed()) await stop();
  vi.unstubAllGlobals();
});

/** A variable, because the file is compiled for browsers. */
const httpFile: string = "../../src/renderer/transport/http.ts";

async function overHttp(): Promise<HttpHost> {
  const { createHttpTransport } = (await import(httpFile)) as {
    createHttpTransport(options: { token: string }): Transport;
  };
  const token = "t".repeat(43);
  const port = await lastingPort();
  const fetchAnywhere = globalThis.fetch;
  const document = Object.assign(new EventTarget(), { hidden: false });
  vi.stubGlobal("document", document);
  vi.stubGlobal("window", globalThis);
  vi.stubGlobal("fetch", (path: string, init: RequestInit) =>
    fetchAnywhere(`http://127.0.0.1:${port}${path}`, init),
  );
  let control: ReturnType<typeof createControlPort> | null = null;
  const host: HttpHost = {
    transport: createHttpTransport({ token }),
    async serve({ api }, expected = token) {
      control = createControlPort({
        api,
        token: expected,
        pages: createStaticPages([]),
        host: "127.0.0.1",
        port,
        report: fail,
      });
      await control.start();
    },
    async leave() {
      await control?.stop();
      control = null;
    },
    hide(isHidden) {
      document.hidden = isHidden;
      document.dispatchEvent(new Event("visibilitychange"));
    },
  };
  stops.push(() => host.leave());
  return host;
}

async function overPort(): Promise<Host> {
  const { promise: firstApp, resolve: setFirstApp } = Promise.withResolvers<App>();
  let next = { promise: firstApp, resolve: setFirstApp };
  let close: (() => void) | null = null;
  const host: Host = {
    transport: createPortTransport({
      async connect() {
        const { api } = await next.promise;
        const { port1, port2 } = new MessageChannel();
        const portApi = createPortApi({ api, send: (text) => port1.postMessage(text) });
        port1.on("message", (data) => portApi.receive(data));
        port1.on("close", () => portApi.end());
        close = () => port1.close();
        return port2 as unknown as Port;
      },
    }),
    async serve(app) {
      next.resolve(app);
    },
    async leave() {
      next = Promise.withResolvers<App>();
      close?.();
      close = null;
    },
  };
  stops.push(() => host.leave());
  return host;
}

function startApp(): App {
  const app = createApp({
    data: ":memory:",
    ports: { ingest: 0, endpoints: 0, endpointsTls: 0 },
    report: fail,
    version: "1.2.3",
  });
  stops.push(() => app.stop());
  return app;
}

function fail(error: unknown): never {
  throw error;
}

/** Everything that a watcher hears, and how to wait for some of it. */
function watching(transport: Transport) {
  const heard: (Change | "resync" | Connection)[] = [];
  const end = transport.watch({
    onChanges: (changes) => heard.push(...changes),
    onResync: () => heard.push("resync"),
    onConnection: (state) => heard.push(state),
  });
  stops.push(end);
  const hears = async (expected: unknown[]): Promise<void> => {
    await expect.poll(() => heard, { interval: 5 }).toEqual(expected);
  };
  /** Changes made just before may follow. */
  const isConnected = async (): Promise<void> => {
    await expect.poll(() => heard[0], { interval: 5 }).toBe("connected");
  };
  return { heard, end, hears, isConnected };
}

const changeOf = (area: string, ...ids: string[]): unknown => ({
  sequence: expect.any(Number),
  area,
  ids,
  count: expect.any(Number),
  added: 0,
});

describe.each([
  { name: "HTTP and server-sent events", open: overHttp },
  { name: "a message port", open: overPort },
])("over $name", ({ open }) => {
  async function opened() {
    const host = await open();
    const app = startApp();
    await host.serve(app);
    return { host, app, transport: host.transport };
  }

  test("queries answer what the API answers", async () => {
    const { app, transport } = await opened();
    await app.api.call("clock.set", { mode: "paused" });
    await app.api.call("sources.create", { name: "‮Shop <b>\u0000 \ud800", kind: "server" });
    const queries = [
      ["about.get", {}],
      ["sources.list", {}],
      ["settings.get", {}],
      ["clock.get", {}],
      ["stats.get", {}],
      ["messages.list", { limit: 5, type: ["track", "identify"], search: "a & b=c" }],
      ["messages.list", { limit: 1, state: undefined }],
    ] as const;
    for (const [name, input] of queries) {
      const { status, body } = await app.api.call(name, input);
      expect(status).toBe(200);
      expect(await transport.call(name, input as never)).toEqual(JSON.parse(JSON.stringify(body)));
    }
  });

  test("commands make, change and remove; a member that is undefined is not there", async () => {
    const { transport } = await opened();
    const made = await transport.call("sources.create", {
      name: "Shop",
      writeKey: "key",
      kind: "web",
    });
    expect(made).toMatchObject({ name: "Shop", writeKey: "key", kind: "web" });
    const changed = await transport.call("sources.update", {
      id: made.id,
      name: undefined,
      kind: "mobile",
    });
    expect(changed).toEqual({ ...made, kind: "mobile" });
    await transport.call("sources.delete", { id: made.id });
    expect(await transport.call("sources.list", {})).toEqual({ items: [] });
  });

  test("a text in a path may be of any characters, also of dots, which URLs resolve", async () => {
    const { transport } = await opened();
    for (const userId of ["..", ".", "%2E", ".%252e", "a/b?c#d", "é".repeat(16_000)]) {
      await transport.call("suppressions.create", { userIds: [userId] });
      expect(await transport.call("suppressions.lift", { userId })).toEqual({ userId });
    }
  });

  test("a simulated client is made, called, watched and read", async () => {
    const { app, transport } = await opened();
    await app.start();
    const source = await transport.call("sources.create", { name: "Shop" });
    const { id } = await transport.call("clients.create", {
      name: "Checkout",
      sourceId: source.id,
      flushAt: 2,
    });
    const watcher = watching(transport);
    await watcher.isConnected();
    const call = {
      userId: "u",
      event: "‮<b>\u0000 \ud800",
      properties: { __proto__: 1, total: 1.5, none: null },
    };
    await transport.call("clients.call", { id, type: "track", call });
    const { batchId } = await transport.call("clients.call", { id, type: "track", call });
    // One line with its creation, when both fall into one moment.
    await expect
      .poll(() => watcher.heard, { interval: 5 })
      .toContainEqual({ ...(changeOf("clients", id) as object), added: expect.any(Number) });
    await transport.call("pipeline.settle", {});
    const { items } = await transport.call("clients.batches", { id });
    expect(items).toMatchObject([
      { id: batchId, state: "sent", calls: [{ event: "‮<b>\u0000 \ud800" }, {}] },
    ]);
    const log = await transport.call("clients.log", { id, limit: 3 });
    expect(log.items.map(({ event }) => event)).toEqual(["sent", "sending", "flushed"]);
  });

  test("a check of a receiver is started, watched, read and stopped, and no answer holds the secret", async () => {
    const { app, transport } = await opened();
    await app.start();
    const sharedSecret = "s3cret of the shop";
    // It accepts every signature.
    const { url } = await transport.call("endpoints.create", {
      name: "Receiver",
      steps: [{ do: "answer", status: 200 }],
    });
    const shop = await transport.call("destinations.create", {
      name: "Shop",
      sourceIds: [],
      webhooks: [{ url }],
      sharedSecret,
    });
    const watcher = watching(transport);
    await watcher.isConnected();
    const only = ["signature-wrong", "duplicate"];
    const { id, checks } = await transport.call("checks.start", {
      url,
      useSecretOf: shop.id,
      only,
      seed: 7,
    });
    await expect.poll(async () => (await transport.call("checks.get", { id })).state).toBe("done");
    await expect
      .poll(() => watcher.heard, { interval: 5 })
      .toContainEqual({ ...(changeOf("checks", id) as object), added: expect.any(Number) });
    expect(checks.map(({ id: check }) => check)).toEqual(expect.arrayContaining(only));
    const [listed] = (await transport.call("checks.list", {})).items;
    const states = Object.fromEntries(listed?.checks.map((check) => [check.id, check.state]) ?? []);
    expect(states).toMatchObject({
      answers: "pass",
      "signature-wrong": "fail",
      duplicate: "skipped",
    });
    expect(listed).toMatchObject({
      id,
      url,
      seed: 7,
      state: "done",
      hasEffects: false,
      problem: null,
    });

    const result = await transport.call("checks.result", { id, check: "signature-wrong" });
    expect(result).toMatchObject({
      verdict: "fail",
      advice: "verify-signature",
      scenario: expect.stringContaining("signature: other-secret"),
    });
    expect(result.requests[0]).toMatchObject({ status: 200, sentAs: "signature other-secret" });
    const reports = await Promise.all(
      (["html", "json", "junit"] as const).map((as) => transport.call("checks.report", { id, as })),
    );
    expect(reports.map(({ file, next }) => [file, next])).toEqual([
      ["check.html", null],
      ["check.json", null],
      ["check.xml", null],
    ]);
    expect(JSON.parse(reports[1]?.text ?? "")).toMatchObject({ url, verdict: "fail", seed: 7 });
    expect(JSON.stringify([listed, result, reports])).not.toContain(sharedSecret);

    const second = await transport.call("checks.start", { url, secret: sharedSecret });
    expect(await transport.call("checks.stop", { id: second.id })).toMatchObject({
      id: second.id,
      state: "stopped",
    });
    expect(
      (await transport.call("checks.list", {})).items.map((one) => [one.id, one.state]),
    ).toEqual([
      [second.id, "stopped"],
      [id, "done"],
    ]);
  });

  test.each([
    ["checks.start", { url: "nowhere" }, 400],
    ["checks.start", { url: "http://127.0.0.1:1/", only: ["none"] }, 400],
    ["checks.start", { url: "http://127.0.0.1:1/", effects: { command: "id" } }, 400],
    ["checks.start", { url: "http://127.0.0.1:1/", effects: { url: "file:///etc/passwd" } }, 400],
    ["checks.start", { url: "http://127.0.0.1:1/", useSecretOf: "dst_000000009" }, 404],
    ["checks.get", { id: "chk_none" }, 404],
    ["checks.result", { id: "chk_none", check: "answers" }, 404],
    ["checks.report", { id: "chk_none", as: "html" }, 404],
    ["checks.stop", { id: "chk_none" }, 404],
    ["clients.get", { id: "clt_none" }, 404],
    ["clients.call", { id: "clt_000000001", type: "track", call: {} }, 404],
    ["sources.get", { id: "src_none" }, 404],
    ["sources.create", { name: 7 }, 400],
    ["sources.create", { name: "Shop", colour: "red" }, 400],
    ["clock.set", {}, 400],
    ["clock.advance", { byMs: -1 }, 400],
  ] as const)("%s with %j is refused in the API's words", async (name, input, status) => {
    const { app, transport } = await opened();
    const { body } = await app.api.call(name, input);
    const refusal = await transport.call(name, input as never).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(Error);
    expect(refusal).toMatchObject({ name: "CallError", status, ...(body as object) });
  });

  test("calls that run at the same time get each their own answer", async () => {
    const { transport } = await opened();
    const names = Array.from({ length: 50 }, (_, index) => `Source ${index}`);
    const settled = transport.call("pipeline.settle", { timeoutMs: 1 });
    const made = await Promise.all(names.map((name) => transport.call("sources.create", { name })));
    expect(made.map(({ name }) => name)).toEqual(names);
    expect(await settled).toMatchObject({ settled: true });
  });

  test("a watcher hears of changes until it ends", async () => {
    const { app, transport } = await opened();
    const watcher = watching(transport);
    await watcher.hears(["connected"]);
    const { id } = await transport.call("sources.create", { name: "Shop" });
    await watcher.hears(["connected", changeOf("sources", id)]);
    watcher.end();
    const other = watching(transport);
    await other.hears(["connected"]);
    await app.api.call("sources.update", { id, name: "Store" });
    await other.hears(["connected", changeOf("sources", id)]);
    expect(watcher.heard).toHaveLength(2);
  });

  test("after an interruption a watcher goes on with exactly what it missed", async () => {
    const { app, host, transport } = await opened();
    const watcher = watching(transport);
    await watcher.hears(["connected"]);
    const { id } = await transport.call("sources.create", { name: "Shop" });
    await watcher.hears(["connected", changeOf("sources", id)]);

    await host.leave();
    await watcher.hears(["connected", changeOf("sources", id), "lost"]);
    const before = app.api.changes.sequence();
    await app.api.call("sources.update", { id, name: "Store" });
    await expect.poll(() => app.api.changes.sequence(), { interval: 5 }).toBeGreaterThan(before);
    await host.serve(app);
    await watcher.hears([
      "connected",
      changeOf("sources", id),
      "lost",
      "connected",
      changeOf("sources", id),
    ]);
    expect(await transport.call("sources.get", { id })).toMatchObject({ name: "Store" });
  });

  test("after another start of the host everything must be read again", async () => {
    const { host, transport } = await opened();
    const watcher = watching(transport);
    await watcher.hears(["connected"]);
    const { id } = await transport.call("sources.create", { name: "Shop" });
    await watcher.hears(["connected", changeOf("sources", id)]);
    await host.leave();
    await host.serve(startApp());
    await watcher.hears(["connected", changeOf("sources", id), "lost", "connected", "resync"]);
  });

  test("a call whose host goes away is refused as not connected", async () => {
    const host = await open();
    const { app, asked } = hanging(startApp());
    await host.serve(app);
    const refused = host.transport.call("stats.get", {}).catch((error: unknown) => error);
    await asked;
    await host.leave();
    expect(await refused).toMatchObject({ name: "CallError", status: 0, code: "no_connection" });
  });
});

test("a page hears that the host expects another token, also after the host was away", async () => {
  const host = await overHttp();
  const app = startApp();
  await host.serve(app);
  const watcher = watching(host.transport);
  await watcher.hears(["connected"]);
  await host.leave();
  await watcher.hears(["connected", "lost"]);
  await host.serve(app, "o".repeat(43));
  await watcher.hears(["connected", "lost", "refused"]);
  await host.leave();
  await watcher.hears(["connected", "lost", "refused", "lost"]);
  await host.serve(app);
  await watcher.hears(["connected", "lost", "refused", "lost", "connected"]);
});

/** The app, and how many streams of its changes are open. */
function counting(app: App): { app: App; streams: () => number } {
  let open = 0;
  const subscribe: App["api"]["changes"]["subscribe"] = (listener) => {
    const end = app.api.changes.subscribe(listener);
    open += 1;
    return () => {
      open -= 1;
      end();
    };
  };
  const changes = { ...app.api.changes, subscribe };
  return { app: { ...app, api: { ...app.api, changes } }, streams: () => open };
}

test("a page that is hidden holds no connection, and catches up once it is shown", async () => {
  const host = await overHttp();
  const { app, streams } = counting(startApp());
  await host.serve(app);
  const watcher = watching(host.transport);
  await watcher.hears(["connected"]);
  const { id } = await host.transport.call("sources.create", { name: "Shop" });
  await watcher.hears(["connected", changeOf("sources", id)]);

  host.hide(true);
  await expect.poll(streams, { interval: 5 }).toBe(0);
  const before = app.api.changes.sequence();
  await app.api.call("sources.update", { id, name: "Store" });
  await expect.poll(() => app.api.changes.sequence(), { interval: 5 }).toBeGreaterThan(before);
  host.hide(false);
  await watcher.hears(["connected", changeOf("sources", id), changeOf("sources", id)]);
});

test("a page that is opened hidden misses nothing until it is shown", async () => {
  const host = await overHttp();
  const { app, streams } = counting(startApp());
  await host.serve(app);
  host.hide(true);
  const watcher = watching(host.transport);
  await watcher.hears(["connected"]);
  await expect.poll(streams, { interval: 5 }).toBe(0);
  const { id } = await host.transport.call("sources.create", { name: "Shop" });
  host.hide(false);
  await watcher.hears(["connected", changeOf("sources", id)]);
});

test("a page that is hidden keeps the connection to a story, which ends when nobody watches it", async () => {
  const host = await overHttp();
  const own = startApp();
  const { app: story, streams } = counting(startApp());
  await host.serve({ ...own, api: { ...own.api, beside: () => story.api } });
  showPipeline("story_000000001");
  stops.push(() => showPipeline(null));
  const watcher = watching(host.transport);
  await watcher.hears(["connected"]);
  const { id } = await host.transport.call("sources.create", { name: "Shop" });
  await watcher.hears(["connected", changeOf("sources", id)]);

  host.hide(true);
  await story.api.call("sources.update", { id, name: "Store" });
  await watcher.hears(["connected", changeOf("sources", id), changeOf("sources", id)]);
  expect(streams()).toBe(1);
});

/** The app, but that `stats.get` never answers. */
function hanging(app: App): { app: App; asked: Promise<void> } {
  const { promise: asked, resolve } = Promise.withResolvers<void>();
  const call: App["api"]["call"] = (name, input) => {
    if (name !== "stats.get") return app.api.call(name, input);
    resolve();
    return new Promise(() => undefined);
  };
  return { app: { ...app, api: { ...app.api, call } }, asked };
}
