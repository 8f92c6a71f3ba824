/** What becomes of each message of a request, and what the client is told. */

import { describe, expect, test } from "vitest";
import { startIngestApp, writeKey } from "../support/ingest-app.ts";
import { basic, post, talk } from "../support/ingest-client.ts";

const track = { type: "track", userId: "u", event: "e" };
const success = { success: true };

describe("one bad message never costs its neighbours", () => {
  const bad: [unknown, string][] = [
    [null, "not_an_object"],
    [17, "not_an_object"],
    ["track", "not_an_object"],
    [[track], "not_an_object"],
    [{}, "missing_type"],
    [{ type: "purchase", userId: "u" }, "unknown_type"],
    [{ type: ["track"], userId: "u" }, "invalid_type"],
    [{ type: "track", userId: "u" }, "missing_event"],
    [{ type: "track", event: "e" }, "missing_user_id"],
    [{ type: "track", event: "e", userId: 12 }, "invalid_type"],
    [{ type: "group", userId: "u" }, "missing_group_id"],
    [{ type: "alias", userId: "u" }, "missing_previous_id"],
    [{ type: "delete", anonymousId: "a" }, "missing_user_id"],
    [{ ...track, properties: [] }, "invalid_type"],
    [{ ...track, properties: { filler: "x".repeat(33_000) } }, "message_too_large"],
  ];
  const batch = [track, ...bad.flatMap(([item]) => [item, track])];

  test("explained: each is listed with its place and reason, kept and visible", async () => {
    const app = await startIngestApp();
    const destination = await app.destination({ sourceIds: [app.source.id] });
    const { status, json } = await app.send("/v1/batch", { batch });
    expect(status).toBe(200);
    expect(json).toEqual({
      success: true,
      rejected: bad.map(([, reason], place) => ({
        index: place * 2 + 1,
        reason,
        message: expect.stringMatching(/\.$/),
      })),
      duplicates: [],
    });
    expect(await destination.received()).toHaveLength(bad.length + 1);
    const rejected = await app.messages({ state: "rejected" });
    expect(rejected.map(({ reason, raw }) => [JSON.parse(raw as string), reason])).toEqual(bad);
    for (const message of rejected) {
      expect(message).toMatchObject({
        detail: expect.stringMatching(/\.$/),
        decisions: [],
        deliveries: [],
        messageId: expect.stringMatching(/.{36}/),
      });
    }
    expect(
      (await app.messages({ reason: "missing_event" })).map(({ type, userId }) => [type, userId]),
    ).toEqual([["track", "u"]]);
  });

  test("in production: success, and the reasons show only in the record", async () => {
    const app = await startIngestApp({ source: { mode: "production" } });
    expect(await app.send("/v1/batch", { batch })).toMatchObject({
      status: 200,
      text: `{"success":true}`,
    });
    expect((await app.call("stats.get", {})).messages.byState).toMatchObject({
      rejected: bad.length,
      filtered: bad.length + 1,
    });
    expect(await app.send("/v1/track", {})).toMatchObject({
      status: 200,
      text: `{"success":true}`,
    });
    expect(await app.send("/v1/batch", "[]")).toMatchObject({ status: 400 });
  });
});

describe("a single call", () => {
  const cases: [string, object, string][] = [
    ["/v1/track", { userId: "u" }, "missing_event"],
    ["/v1/track", { event: "e" }, "missing_user_id"],
    ["/v1/identify", {}, "missing_user_id"],
    ["/v1/page", { userId: "" }, "missing_user_id"],
    ["/v1/screen", { anonymousId: 5 }, "invalid_type"],
    ["/v1/group", { userId: "u" }, "missing_group_id"],
    ["/v1/alias", { userId: "u" }, "missing_previous_id"],
    ["/v1/alias", { previousId: "a" }, "missing_user_id"],
  ];
  test.each(cases)("at %s with %j is 400 because of %s, and kept", async (path, body, reason) => {
    const app = await startIngestApp();
    expect(await app.send(path, body)).toMatchObject({
      status: 400,
      json: { success: false, code: reason, message: expect.stringMatching(/\.$/) },
    });
    expect(await app.messages()).toMatchObject([
      { state: "rejected", reason, type: path.slice(4) },
    ]);
  });

  test("takes its type from its path, whatever it says of itself", async () => {
    const app = await startIngestApp();
    expect(await app.send("/v1/track", { ...track, type: "identify" })).toMatchObject({
      status: 200,
    });
    expect(await app.messages()).toMatchObject([
      { type: "track", warnings: [expect.stringContaining('"identify"')] },
    ]);
  });
});

