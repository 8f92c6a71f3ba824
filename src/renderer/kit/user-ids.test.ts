import { expect, test } from "vitest";
import { userIdsIn, usersInWords, wrongUserIds } from "./user-ids.ts";

test("users are given a line each, or with commas between, and each counts once", () => {
  expect(userIdsIn(" ana\nben, cleo \n\n,ana")).toEqual(["ana", "ben", "cleo"]);
  expect(userIdsIn(" \n ")).toEqual([]);
});

test("what a request cannot take is said before it is sent", () => {
  expect(wrongUserIds(["ana"])).toBeNull();
  expect(wrongUserIds(Array.from({ length: 5001 }, (_, at) => `u${at}`))).toBe(
    "One request accepts at most 5000 users, but the list has 5001.",
  );
  expect(wrongUserIds(["x".repeat(1001)])).toContain("at most 1000 characters");
});

test("the users of a request fit into a line", () => {
  expect(usersInWords(["ana"])).toBe("ana");
  expect(usersInWords(["ana", "ben"])).toBe("ana and ben");
  expect(usersInWords(["ana", "ben", "cleo"])).toBe("ana and 2 more");
});
