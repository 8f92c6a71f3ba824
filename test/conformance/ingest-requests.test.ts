/**
 * How a request reaches the ingest port: its path, method and write key, and what a browser wants
 * besides.
 */

import { describe, expect, test } from "vitest";
import { startIngestApp, writeKey } from "../support/ingest-app.ts";
import { basic, post, talk } from "../support/ingest-client.ts";

const track = { type: "track", userId: "u", event: "Order Completed" };
const success = { success: true };

describe("a path", () => {
  const batches = [
    "/v1/batch",
    "/v1/import",
    "/v1/b",
    "//v1/batch",
    "/v1/batch/",
    "/v1//batch//",
    "/a/prefix/v1/batch",
    "/V1/BATCH",
    "/v1/batch?x=1",
  ];
  test.each(batches)("%s takes a batch", async (path) => {
    const app = await startIngestApp();
    // Byte by byte, since a client may tidy up a path.
    const { answers } = await talk(app.port, [
      post(path, JSON.stringify({ batch: [track] }), { Authorization: basic(writeKey) }),
    ]);
    expect(answers).toMatchObject([{ status: 200, text: `{"success":true}` }]);
    expect(await app.messages()).toMatchObject([
      { type: "track", event: "Order Completed", request: { path } },
    ]);
  });

  test.each([
    ["identify", "/v1/identify /v1/i /V1/Identify/ //v1/identify"],
    ["track", "/v1/track /v1/t"],
    ["page", "/v1/page /v1/p"],
    ["screen", "/v1/screen /v1/s /x/v1/s/"],
    ["group", "/v1/group /v1/g"],
    ["alias", "/v1/alias /v1/a"],
  ])("takes a single %s at %s", async (type, paths) => {
    const app = await startIngestApp();
    for (const path of paths.split(" ")) {
      const { answers } = await talk(app.port, [
        post(path, `{"userId":"u","event":"e","groupId":"g","previousId":"p"}`, {
          Authorization: basic(writeKey),
        }),
      ]);
      expect(answers).toMatchObject([{ status: 200 }]);
    }
    expect(new Set((await app.messages()).map((message) => message.type))).toEqual(new Set([type]));
  });

  test("/v1/m takes metrics, whoever sends them, and drops them", async () => {
    const app = await startIngestApp();
    for (const key of [writeKey, "nobody", null]) {
      expect(
        await app.send("/v1/m", { series: [{ type: "Counter", metric: "x", value: 1 }] }, { key }),
      ).toMatchObject({
        status: 200,
        json: success,
      });
    }
    expect(await app.messages()).toEqual([]);
    expect(await app.call("unknownKeys.list", {})).toEqual({ items: [] });
  });

  test("may be a whole URL, as a proxy sends it", async () => {
    const app = await startIngestApp();
    const { answers } = await talk(app.port, [
      post("http://api.example.com/v1/track", JSON.stringify(track), {
        Authorization: basic(writeKey),
      }),
    ]);
    expect(answers).toMatchObject([{ status: 200 }]);
  });

  test.each([
    "/",
    "/v1",
    "/v1/",
    "/v1/delete",
    "/v1/toString",
    "/v1/batch/more",
    "/v2/batch",
    "/api/sources",
    "/v1/projects/x",
    "*",
  ])("%s is nowhere: 404", async (path) => {
    const app = await startIngestApp();
    const { answers } = await talk(app.port, [
      post(path, "{}", { Authorization: basic(writeKey) }),
    ]);
    expect(answers).toMatchObject([{ status: 404 }]);
    expect(JSON.parse(answers[0]?.text ?? "")).toMatchObject({
      code: "unknown_path",
      message: expect.stringContaining("/v1/batch"),
    });
    expect(await app.messages()).toEqual([]);
  });
});