describe("the record", () => {
  test("keeps every byte of a message: spellings of numbers, order, spaces, unknown members", async () => {
    const app = await startIngestApp();
    const items = [
      `{"userId":"u","type":"identify","traits":{"a":1.0,"b":1e3,"c":12345678901234567890,"d":-0,"e":0.10}}`,
      `{ "type" : "track",\n\t"event":"\\u0041\\/\\ud83d", "userId":"\\ud800","2":1,"1":2,"__proto__":{"x":1},"z":{"y":[]} , "_metadata":{} }`,
      `{"type":"page","userId":"u","userId":"second"}`,
    ];
    expect(
      await app.send("/v1/batch", `{"batch":[ ${items.join(" ,\n")} ],"unknown":[1]}`),
    ).toMatchObject({ status: 200 });
    const messages = await app.messages();
    expect(messages.map(({ raw }) => raw)).toEqual(items);
    expect(messages[2]?.userId).toBe("second");
    const single = ` {"userId":"u","n":9007199254740993} `;
    await app.send("/v1/identify", single);
    expect((await app.messages({ type: "identify" })).at(-1)?.raw).toBe(single.trim());
  });

  test("finds the messages of the batch that counts, wherever it stands", async () => {
    const app = await startIngestApp();
    const other = JSON.stringify(track);
    const body = `{"x":{"batch":[${other}]},"batch":[1,2],"\\u0062atch":[{"type":"track","userId":"real","event":"]},[\\\\"}],"y":[${other}]}`;
    expect(await app.send("/v1/batch", body)).toMatchObject({ status: 200 });
    expect(await app.messages()).toMatchObject([
      { userId: "real", raw: `{"type":"track","userId":"real","event":"]},[\\\\"}` },
    ]);
  });

  test("keeps the request: method, path, headers in order, size", async () => {
    const app = await startIngestApp();
    const body = JSON.stringify({ batch: [track, track] });
    await talk(app.port, [
      post("/v1/batch?x=1", body, {
        Authorization: basic(writeKey),
        "X-Twice": "a",
        "x-twice": "b",
        "User-Agent": "t/1",
      }),
    ]);
    const [message] = await app.messages();
    expect(message?.request).toMatchObject({
      method: "POST",
      path: "/v1/batch?x=1",
      size: body.length,
      messages: 2,
    });
    expect(message?.request.headers.slice(2)).toEqual([
      ["X-Twice", "a"],
      ["x-twice", "b"],
      ["User-Agent", "t/1"],
      ["Content-Length", String(body.length)],
    ]);
  });
});

