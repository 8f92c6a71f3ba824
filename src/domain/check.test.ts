import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import {
  checkMessage,
  type CheckResult,
  maxMessageBytes,
  readSentAt,
  type RequestFrame,
} from "./check.ts";
import type { Json, JsonObject } from "./json.ts";
import { messageTypes, type MessageType } from "./states.ts";

const now = Date.UTC(2026, 10, 21, 3, 0, 0);
const bareFrame: RequestFrame = {
  context: null,
  integrations: null,
  sentAt: null,
  library: null,
  ip: null,
  now,
  correctClockSkew: false,
};

function check(
  item: Json,
  frame: Partial<RequestFrame> = {},
  typeFromPath: MessageType | null = null,
  size = 100,
): CheckResult {
  return checkMessage(item, size, { ...bareFrame, ...frame }, typeFromPath);
}

function accepted(
  item: Json,
  frame: Partial<RequestFrame> = {},
  typeFromPath: MessageType | null = null,
) {
  const result = check(item, frame, typeFromPath);
  if (!result.ok) throw new Error(`rejected: ${JSON.stringify(result.rejection)}`);
  return result.message;
}

const track: JsonObject = { type: "track", userId: "u", event: "Order Completed" };

describe("a message is accepted", () => {
  test.each<[string, JsonObject, string | null]>([
    ["identify with a user", { type: "identify", userId: "u" }, null],
    [
      "identify with an anonymous user",
      { type: "identify", anonymousId: "a", traits: { x: 1 } },
      null,
    ],
    ["track", track, "Order Completed"],
    ["page without a name", { type: "page", userId: "u" }, null],
    [
      "page with name and category",
      { type: "page", userId: "u", name: "Home", category: "Docs" },
      "Home",
    ],
    [
      "screen with an anonymous user only",
      { type: "screen", anonymousId: "a", name: "Main" },
      "Main",
    ],
    ["group", { type: "group", anonymousId: "a", groupId: "acme" }, "acme"],
    ["alias", { type: "alias", userId: "u", previousId: "a" }, null],
    ["delete", { type: "delete", userId: "u" }, null],
    [
      "null for what is left out",
      {
        ...track,
        anonymousId: null,
        messageId: null,
        context: null,
        traits: null,
        name: null,
        timestamp: null,
      },
      "Order Completed",
    ],
    [
      "an empty user beside an anonymous one",
      { type: "track", event: "e", userId: "", anonymousId: "a" },
      "e",
    ],
    ["unknown members", { ...track, _metadata: [1], channel: 5 }, "Order Completed"],
  ])("%s", (_, item, event) => {
    const message = accepted(item);
    expect(message).toMatchObject({
      type: item["type"],
      event,
      warnings: [],
      timestamp: now,
      originalTimestamp: null,
      sentAt: null,
    });
    expect(message.members).toBe(item);
    expect(message.userId).toBe(item["userId"] === "" ? null : (item["userId"] ?? null));
  });

  test("with the type of its path, and a warning when its own differs", () => {
    expect(accepted({ userId: "u", event: "e" }, {}, "track")).toMatchObject({
      type: "track",
      warnings: [],
    });
    expect(accepted({ type: "track", userId: "u", event: "e" }, {}, "track").warnings).toEqual([]);
    const message = accepted({ type: "identify", userId: "u", event: "e" }, {}, "track");
    expect(message.type).toBe("track");
    expect(message.warnings).toEqual([expect.stringContaining('"identify"')]);
  });

  test("at exactly the greatest size", () => {
    expect(check(track, {}, null, maxMessageBytes).ok).toBe(true);
  });
});