describe("a method", () => {
  test("PUT is taken like POST", async () => {
    const app = await startIngestApp();
    expect(await app.send("/v1/track", track, { method: "PUT" })).toMatchObject({
      status: 200,
      json: success,
    });
    expect(await app.messages()).toMatchObject([{ request: { method: "PUT" } }]);
  });

  test.each(["GET", "DELETE", "PATCH", "HEAD", "SEARCH"])(
    "%s is 405 and says what is allowed",
    async (method) => {
      const app = await startIngestApp();
      const { status, headers, json } = await app.send("/v1/track", undefined, { method });
      expect([status, headers.get("allow")]).toEqual([405, "POST, PUT, OPTIONS"]);
      if (method !== "HEAD")
        expect(json).toMatchObject({
          code: "method_not_allowed",
          message: expect.stringContaining(method),
        });
    },
  );

  test("CONNECT is answered too", async () => {
    const app = await startIngestApp();
    const { answers } = await talk(app.port, [
      "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n",
    ]);
    expect(answers).toMatchObject([{ status: 405 }]);
    expect(JSON.parse(answers[0]?.text ?? "")).toMatchObject({
      code: "not_a_proxy",
      message: expect.any(String),
    });
  });

  test("an offer to change the protocol is passed over", async () => {
    const app = await startIngestApp();
    const upgrade = {
      Authorization: basic(writeKey),
      Connection: "Upgrade, HTTP2-Settings",
      Upgrade: "h2c",
      "HTTP2-Settings": "AAMAAABk",
    };
    const { answers } = await talk(app.port, [post("/v1/track", JSON.stringify(track), upgrade)]);
    expect(answers).toMatchObject([{ status: 200 }]);
  });

  test("a client that waits for 100 Continue is told to go on", async () => {
    const app = await startIngestApp();
    const head = post("/v1/track", "", {
      Authorization: basic(writeKey),
      Expect: "100-continue",
      "Content-Length": String(JSON.stringify(track).length),
    });
    const { answers } = await talk(app.port, [head, JSON.stringify(track)], { answers: 2 });
    expect(answers.map(({ status }) => status)).toEqual([100, 200]);
  });

  test("a client that expects something else is answered in JSON", async () => {
    const app = await startIngestApp();
    const { answers } = await talk(app.port, [
      post("/v1/track", JSON.stringify(track), {
        Authorization: basic(writeKey),
        Expect: "a-miracle",
      }),
    ]);
    expect(answers).toMatchObject([{ status: 417 }]);
    expect(JSON.parse(answers[0]?.text ?? "")).toMatchObject({
      code: "unknown_expectation",
      message: expect.any(String),
    });
  });
});