describe("what a message gets from around it", () => {
  test("defaults of the batch, merged key by key", async () => {
    const app = await startIngestApp();
    const destination = await app.destination({ sourceIds: [app.source.id], payload: "full" });
    await app.send("/v1/batch", {
      batch: [
        {
          ...track,
          context: { app: { version: "2" }, own: true },
          integrations: { A: true, C: false },
        },
        { ...track, event: "bare" },
        { ...track, event: "none", context: null, integrations: null },
      ],
      context: { ip: "203.0.113.7", app: { name: "batch" }, locale: "en" },
      integrations: { A: false, B: false },
    });
    const received = await destination.received();
    const common = { ip: "203.0.113.7", locale: "en" };
    expect(
      Object.fromEntries(
        received.map(({ event, context, integrations }) => [event, { context, integrations }]),
      ),
    ).toEqual({
      e: {
        context: { ...common, app: { version: "2" }, own: true },
        integrations: { A: true, B: false, C: false },
      },
      bare: {
        context: { ...common, app: { name: "batch" } },
        integrations: { A: false, B: false },
      },
      none: {
        context: { ...common, app: { name: "batch" } },
        integrations: { A: false, B: false },
      },
    });
  });

  test("a single call is its own message: nothing is merged from around it", async () => {
    const app = await startIngestApp();
    const destination = await app.destination({ sourceIds: [app.source.id] });
    await app.send("/v1/track", {
      ...track,
      context: { a: 1, ip: "::9", library: { name: "own" } },
    });
    expect(await destination.received()).toMatchObject([
      { context: { a: 1, ip: "::9", library: { name: "own" } } },
    ]);
  });

  test.each([
    ["analytics-go (version: 2.1.0)", { name: "analytics-go", version: "2.1.0" }],
    ["curl/8.5.0", { name: "curl", version: "8.5.0" }],
    [null, undefined],
  ])("the connection's address, and the library of User-Agent %j", async (userAgent, library) => {
    const app = await startIngestApp();
    const destination = await app.destination({ sourceIds: [app.source.id] });
    const headers = {
      Authorization: basic(writeKey),
      ...(userAgent === null ? {} : { "User-Agent": userAgent }),
    };
    await talk(app.port, [post("/v1/track", JSON.stringify(track), headers)]);
    const [payload] = await destination.received();
    expect(payload?.["context"]).toEqual({
      ip: "127.0.0.1",
      ...(library === undefined ? {} : { library }),
    });
  });

  test("a messageId, one of its own for each message", async () => {
    const app = await startIngestApp();
    const destination = await app.destination({ sourceIds: [app.source.id] });
    await app.send("/v1/batch", {
      batch: [
        track,
        { ...track, messageId: "" },
        { ...track, messageId: null },
        { ...track, messageId: "mine" },
      ],
      messageId: "batch",
    });
    const ids = (await app.messages()).map(({ messageId }) => messageId);
    expect(new Set(ids).size).toBe(4);
    expect(ids).toContain("mine");
    expect((await destination.received()).map(({ messageId }) => messageId).toSorted()).toEqual(
      ids.toSorted(),
    );
  });
});