describe("a message is rejected", () => {
  test.each<[Json, string, string]>([
    [null, "not_an_object", "null"],
    [17, "not_an_object", "a number"],
    ["track", "not_an_object", "a string"],
    [[track], "not_an_object", "an array"],
    [{ userId: "u" }, "missing_type", "`type`"],
    [{ type: null, userId: "u" }, "missing_type", "`type`"],
    [{ type: "", userId: "u" }, "missing_type", "`type`"],
    [{ type: "purchase", userId: "u" }, "unknown_type", '"purchase"'],
    [{ type: "Track", userId: "u", event: "e" }, "unknown_type", 'write "track"'],
    [{ type: "constructor", userId: "u" }, "unknown_type", "constructor"],
    [{ type: 5, userId: "u" }, "invalid_type", "`type`"],
    ...[
      "messageId",
      "userId",
      "anonymousId",
      "event",
      "name",
      "category",
      "groupId",
      "previousId",
    ].flatMap((name): [Json, string, string][] => [
      [{ ...track, [name]: 12 }, "invalid_type", `\`${name}\` must be a string`],
      [
        { ...track, [name]: { a: 1 } },
        "invalid_type",
        `\`${name}\` must be a string, but it is an object`,
      ],
    ]),
    ...["traits", "properties", "context", "integrations"].flatMap(
      (name): [Json, string, string][] => [
        [{ ...track, [name]: "x" }, "invalid_type", `\`${name}\` must be an object`],
        [
          { ...track, [name]: [] },
          "invalid_type",
          `\`${name}\` must be an object, but it is an array`,
        ],
        [
          { ...track, [name]: false },
          "invalid_type",
          `\`${name}\` must be an object, but it is a boolean`,
        ],
      ],
    ),
    ...(["identify", "track", "page", "screen", "group"] as const).flatMap(
      (type): [Json, string, string][] => [
        [{ type, event: "e", groupId: "g" }, "missing_user_id", "`userId` or `anonymousId`"],
        [
          { type, event: "e", groupId: "g", userId: "", anonymousId: "" },
          "missing_user_id",
          "`userId` or `anonymousId`",
        ],
      ],
    ),
    [{ type: "track", userId: "u" }, "missing_event", "`event`"],
    [{ type: "track", userId: "u", event: "" }, "missing_event", "`event`"],
    [{ type: "track", userId: "u", event: null }, "missing_event", "`event`"],
    [{ type: "group", userId: "u" }, "missing_group_id", "`groupId`"],
    [{ type: "group", userId: "u", groupId: "" }, "missing_group_id", "`groupId`"],
    [{ type: "alias", userId: "u" }, "missing_previous_id", "`previousId`"],
    [{ type: "alias", userId: "u", previousId: "" }, "missing_previous_id", "`previousId`"],
    [{ type: "alias", previousId: "a", anonymousId: "a" }, "missing_user_id", "`userId`"],
    [{ type: "delete", anonymousId: "a" }, "missing_user_id", "`userId`"],
  ])("%j because of %s", (item, reason, detail) => {
    const result = check(item);
    expect(result).toMatchObject({
      ok: false,
      rejection: { reason, detail: expect.stringContaining(detail) },
    });
  });

  test("when it is one byte too large, with what could be read of it", () => {
    expect(check({ ...track, messageId: "m" }, {}, null, maxMessageBytes + 1)).toEqual({
      ok: false,
      rejection: { reason: "message_too_large", detail: expect.stringContaining("32769 bytes") },
      seen: {
        type: "track",
        messageId: "m",
        userId: "u",
        anonymousId: null,
        event: "Order Completed",
      },
    });
  });

  test.each([
    ["x".repeat(58), `"${"x".repeat(58)}" is not a message type`],
    ["x".repeat(59), `"${"x".repeat(59)}… is not a message type`],
    [" TRACK ", 'write "track"'],
  ])("with its type %j in the sentence, cut where it is long", (type, part) => {
    expect(check({ type, userId: "u" })).toMatchObject({
      rejection: { detail: expect.stringContaining(part) },
    });
  });

  test("with the type of its path, whatever it is", () => {
    expect(check([], {}, "page")).toMatchObject({
      ok: false,
      seen: { type: "page", messageId: null },
    });
    expect(check({ messageId: "m" }, {}, "page")).toMatchObject({
      ok: false,
      seen: { type: "page", messageId: "m" },
    });
    expect(check({ type: "Track", anonymousId: "a" })).toMatchObject({
      ok: false,
      seen: { type: null, anonymousId: "a" },
    });
  });
});

