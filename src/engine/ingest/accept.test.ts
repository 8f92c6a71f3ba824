import { expect, test, vi } from "vitest";
import type { Destination, Source } from "../../domain/configuration.ts";
import { problem } from "../../domain/problem.ts";
import type { MessageRowId } from "../../domain/ids.ts";
import type { MessageType } from "../../domain/states.ts";
import { isProblem } from "../../domain/problem.ts";
import {
  acceptRequest,
  libraryFromUserAgent,
  recordMalformed,
  type AcceptedRequest,
  type RequestFacts,
} from "./accept.ts";
import { parseBody } from "./read-request.ts";

const source = {
  ...{ id: 1, name: "Shop", kind: "server", writeKey: "k", mode: "explain", deduplicate: true },
  ...{ correctClockSkew: "auto", faults: [], plan: null, createdAt: 0 },
} as unknown as Source;

/** A batch of so many messages, each of which gets a context with such a long text. */
function acceptBatch(messages: number, length: number): AcceptedRequest {
  const batch = Array.from({ length: messages }, () => ({
    type: "track",
    userId: "u",
    event: "e",
  }));
  const body = Buffer.from(JSON.stringify({ batch, context: { text: "x".repeat(length) } }));
  const parsed = parseBody(body, true);
  if (isProblem(parsed)) throw new Error(parsed.message);
  const facts = {
    ...{ source, destinations: [], seed: 1, typeFromPath: null, receivedAt: 0, wallAt: 0 },
    ...{ method: "POST", path: "/v1/batch", headers: [], ip: null, body },
    isSuppressed: () => false,
  };
  return acceptRequest(facts, parsed);
}

test("a batch's defaults may cost 4 MB in its messages, and those that cost more are over its limit", () => {
  const costOf = (length: number): number => {
    const { bytes, body } = acceptBatch(1, length);
    return bytes - body.length;
  };
  // A byte of the text is a byte of the cost.
  const length = 10_000 + 20_000 - costOf(10_000);
  expect(costOf(length)).toBe(20_000);
  expect(acceptBatch(200, length)).toMatchObject({ messages: { length: 200 }, surplus: 0 });
  const over = acceptBatch(200, length + 1);
  expect([over.messages.length, over.surplus]).toEqual([200, 1]);
  expect(over.messages.at(-1)?.rejection).toMatchObject({
    reason: "batch_too_long",
    detail: expect.stringContaining("leave room for 199 messages") as string,
  });
});

test("the `integrations` in a batch's context cost as much as its members, which are merged once more", () => {
  const members = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`k${n}`, 1]));
  const costOf = (context: object, own: object = {}): number => {
    const { bytes, body } = accept([{ ...track, ...own }], {}, null, { context });
    return bytes - body.length;
  };
  const [merged, others] = [{ integrations: members }, { destinations: members }];
  expect(costOf(merged) - costOf(others)).toBe(100 * 32);
  const own = { context: { integrations: {}, destinations: {} } };
  expect(costOf(merged, own)).toBe(costOf(others, own));
});

test.each([
  ["analytics-go (version: 2.1.0)", { name: "analytics-go", version: "2.1.0" }],
  ["analytics-python/2.2.0", { name: "analytics-python", version: "2.2.0" }],
  ["analytics-node-next/latest", { name: "analytics-node-next", version: "latest" }],
  ["curl/8.5.0", { name: "curl", version: "8.5.0" }],
  ["Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36", { name: "Mozilla", version: "5.0" }],
  ["  my/2 client  ", { name: "my", version: "2" }],
  [`${"n".repeat(101)}/${"1".repeat(101)}`, { name: "n".repeat(100), version: "1".repeat(100) }],
  ["node", null],
  ["plain/", null],
  ["", null],
  ["(version: 1)", null],
  [undefined, null],
])("the User-Agent %j names the library %j", (userAgent, expected) => {
  expect(libraryFromUserAgent(userAgent)).toEqual(expected);
});

const facts: RequestFacts = {
  ...{ source, destinations: [], seed: 1, typeFromPath: null, receivedAt: 2000, wallAt: 1000 },
  ...{ method: "PUT", path: "/v1/import", headers: [["A", "b"]], ip: "::1" },
  ...{ body: Buffer.from("{"), isSuppressed: (userId) => userId === "gone" },
};

