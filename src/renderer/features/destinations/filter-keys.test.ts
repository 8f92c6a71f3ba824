import { expect, test } from "vitest";
import { filterKeys } from "./filter-keys.ts";

/** The place that each filter had before; null: it is new. */
const placesOf = (before: string[], after: string[]): (number | null)[] => {
  const first = filterKeys([], before).map(({ key }) => key);
  const old = before.map((name, at) => ({ name, key: first[at] ?? 0 }));
  return filterKeys(old, after).map(({ key }) => (first.includes(key) ? first.indexOf(key) : null));
};

test.each([
  ["when nothing changes", ["a", "b"], ["a", "b"], [0, 1]],
  ["when another is removed", ["a", "b", "c"], ["b", "c"], [1, 2]],
  ["when one is added", ["a", "b"], ["a", "b", "c"], [0, 1, null]],
  ["when one that was removed comes back", ["b", "c"], ["a", "b", "c"], [null, 0, 1]],
  ["when it is renamed", ["a", "b", "c"], ["a", "x", "c"], [0, 1, 2]],
  ["when it is renamed to the name of one after it", ["a", "b"], ["b", "b"], [0, 1]],
  ["when it is renamed to the name of one before it", ["a", "b"], ["a", "a"], [0, 1]],
  ["when the order is changed elsewhere", ["a", "b", "c"], ["c", "a", "b"], [2, 0, 1]],
  ["when one takes the place of another", ["a", "b"], ["x", "a"], [null, 0]],
])("a filter keeps its key %s", (_, before, after, places) => {
  expect(placesOf(before, after)).toEqual(places);
});

test("the key of a filter that was removed is not given again", () => {
  const three = filterKeys([], ["a", "b", "c"]);
  const two = filterKeys(three, ["a", "b"]);
  const last = filterKeys(two, ["a", "b", "c"]).at(-1);
  expect(three.map(({ key }) => key)).not.toContain(last?.key);
});