describe("times", () => {
  test("the timestamp is taken exactly, whenever it was", () => {
    const message = accepted({ ...track, timestamp: "1999-01-02T03:04:05.678901+0100" });
    expect(message.timestamp).toBe(Date.UTC(1999, 0, 2, 2, 4, 5, 678));
    expect(message).toMatchObject({
      originalTimestamp: Date.parse("1999-01-02T02:04:05.678Z"),
      warnings: [],
    });
  });

  test.each<[Json]>([["yesterday"], [true], [{}], [[]], [1e300], [""], ["2026-02-30"]])(
    "a junk timestamp %j takes the clock's time and a warning",
    (timestamp) => {
      const message = accepted(
        { ...track, timestamp },
        { correctClockSkew: true, sentAt: readSentAt("2026-11-21T00:00:00Z") },
      );
      expect(message).toMatchObject({ timestamp: now, originalTimestamp: null });
      expect(message.warnings).toEqual([expect.stringContaining("`timestamp`")]);
    },
  );

  test("sentAt is the message's own, else the request's, and junk is only a warning", () => {
    const frame = { sentAt: readSentAt("2026-11-21T01:00:00Z") };
    expect(accepted(track, frame).sentAt).toBe("2026-11-21T01:00:00.000Z");
    expect(accepted({ ...track, sentAt: "2026-11-21T02:00:00Z" }, frame).sentAt).toBe(
      "2026-11-21T02:00:00.000Z",
    );
    const junk = [`\`sentAt\` is "${"x".repeat(59)}…, which is not a valid time: it is ignored.`];
    expect(accepted(track, { sentAt: readSentAt("x".repeat(59)) }).warnings).toEqual(junk);
    const shown = vi.spyOn(JSON, "stringify");
    const sentAt = readSentAt("x".repeat(400_000));
    expect(shown.mock.lastCall?.[0]).toHaveLength(61);
    shown.mockRestore();
    expect(accepted({ ...track, sentAt: null }, { sentAt })).toMatchObject({
      sentAt: null,
      warnings: junk,
    });
  });

  test("an identify whose traits are only in its context says that the profile does not get them", () => {
    const warnings = (message: object): string[] =>
      accepted({ type: "identify", userId: "u", ...message }).warnings;
    const context = { traits: { plan: "pro" } };
    expect(warnings({ context })).toEqual([expect.stringContaining("`context.traits`")]);
    expect(warnings({ context, traits: null })).toHaveLength(1);
    for (const other of [{ traits: {} }, { context: { traits: {} } }, { type: "page" }])
      expect(warnings({ context, ...other })).toEqual([]);
  });

  test("clock skew is corrected when the source says so, and only with both times", () => {
    const item = { ...track, timestamp: "2026-11-21T10:00:00Z" };
    const sentAt = readSentAt("2026-11-21T10:00:07Z");
    expect(accepted(item, { sentAt, correctClockSkew: true })).toMatchObject({
      timestamp: now - 7000,
      originalTimestamp: Date.UTC(2026, 10, 21, 10),
    });
    expect(accepted(item, { sentAt }).timestamp).toBe(Date.UTC(2026, 10, 21, 10));
    expect(accepted(item, { correctClockSkew: true }).timestamp).toBe(Date.UTC(2026, 10, 21, 10));
    expect(accepted(track, { sentAt, correctClockSkew: true }).timestamp).toBe(now);
  });
});