/** A single call when its type is given, otherwise a batch. */
function accept(
  items: object | object[],
  more: Partial<RequestFacts> = {},
  typeFromPath: MessageType | null = null,
  defaults: object = {},
): AcceptedRequest {
  const root = typeFromPath === null ? { ...defaults, batch: items } : items;
  const body = Buffer.from(JSON.stringify(root));
  const parsed = parseBody(body, typeFromPath === null);
  if (isProblem(parsed)) throw new Error(parsed.message);
  return acceptRequest({ ...facts, ...more, typeFromPath, body }, parsed);
}

const track = { type: "track", userId: "u", event: "e" };

test("the `sentAt` of a batch is read once for all its messages, also when it is no time", () => {
  const shown = vi.spyOn(JSON, "stringify");
  const { messages } = accept([track, track, track], {}, null, { sentAt: "never" });
  expect(shown.mock.calls.filter(([value]) => value === "never")).toHaveLength(1);
  shown.mockRestore();
  const warning = '`sentAt` is "never", which is not a valid time: it is ignored.';
  expect(messages.map(({ warnings }) => warnings)).toEqual([[warning], [warning], [warning]]);
  expect(accept({ ...track, sentAt: "never" }, {}, "track").messages[0]?.warnings).toEqual([
    warning,
  ]);
});

test("of a rejected message 500 characters of each id and of its event are kept", () => {
  for (const length of [500, 501]) {
    const text = "x".repeat(length);
    const ids = { messageId: text, userId: text, anonymousId: text, event: text };
    const { messages } = accept([{ ...ids, type: "track", context: 1 }]);
    const kept = "x".repeat(500);
    expect(messages).toMatchObject([
      { ...{ messageId: kept, userId: kept, anonymousId: kept, event: kept }, type: "track" },
    ]);
    expect(messages[0]?.rejection).not.toBeNull();
  }
});

test("a rejected message is routed nowhere, is no duplicate, and weighs one step", () => {
  const { messages, weight, surplus } = accept([{ type: "track" }, 1 as unknown as object]);
  expect([messages.length, weight, surplus]).toEqual([2, 2, 0]);
  for (const message of messages) {
    expect(message).toMatchObject({
      ...{ userId: null, anonymousId: null, event: null, traits: null, timestamp: 2000 },
      ...{ deduplicate: false, replayOf: null, computed: false, warnings: [] },
      messageId: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
    });
    expect(message.route()).toEqual({ decisions: [], plan: null, payloads: {} });
    expect(message.routing().next()).toEqual({ done: true, value: message.route() });
  }
});

test("a request that could not be read is one rejected message with all of its bytes", () => {
  const record = recordMalformed(
    { ...facts, typeFromPath: "page", arrivedAt: 500 },
    problem(400, "invalid_json", "It is wrong."),
  );
  expect(record).toMatchObject({
    ...{ sourceId: 1, receivedAt: 2000, wallAt: 1000, method: "PUT", path: "/v1/import" },
    ...{ headers: [["A", "b"]], ip: "::1", bytes: 1, weight: 1, surplus: 0 },
    messages: [
      {
        ...{ offset: 0, size: 1, type: "page", timestamp: 500, deduplicate: false },
        rejection: { reason: "invalid_json", detail: "It is wrong." },
      },
    ],
  });
});

test("a batch has 2,500 messages, and those after them are one record from the first of them to the end", () => {
  const many = (count: number) => accept(Array.from({ length: count }, () => track));
  expect(many(2500)).toMatchObject({ messages: { length: 2500 }, surplus: 0 });
  const over = many(2502);
  expect([over.messages.length, over.surplus]).toEqual([2501, 2]);
  const { offset = 0, size = 0, rejection } = over.messages.at(-1) ?? {};
  const text = JSON.stringify(track);
  expect(Buffer.from(over.body.subarray(offset, offset + size)).toString()).toBe(`${text},${text}`);
  expect(rejection).toEqual({
    reason: "batch_too_long",
    detail:
      "A batch has at most 2500 messages, and this one has 2502: the 2 from index 2500 on were rejected. Send smaller batches.",
  });
});

