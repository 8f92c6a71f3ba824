import { expect, test } from "vitest";
import { changingMembers } from "./claims.ts";

const order = (id: string, user: string, total: number) => ({ id, lines: [{ total }], user });

test.each([
  [
    "only the member that is drawn, of the same elements in another order",
    [order("x7", "a", 5), order("p2", "b", 7)],
    [order("q1", "b", 7), order("z9", "a", 5)],
    ["id"],
  ],
  ["a member that is not always there", [{ a: 1, note: "x" }], [{ a: 1 }], ["note"]],
  ["the members of objects in objects", { a: { at: 1, n: 2 } }, { a: { at: 3, n: 2 } }, ["at"]],
  ["plain elements", { seen: ["x", "y"], n: [1, 2] }, { seen: ["y", "z"], n: [2, 1] }, ["seen"]],
  [
    "nothing where one has an element more",
    [order("x7", "a", 5), order("p2", "b", 7)],
    [order("q1", "b", 7)],
    [],
  ],
])("%s", (_, one, other, expected) => {
  expect(changingMembers(JSON.stringify(one), JSON.stringify(other))).toEqual(expected);
});