describe("when the clock was moved", () => {
  const hour = 3_600_000;
  const wallAt = now - 8 * 24 * hour;
  const live = { byMs: 8 * 24 * hour, wallAt, sendsNoSentAt: true };
  const at = (ms: number): string => new Date(ms).toISOString();
  const timeOf = (given: number, sentAt: number | undefined, correctClockSkew = live): number =>
    accepted(
      { ...track, timestamp: at(given) },
      { correctClockSkew, sentAt: sentAt === undefined ? null : readSentAt(at(sentAt)) },
    ).timestamp;

  test("times of a live sender move as far, and the message says so", () => {
    const message = accepted(
      { ...track, timestamp: at(wallAt - 7000) },
      { correctClockSkew: live, sentAt: readSentAt(at(wallAt)) },
    );
    expect(message).toMatchObject({ timestamp: now - 7000, originalTimestamp: wallAt - 7000 });
    expect(message.warnings).toEqual([
      expect.stringContaining(`${at(wallAt - 7000)} became ${at(now - 7000)}`),
    ]);
    // What a live sender imports is as old as before.
    expect(timeOf(wallAt - 24 * hour, wallAt)).toBe(now - 24 * hour);
    const behind = { ...live, byMs: -hour, wallAt: now + hour };
    expect(timeOf(now + hour, now + hour, behind)).toBe(now);
  });

  test.each([
    ["sent a minute ago", wallAt, wallAt - 60_000, now],
    ["sent earlier", wallAt, wallAt - 60_001, wallAt],
    ["sent a minute ahead", wallAt, wallAt + 60_001, wallAt],
    ["sent by the clock", now - 7000, now, now - 7000],
    ["sent without a time of sending", wallAt - 7000, undefined, now - 7000],
    ["imported without a time of sending", wallAt - hour, undefined, wallAt - hour],
  ])("%s", (_, given, sentAt, expected) => {
    expect(timeOf(given, sentAt)).toBe(expected);
  });

  test("a call without `sentAt` keeps its time, and a clock that is hardly off moves none", () => {
    expect(timeOf(wallAt, undefined, { ...live, sendsNoSentAt: false })).toBe(wallAt);
    const hardly = { ...live, byMs: 4999, wallAt: now - 4999 };
    expect(timeOf(now - 4999, now - 4999, hardly)).toBe(now - 4999);
    const near = { ...live, byMs: 30_000, wallAt: now - 30_000 };
    expect(timeOf(now - 30_000, now - 30_000, near)).toBe(now);
    expect(timeOf(now, now - 1000, near)).toBe(now);
  });

  test("a time that would leave the years of four digits is kept", () => {
    const last = Date.UTC(9999, 11, 31);
    expect(timeOf(last, wallAt)).toBe(last);
  });
});

describe("the context", () => {
  const library = { name: "curl", version: "8" };

  test("is the batch's, overridden key by key, with ip and library filled in", () => {
    const context = { locale: "en", ip: "203.0.113.1", app: { name: "batch" } };
    expect(
      accepted(
        { ...track, context: { app: { version: "1" }, extra: null } },
        { context, library, ip: "127.0.0.1" },
      ).context,
    ).toEqual({
      locale: "en",
      ip: "203.0.113.1",
      app: { version: "1" },
      extra: null,
      library,
    });
    expect(context).toEqual({ locale: "en", ip: "203.0.113.1", app: { name: "batch" } });
  });

  test("names the message's library, else the batch's, else the User-Agent's", () => {
    const sendsNoSentAt = { library: { name: "batch" } };
    expect(
      accepted({ ...track, context: { library: "own" } }, { context: sendsNoSentAt, library })
        .context["library"],
    ).toBe("own");
    expect(accepted(track, { context: sendsNoSentAt, library }).context["library"]).toEqual({
      name: "batch",
    });
    expect(accepted({ ...track, context: { library: null } }, { library }).context["library"]).toBe(
      library,
    );
    expect(accepted(track).context).toEqual({});
  });

  test("keeps a member called __proto__ as a member", () => {
    const item = JSON.parse(
      `{"type":"track","userId":"u","event":"e","context":{"__proto__":{"evil":1}}}`,
    ) as JsonObject;
    const frame = {
      context: JSON.parse(`{"__proto__":{"evil":2},"a":1}`) as JsonObject,
      ip: "::1",
    };
    const { context } = accepted(item, frame);
    expect(JSON.stringify(context)).toBe(`{"__proto__":{"evil":1},"a":1,"ip":"::1"}`);
    expect(context["evil"]).toBeUndefined();
  });
});