test.for<[string, object, Partial<RequestFacts>, string | null]>([
  ["its user", { ...track, userId: "gone" }, {}, "gone"],
  ["another user", track, {}, null],
  [
    "the user that an alias renames",
    { type: "alias", userId: "u", previousId: "gone" },
    {},
    "gone",
  ],
  ["another member of that name", { ...track, previousId: "gone" }, {}, null],
  ["the user of a delete", { type: "delete", userId: "gone" }, {}, "gone"],
  [
    "the user of a replayed delete",
    { type: "delete", userId: "gone" },
    { replayOf: 7 as MessageRowId },
    null,
  ],
  ["the user of a replay", { ...track, userId: "gone" }, { replayOf: 7 as MessageRowId }, "gone"],
])("a message is refused for a suppressed user: %s", ([, item, more, user]) => {
  const [message] = accept([item], more).messages;
  expect(message?.rejection?.reason ?? null).toBe(user === null ? null : "suppressed");
  expect(message?.deduplicate).toBe(user === null);
  expect(message?.replayOf).toBe(more.replayOf ?? null);
});

test("only a batch has defaults for its messages", () => {
  const context = { traits: { plan: "pro" } };
  const item = { ...track, messageId: "m" };
  const destinations = [
    {
      ...{ id: 1, kind: "webhooks", name: "D", enabled: true, sourceIds: [1], mappings: [] },
      ...{ filters: [], webhooks: [], payload: "full", sharedSecret: null, createdAt: 0 },
    } as unknown as Destination,
  ];
  const payloadOf = ({ messages: [message] }: AcceptedRequest): object =>
    JSON.parse(Buffer.from(message?.route().payloads.full ?? []).toString()) as object;
  const body = { batch: [item], context, integrations: { All: true } };
  const bytes = Buffer.from(JSON.stringify(body));
  const parsed = parseBody(bytes, true);
  if (isProblem(parsed)) throw new Error(parsed.message);
  expect(payloadOf(acceptRequest({ ...facts, destinations, body: bytes }, parsed))).toMatchObject({
    context,
  });
  const single = accept({ ...item, context: { a: 1 } }, { destinations }, "track");
  expect(payloadOf(single)).toMatchObject({ context: { a: 1 } });
});

test("an address is a message's own if the settings and its context say so, and its library is the User-Agent's", () => {
  const destinations = [
    {
      ...{ id: 1, kind: "webhooks", name: "D", enabled: true, sourceIds: [1], mappings: [] },
      ...{ filters: [], webhooks: [], payload: "full", sharedSecret: null, createdAt: 0 },
    } as unknown as Destination,
  ];
  const contextWith = (
    context: object,
    more: Partial<RequestFacts> = {},
    kind: Source["kind"] = "server",
  ): unknown => {
    const headers: [string, string][] = [["USER-agent", "analytics-x/3.2"]];
    const facts = { destinations, headers, source: { ...source, kind }, ...more };
    const { messages } = accept([{ ...track, context }], facts);
    const { documented, full } = messages[0]?.route().payloads ?? {};
    const payload = JSON.parse(Buffer.from(full ?? documented ?? []).toString()) as {
      context: unknown;
    };
    return payload.context;
  };
  const library = { name: "analytics-x", version: "3.2" };
  const direct = { contextIp: "direct", limitMessageIds: false } as const;
  expect(contextWith({})).toEqual({ library, ip: "::1" });
  expect(contextWith({}, { settings: direct })).toEqual({ library });
  expect(contextWith({ direct: true }, { settings: direct })).toMatchObject({ ip: "::1" });
  expect(contextWith({}, { settings: direct }, "browser" as Source["kind"])).toMatchObject({
    ip: "::1",
  });
});

test("traits are the names of an identify's traits, and of nothing else", () => {
  const traits = { city: "Bern" };
  const { messages } = accept([
    { type: "identify", userId: "u", traits },
    { type: "identify", userId: "u" },
    { ...track, traits },
    { type: "group", userId: "u", groupId: "g", traits },
  ]);
  expect(messages.map((message) => message.traits)).toEqual(["city", null, null, null]);
});

test("messages of an audience are computed, and those of a source that keeps duplicates are no duplicates", () => {
  for (const [more, computed, deduplicate] of [
    [{}, false, true],
    [{ kind: "audience" }, true, true],
    [{ deduplicate: false }, false, false],
  ] as const)
    expect(accept([track], { source: { ...source, ...more } }).messages).toMatchObject([
      { computed, deduplicate },
    ]);
});