describe("the write key", () => {
  const places: [string, string, Record<string, string>, string][] = [
    ["as the Basic user", "", { Authorization: basic(writeKey) }, ""],
    [
      "as the Basic user with a password",
      "",
      { Authorization: `Basic ${btoa(`${writeKey}:secret:more`)}` },
      "",
    ],
    ["as the Basic user without a colon", "", { Authorization: `basic  ${btoa(writeKey)}` }, ""],
    ["in the body", "", {}, writeKey],
    ["in the body, with an empty Basic user", "", { Authorization: basic("") }, writeKey],
    ["in the query", `?writeKey=${writeKey}`, {}, ""],
    [
      "in the query, with an authorization of another kind",
      `?writeKey=${writeKey}`,
      { Authorization: "Bearer abc" },
      "",
    ],
    ["in all three", `?writeKey=${writeKey}`, { Authorization: basic(writeKey) }, writeKey],
    ["in the header before the body", "", { Authorization: basic(writeKey) }, "another"],
  ];
  test.each(places)("comes %s", async (_, query, headers, key) => {
    const app = await startIngestApp();
    const body = JSON.stringify({ ...track, ...(key === "" ? {} : { writeKey: key }) });
    const { answers } = await talk(app.port, [post(`/v1/track${query}`, body, headers)]);
    expect(answers).toMatchObject([{ status: 200 }]);
    expect(await app.messages()).toMatchObject([{ sourceId: app.source.id }]);
  });

  const missing: [string, Record<string, string>, Record<string, unknown>][] = [
    ["is nowhere", {}, {}],
    ["is empty", { Authorization: basic("") }, { writeKey: "" }],
    ["is not a string", {}, { writeKey: 17 }],
    ["is in a broken header", { Authorization: "Basic" }, {}],
  ];
  test.each(missing)("that %s is 401", async (_, headers, members) => {
    const app = await startIngestApp();
    const { answers } = await talk(app.port, [
      post("/v1/track", JSON.stringify({ ...track, ...members }), headers),
    ]);
    expect(answers).toMatchObject([{ status: 401 }]);
    expect(JSON.parse(answers[0]?.text ?? "")).toMatchObject({
      code: "missing_write_key",
      message: expect.any(String),
    });
    expect(await app.call("unknownKeys.list", {})).toEqual({ items: [] });
  });

  test("ends at a colon, so a key with one is another key", async () => {
    const app = await startIngestApp();
    await app.call("sources.create", { name: "Short", writeKey: "a" });
    expect(await app.send("/v1/track", track, { key: "a:b" })).toMatchObject({ status: 200 });
    expect((await app.call("messages.list", {})).items).toMatchObject([
      { sourceId: expect.not.stringMatching(app.source.id) },
    ]);
    expect((await app.api("sources.create", { name: "Colon", writeKey: "a:b" })).status).toBe(400);
  });
});