describe("times", () => {
  const now = /^\d{4}-/;
  const given: [unknown, string][] = [
    ["2026-11-21T03:16:19+0000", "2026-11-21T03:16:19.000Z"],
    ["2026-11-21T03:16:19+0530", "2026-11-20T21:46:19.000Z"],
    ["2026-11-21T03:16:19-02:00", "2026-11-21T05:16:19.000Z"],
    ["2026-11-21T03:25:00.220458186Z", "2026-11-21T03:25:00.220Z"],
    ["2026-11-21T03:25:00.9999999Z", "2026-11-21T03:25:00.999Z"],
    ["2026-11-21T03:25:00.5z", "2026-11-21T03:25:00.500Z"],
    ["1969-07-20T20:17:40Z", "1969-07-20T20:17:40.000Z"],
    ["2199-01-01T00:00:00Z", "2199-01-01T00:00:00.000Z"],
    [1_795_231_500, "2026-11-21T03:25:00.000Z"],
    [1_795_231_500_755, "2026-11-21T03:25:00.755Z"],
    [1_795_231_500.755, "2026-11-21T03:25:00.755Z"],
    [0, "1970-01-01T00:00:00.000Z"],
  ];
  test("given are the event's, exactly, also in the far past, and delivered", async () => {
    const app = await startIngestApp();
    const destination = await app.destination({ sourceIds: [app.source.id] });
    const batch = given.map(([timestamp], place) => ({ ...track, event: `e${place}`, timestamp }));
    expect((await app.send("/v1/batch", { batch, sentAt: "2026-11-21T05:00:00Z" })).json).toEqual(
      success,
    );
    expect(
      (await app.messages()).map(({ timestamp, warnings }) => ({ timestamp, warnings })),
    ).toEqual(given.map(([, timestamp]) => ({ timestamp, warnings: [] })));
    const received = (await destination.received()).toSorted(
      (one, other) =>
        Number(String(one["event"]).slice(1)) - Number(String(other["event"]).slice(1)),
    );
    expect(received.map(({ timestamp }) => timestamp)).toEqual(
      given.map(([, timestamp]) => timestamp),
    );
  });

  const junk = [
    "yesterday",
    "2026-02-30T00:00:00Z",
    "2026-11-21T25:00:00Z",
    true,
    {},
    [],
    1e300,
    "",
    "20261131",
    -1e20,
  ];
  test("missing is the clock's; junk is too, with a warning, and never rejects", async () => {
    const app = await startIngestApp();
    await app.call("clock.set", { mode: "paused" });
    await app.call("clock.advance", { byMs: 3_600_000 });
    const clock = await app.call("clock.get", {});
    const batch = [
      track,
      { ...track, timestamp: null },
      ...junk.map((timestamp) => ({ ...track, timestamp })),
    ];
    expect((await app.send("/v1/batch", { batch })).json).toEqual(success);
    const messages = await app.messages();
    expect(messages.map(({ timestamp, receivedAt }) => [timestamp, receivedAt])).toEqual(
      batch.map(() => [clock.now, clock.now]),
    );
    expect(clock.now).toMatch(now);
    expect(messages.map(({ warnings }) => warnings.length)).toEqual([0, 0, ...junk.map(() => 1)]);
    expect(messages[2]?.warnings[0]).toContain('`timestamp` is "yesterday"');
  });

  test("are corrected by sentAt when the source says so", async () => {
    const app = await startIngestApp({ source: { correctClockSkew: true } });
    const destination = await app.destination({ sourceIds: [app.source.id], payload: "full" });
    await app.call("clock.set", { mode: "paused" });
    const now = Date.parse((await app.call("clock.get", {})).now);
    // The client's clock is a day ahead; the event happened 7 s before it was sent.
    const sentAt = new Date(now + 86_400_000).toISOString();
    const timestamp = new Date(now + 86_400_000 - 7000).toISOString();
    await app.send("/v1/batch", { batch: [{ ...track, timestamp }], sentAt });
    await app.send("/v1/track", { ...track, timestamp, sentAt });
    await app.send("/v1/track", { ...track, timestamp });
    expect((await app.messages()).map((message) => Date.parse(message.timestamp) - now)).toEqual([
      -7000, -7000, 86_393_000,
    ]);
    const corrected = [expect.stringContaining(`${timestamp} became`)];
    const recorded = await app.messages();
    expect(recorded.map(({ warnings }) => warnings)).toEqual([corrected, corrected, []]);
    const { id: replayId } = await app.call("messages.replay", { id: recorded[0]?.id ?? "" });
    expect((await app.call("messages.get", { id: replayId })).warnings).toEqual(corrected);
    expect((await destination.received())[0]).toMatchObject({
      originalTimestamp: timestamp,
      sentAt,
      receivedAt: new Date(now).toISOString(),
    });

    await app.call("sources.update", { id: app.source.id, correctClockSkew: false });
    await app.send("/v1/track", { ...track, timestamp, sentAt });
    expect((await app.messages()).at(-1)?.timestamp).toBe(timestamp);
  });

  test("a correction that leaves the range of dates is not made", async () => {
    const app = await startIngestApp({ source: { correctClockSkew: true } });
    const destination = await app.destination({ sourceIds: [app.source.id] });
    const far = { ...track, timestamp: "9999-12-31T23:59:59Z", sentAt: "0001-01-01T00:00:00Z" };
    const back = { ...track, timestamp: "0001-01-01T00:00:00Z", sentAt: "9999-12-31T23:59:59Z" };
    for (const message of [far, back])
      expect(await app.send("/v1/track", message)).toMatchObject({ status: 200 });
    const messages = await app.messages();
    expect(messages.map(({ timestamp, warnings }) => [timestamp, warnings])).toEqual([
      ["9999-12-31T23:59:59.000Z", [expect.stringContaining("`sentAt`")]],
      ["0001-01-01T00:00:00.000Z", [expect.stringContaining("`sentAt`")]],
    ]);
    expect((await destination.received()).map(({ timestamp }) => timestamp).toSorted()).toEqual([
      "0001-01-01T00:00:00.000Z",
      "9999-12-31T23:59:59.000Z",
    ]);
  });
});