describe("the integrations", () => {
  test("are the batch's, then the context's, then the message's own, key by key", () => {
    const item = {
      ...track,
      context: { integrations: { B: 2, C: 2 } },
      integrations: { C: 3, D: 3 },
    };
    expect(accepted(item, { integrations: { A: 1, B: 1, C: 1 } }).integrations).toEqual({
      A: 1,
      B: 2,
      C: 3,
      D: 3,
    });
    expect(
      accepted(track, {
        context: { integrations: { All: false } },
        integrations: { All: true, A: 1 },
      }).integrations,
    ).toEqual({
      All: false,
      A: 1,
    });
    expect(
      accepted({ ...track, integrations: null }, { integrations: { A: 1 } }).integrations,
    ).toEqual({ A: 1 });
    expect(accepted({ ...track, integrations: { A: 1 } }).integrations).toEqual({ A: 1 });
    expect(accepted(track).integrations).toEqual({});
  });

  test("in the context change nothing when they are no object, and warn", () => {
    const message = accepted({
      ...track,
      context: { integrations: "none" },
      integrations: { A: 1 },
    });
    expect(message.integrations).toEqual({ A: 1 });
    expect(message.warnings).toEqual([expect.stringContaining("`context.integrations`")]);
  });

  test("keep a member called __proto__ as a member", () => {
    const integrations = JSON.parse(`{"__proto__":{"All":false}}`) as JsonObject;
    const merged = accepted({ ...track, integrations }, { integrations: { A: 1 } }).integrations;
    expect(JSON.stringify(merged)).toBe(`{"A":1,"__proto__":{"All":false}}`);
    expect(merged["All"]).toBeUndefined();
  });
});

test("any JSON at all gets an answer, and neither it nor the frame is changed", () => {
  const member = fc.constantFrom(
    "type",
    "userId",
    "anonymousId",
    "event",
    "groupId",
    "previousId",
    "context",
    "integrations",
    "timestamp",
    "sentAt",
    "__proto__",
  );
  const value = fc.oneof(
    fc.constantFrom<Json>(...messageTypes, "u", "", null),
    fc.jsonValue() as fc.Arbitrary<Json>,
  );
  const item = fc.oneof(
    fc.jsonValue() as fc.Arbitrary<Json>,
    fc
      .array(fc.tuple(member, value))
      .map(
        (pairs) =>
          JSON.parse(
            `{${pairs.map(([key, json]) => `"${key}":${JSON.stringify(json)}`).join()}}`,
          ) as Json,
      ),
  );
  const object = fc.option(fc.dictionary(fc.string(), fc.jsonValue() as fc.Arbitrary<Json>));
  fc.assert(
    fc.property(
      item,
      object,
      object,
      value,
      fc.option(fc.constantFrom(...messageTypes)),
      (json, context, integrations, sentAt, type) => {
        const frame = {
          ...bareFrame,
          context,
          integrations,
          sentAt: readSentAt(sentAt),
          ip: "::1",
          correctClockSkew: true,
        };
        const before = JSON.stringify([json, frame]);
        const result = checkMessage(json, 10, frame, type);
        expect(JSON.stringify([json, frame])).toBe(before);
        if (result.ok) expect(Number.isInteger(result.message.timestamp)).toBe(true);
        else
          expect(result.rejection).toEqual({
            reason: expect.stringMatching(/^[a-z_]+$/),
            detail: expect.stringMatching(/\.$/),
          });
      },
    ),
  );
});
