import { expect, test } from "vitest";
import { profileName, valueText } from "./profile-words.ts";

test("a known user is called by the userId, an anonymous one by its anonymousId", () => {
  expect(profileName({ userId: "ana", anonymousId: "a1" })).toBe("ana");
  expect(profileName({ userId: null, anonymousId: "a1" })).toBe("a1");
});

test("a value stands on one line, and a long one is cut", () => {
  expect(valueText({ plan: "pro", seats: [1, 2] })).toBe('{"plan":"pro","seats":[1,2]}');
  expect(valueText("x".repeat(500))).toHaveLength(241);
});
