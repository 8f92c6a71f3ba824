import { expect, test } from "vitest";
import { checkCall } from "./calls.ts";
import type { CallType } from "./calls.ts";
import { AnalyticsError } from "./errors.ts";

const either = "You must pass either an 'anonymousId' or 'userId'.";

/** What is missing, in the order in which the Go library asks for it. */
const missing: [CallType, object, string, string][] = [
  ["identify", {}, either, "userId"],
  ["identify", { userId: "", anonymousId: "" }, either, "userId"],
  ["identify", { userId: null }, either, "userId"],
  ["track", {}, "You must pass 'event'.", "event"],
  ["track", { userId: "u", event: "" }, "You must pass 'event'.", "event"],
  ["track", { event: "e" }, either, "userId"],
  ["page", { anonymousId: "a" }, "You must pass a 'userId'.", "userId"],
  ["screen", { name: "Main" }, either, "userId"],
  ["group", {}, "You must pass a 'groupId'.", "groupId"],
  ["group", { groupId: "g" }, either, "userId"],
  ["alias", {}, "You must pass a 'userId'.", "userId"],
  ["alias", { previousId: "p" }, "You must pass a 'userId'.", "userId"],
  ["alias", { userId: "u" }, "You must pass a 'previousId'.", "previousId"],
];

const wrong: [CallType, object, string, string][] = [
  ["identify", { userId: 42 }, "'userId' must be a string.", "userId"],
  ["identify", { userId: "u", traits: [] }, "'traits' must be an object.", "traits"],
  ["identify", { userId: "u", traits: "x" }, "'traits' must be an object.", "traits"],
  [
    "identify",
    { userId: "u", integrations: true },
    "'integrations' must be an object.",
    "integrations",
  ],
  ["track", { userId: "u", event: 1 }, "'event' must be a string.", "event"],
  ["track", { userId: "u", event: "e", context: 1 }, "'context' must be an object.", "context"],
  [
    "track",
    { userId: "u", event: "e", timestamp: 1_700_000_000 },
    "'timestamp' must be a string or a valid Date.",
    "timestamp",
  ],
  [
    "track",
    { userId: "u", event: "e", timestamp: new Date(Number.NaN) },
    "'timestamp' must be a string or a valid Date.",
    "timestamp",
  ],
  [
    "track",
    { userId: "u", event: "e", messageId: 7 },
    "'messageId' must be a string.",
    "messageId",
  ],
  [
    "alias",
    { userId: "u", previousId: "p", anonymousId: "a" },
    "'anonymousId' is not a field of alias: it has timestamp, context, integrations, messageId, userId, previousId.",
    "anonymousId",
  ],
];

test.each([...missing, ...wrong])("%s of %j: %s", (type, call, message, field) => {
  const check = (): unknown => checkCall(type, call, true);
  expect(check).toThrow(AnalyticsError);
  expect(check).toThrow(expect.objectContaining({ code: "invalid_call", message, field }));
});

test.each([
  ["identify", { userId: "u" }],
  ["identify", { anonymousId: "a", traits: null, timestamp: undefined }],
  [
    "track",
    {
      anonymousId: "a",
      event: "e",
      timestamp: "junk",
      properties: {},
      context: {},
      integrations: {},
      messageId: "m",
    },
  ],
  [
    "page",
    {
      userId: "u",
      anonymousId: "a",
      category: "c",
      name: "n",
      properties: {},
      timestamp: new Date(),
    },
  ],
  ["screen", { anonymousId: "a", name: "n" }],
  ["group", { anonymousId: "a", groupId: "g", traits: {} }],
  ["alias", { userId: "u", previousId: "p", context: {}, integrations: {} }],
] as [CallType, object][])("%s of %j is right", (type, call) => {
  expect(checkCall(type, call, true)).toBe(call);
});

test("a page that is not strict takes either identity, but needs one", () => {
  expect(checkCall("page", { anonymousId: "a" }, false)).toEqual({ anonymousId: "a" });
  expect(() => checkCall("page", {}, false)).toThrow(either);
});

test.each([null, undefined, "u", [], 7])("%j in place of a call", (call) => {
  expect(() => checkCall("track", call, true)).toThrow("You must pass an object to track.");
});

test.each(["delete", "toString"])("a call of the type %s", (type) => {
  expect(() => checkCall(type as CallType, { userId: "u" }, true)).toThrow(
    expect.objectContaining({
      message: `'${type}' is not one of identify, track, page, screen, group, alias.`,
      field: "type",
    }),
  );
});

test("members that every object has from birth are no fields", () => {
  expect(() => checkCall("identify", JSON.parse('{"userId":"u","__proto__":1}'), true)).toThrow(
    "'__proto__' is not a field of identify",
  );
  expect(() => checkCall("identify", { userId: "u", constructor: 1 }, true)).toThrow(
    "'constructor' is not a field of identify",
  );
});
