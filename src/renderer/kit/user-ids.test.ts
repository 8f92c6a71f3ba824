import { expect, test } from "vitest";
import { userIdsIn, userIdText, usersInWords, wrongUserIds } from "./user-ids.ts";

test("users are given a line each, or with commas between, and each counts once", () => {
  expect(userIdsIn(" ana\nben, cleo \n\n,ana")).toEqual(["ana", "ben", "cleo"]);
  expect(userIdsIn(" \n ")).toEqual([]);
});

test("one in quotes is one userId, whatever is in it", () => {
  expect(userIdsIn('ana, "Doe, Jane" ,\n"ana"\n" ben ","",x "y, z"')).toEqual([
    "ana",
    "Doe, Jane",
    " ben ",
    'x "y',
    'z"',
  ]);
  expect(userIdsIn('"not closed, ana\n"no \\q",ben')).toEqual([
    '"not closed',
    "ana",
    '"no \\q"',
    "ben",
  ]);
});

test("every userId that is shown as text is read as the same", () => {
  const plain = ["ana", "cn=Ada ou=people", 'say "hi"', "a\\b"];
  expect(plain.map(userIdText)).toEqual(plain);
  const others = [
    "cn=Ada,ou=people",
    " c",
    "c\t",
    '"ana"',
    '"',
    "a\nb",
    "a\rb",
    ",",
    '\\","',
    "\u0085, \ud800",
  ];
  for (const userId of [...plain, ...others])
    expect(userIdsIn(userIdText(userId))).toEqual([userId]);
  expect(userIdsIn([...plain, ...others].map(userIdText).join("\n"))).toEqual([
    ...plain,
    ...others,
  ]);
});

test("what a request cannot take is said before it is sent", () => {
  expect(wrongUserIds(["ana"])).toBeNull();
  expect(wrongUserIds(Array.from({ length: 5001 }, (_, at) => `u${at}`))).toBe(
    "One request accepts at most 5000 users, but the list has 5001.",
  );
  expect(wrongUserIds(["x".repeat(32_768)])).toBeNull();
  expect(wrongUserIds(["x".repeat(32_769)])).toContain("at most 32768 characters");
});

test("the users of a request fit into a line", () => {
  expect(usersInWords(["ana"])).toBe("ana");
  expect(usersInWords(["ana", "ben"])).toBe("ana and ben");
  expect(usersInWords(["ana", "ben", "cleo"])).toBe("ana and 2 more");
});