test("the list says of an identify what it sets, and only of an identify", async () => {
  const app = await startIngestApp();
  await app.send("/v1/batch", {
    batch: [
      { type: "identify", userId: "u", traits: { email: "a@example.test", plan: "pro" } },
      { type: "identify", userId: "u", traits: { big_spenders: false } },
      { type: "identify", userId: "u" },
      { type: "group", userId: "u", groupId: "g", traits: { plan: "pro" } },
      { ...track, traits: { plan: "pro" } },
    ],
  });
  const { items } = await app.call("messages.list", {});
  expect(items.map(({ traits }) => traits)).toEqual([
    null,
    null,
    null,
    "big_spenders: false",
    "email, plan",
  ]);
});

test.each(["explain", "production"] as const)(
  "a single call over 32 KB is 400 in the mode %s, and kept; in a batch it is a rejected item",
  async (mode) => {
    const app = await startIngestApp({ source: { mode } });
    const large = { ...track, properties: { filler: "x".repeat(40_000) } };
    expect(await app.send("/v1/track", large)).toMatchObject({
      status: 400,
      json: { code: "message_too_large", message: expect.stringContaining("32768") },
    });
    expect(await app.send("/v1/batch", { batch: [large, track] })).toMatchObject({ status: 200 });
    expect((await app.messages({ state: "rejected" })).map(({ reason }) => reason)).toEqual([
      "message_too_large",
      "message_too_large",
    ]);
    expect(await app.send("/v1/track", { userId: "u" })).toMatchObject({
      status: mode === "explain" ? 400 : 200,
    });
  },
);

describe("what the published examples have", () => {
  const sent = async (path: string, message: object, headers = {}) => {
    const app = await startIngestApp();
    const destination = await app.destination({ sourceIds: [app.source.id], payload: "full" });
    expect(await app.send(path, message, { headers })).toMatchObject({ status: 200 });
    const [payload] = await destination.received();
    return { payload, message: (await app.messages())[0] };
  };

  test("a month of one digit keeps its time", async () => {
    const { payload, message } = await sent("/v1/track", {
      ...track,
      timestamp: "2015-2-02T00:30:08.276Z",
    });
    expect(payload).toMatchObject({ timestamp: "2015-02-02T00:30:08.276Z" });
    expect(message?.warnings).toEqual([]);
  });

  test("an originalTimestamp alone is the event's time; beside a timestamp it is not", async () => {
    const originalTimestamp = "2015-02-02T00:30:08.276Z";
    expect((await sent("/v1/track", { ...track, originalTimestamp })).payload).toMatchObject({
      timestamp: originalTimestamp,
      originalTimestamp,
    });
    const timestamp = "2016-02-02T00:30:08.276Z";
    expect(
      (await sent("/v1/track", { ...track, timestamp, originalTimestamp })).payload,
    ).toMatchObject({ timestamp, originalTimestamp: timestamp });
    const { message } = await sent("/v1/track", { ...track, originalTimestamp: "soon" });
    expect(message?.warnings).toEqual([
      '`originalTimestamp` is "soon", which is not a valid time: the message gets its time of arrival.',
    ]);
  });

  test("a page's traits are its properties, unless it has properties", async () => {
    const page = { userId: "u", name: "Home", traits: { url: "https://a.example/" } };
    expect((await sent("/v1/page", page)).payload).toMatchObject({ properties: page.traits });
    const properties = { path: "/" };
    expect((await sent("/v1/page", { ...page, properties })).payload).toMatchObject({ properties });
  });

  test("the agent of Node's fetch names no library", async () => {
    expect((await sent("/v1/track", track)).payload?.["context"]).toEqual({ ip: "127.0.0.1" });
    const named = await sent("/v1/track", track, { "user-agent": "analytics-ruby/2.4.0" });
    expect(named.payload?.["context"]).toEqual({
      ip: "127.0.0.1",
      library: { name: "analytics-ruby", version: "2.4.0" },
    });
  });
});