describe("a browser", () => {
  const origin = "https://shop.example.com";

  test("may send from any origin, with credentials, and also sees errors", async () => {
    const app = await startIngestApp();
    const cors = {
      "access-control-allow-origin": origin,
      "access-control-allow-credentials": "true",
      vary: "Origin",
    };
    const cases: [string, string | null, number][] = [
      ["/v1/t", writeKey, 200],
      ["/v1/t", "nobody", 401],
      ["/nowhere", writeKey, 404],
      ["/v1/projects/k/settings", null, 401],
      [`/v1/projects/${writeKey}/settings`, null, 200],
    ];
    for (const [path, key, status] of cases) {
      const answer = await app.send(path, track, { key, headers: { origin } });
      expect([answer.status, Object.fromEntries(answer.headers)]).toEqual([
        status,
        expect.objectContaining(cors),
      ]);
    }
    const silent = await app.send("/v1/t", track);
    expect(silent.headers.get("access-control-allow-origin")).toBeNull();
  });

  test("has its preflight answered and cached", async () => {
    const app = await startIngestApp();
    const headers = {
      origin,
      "access-control-request-method": "POST",
      "access-control-request-headers": "content-type,x-custom",
      "access-control-request-private-network": "true",
    };
    const { answers } = await talk(app.port, [
      `OPTIONS /v1/t HTTP/1.1\r\nHost: h\r\n${Object.entries(headers)
        .map(([name, value]) => `${name}: ${value}\r\n`)
        .join("")}\r\n`,
    ]);
    expect(answers).toMatchObject([
      {
        status: 204,
        text: "",
        headers: {
          "access-control-allow-origin": origin,
          "access-control-allow-credentials": "true",
          "access-control-allow-methods": expect.stringContaining("POST"),
          "access-control-allow-headers": "content-type,x-custom",
          "access-control-max-age": "86400",
          "access-control-allow-private-network": "true",
          vary: "Origin",
        },
      },
    ]);
    // An answer without a body must not give it a length.
    expect(answers[0]?.headers["content-length"]).toBeUndefined();
  });

  test("gets its settings, which send it back to this port", async () => {
    const app = await startIngestApp();
    const { status, json } = await app.send(`/v1/projects/${writeKey}/settings`, undefined, {
      method: "GET",
      key: null,
    });
    expect(status).toBe(200);
    expect(json).toEqual({
      integrations: {
        "Segment.io": {
          apiKey: writeKey,
          apiHost: `127.0.0.1:${app.port}/v1`,
          protocol: "http",
          unbundledIntegrations: [],
          addBundledMetadata: true,
          maybeBundledConfigIds: {},
          versionSettings: { version: "4.4.7", componentTypes: ["browser"] },
        },
      },
      plan: {
        track: { __default: { enabled: true, integrations: {} } },
        identify: { __default: { enabled: true } },
        group: { __default: { enabled: true } },
      },
      edgeFunction: {},
      analyticsNextEnabled: true,
      middlewareSettings: {},
      enabledMiddleware: {},
      // Nothing is reported to others.
      metrics: { sampleRate: 0 },
      legacyVideoPluginsEnabled: false,
      remotePlugins: [],
    });
    await app.call("sources.create", { name: "Odd", writeKey: 'a"/✓' });
    const odd = await app.send("//V1/projects/a%22%2F%E2%9C%93/settings/", undefined, {
      method: "GET",
      key: null,
    });
    expect(odd.json).toMatchObject({ integrations: { "Segment.io": { apiKey: 'a"/✓' } } });
    const unknown = await app.send(`/v1/projects/${"k".repeat(201)}/settings`, undefined, {
      method: "GET",
      key: null,
    });
    expect(unknown).toMatchObject({
      status: 401,
      json: { message: expect.stringContaining(`"${"k".repeat(200)}".`) },
    });
  });

  test("behind a proxy is sent back to the proxy", async () => {
    const app = await startIngestApp();
    const host = `127.0.0.1:${app.port}`;
    const sentTo = async (prefix: string, headers: Record<string, string>) => {
      const { json } = await app.send(`${prefix}/v1/projects/${writeKey}/settings`, undefined, {
        method: "GET",
        key: null,
        headers,
      });
      const { apiHost, protocol } = (json as typeof settings).integrations["Segment.io"];
      return [apiHost, protocol];
    };
    const settings = { integrations: { "Segment.io": { apiHost: "", protocol: "" } } };
    expect(await sentTo("/ingest/events/", {})).toEqual([`${host}/ingest/events/v1`, "http"]);
    const tls = { "X-Forwarded-Proto": "https" };
    expect(await sentTo("", tls)).toEqual([`${host}/v1`, "https"]);
    const kept = { ...tls, "X-Forwarded-Host": host };
    expect(await sentTo("", kept)).toEqual([`${host}/v1`, "https"]);
    // It gave this port's address in place of its own, where there is no TLS.
    const replaced = { ...tls, "X-Forwarded-Host": "shop.example" };
    expect(await sentTo("", replaced)).toEqual([`${host}/v1`, "http"]);
  });

  test("of RudderStack gets a source without destinations and without reports", async () => {
    const app = await startIngestApp();
    const source = {
      source: {
        id: writeKey,
        enabled: true,
        config: { statsCollection: { errors: { enabled: false }, metrics: { enabled: false } } },
        destinations: [],
      },
    };
    const asked: [string, string | null][] = [
      [`/sourceConfig/?writeKey=${writeKey}`, null],
      ["/sourceConfig", writeKey],
    ];
    for (const [path, key] of asked) {
      const { status, json } = await app.send(path, undefined, { method: "GET", key });
      expect([status, json]).toMatchObject([200, source]);
    }
    const unknown = await app.send("/sourceConfig?writeKey=nobody", undefined, {
      method: "GET",
      key: null,
    });
    expect(unknown).toMatchObject({ status: 401, json: { code: "unknown_write_key" } });
  });

  test("that sends text/plain, to be spared a preflight, is understood", async () => {
    const app = await startIngestApp();
    const body = JSON.stringify({ ...track, writeKey });
    expect(
      await app.send("/v1/t", body, { key: null, headers: { "content-type": "text/plain" } }),
    ).toMatchObject({ status: 200 });
    expect(await app.messages()).toHaveLength(1);
  });
});
