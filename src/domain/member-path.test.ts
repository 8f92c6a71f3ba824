import { expect, test } from "vitest";
import type { JsonObject } from "./json.ts";
import { MemberRemoval } from "./member-path.ts";

function without(message: JsonObject, ...paths: string[][]) {
  const before = JSON.stringify(message);
  const removal = new MemberRemoval(message);
  const removed = paths.map((path) => removal.remove(path));
  expect(JSON.stringify(message)).toBe(before);
  return { rest: removal.rest, removed };
}

test("removes members one after the other, keeps the order of the others, and leaves the message as it is", () => {
  const message = { properties: { c: 1, a: { x: 1, y: 2 }, b: 3 }, traits: { a: 1 } };
  const { rest, removed } = without(message, ["properties", "a", "x"], ["properties", "c"]);
  expect(JSON.stringify(rest)).toBe('{"properties":{"a":{"y":2},"b":3},"traits":{"a":1}}');
  expect(removed).toEqual([
    ["properties", "a", "x"],
    ["properties", "c"],
  ]);
});

test("is the message itself when there is nothing to remove", () => {
  const message = { properties: { a: 1 } };
  const { rest, removed } = without(message, ["properties", "b"], ["properties", "a", "x"]);
  expect(rest).toBe(message);
  expect(removed).toEqual([null, null]);
});

test("removes the array of an element, and a member within an element", () => {
  const message = { properties: { list: [{ a: 1, b: 2 }, 3], rows: [[1], [2]] } };
  const { rest, removed } = without(
    message,
    ["properties", "list", "0", "a"],
    ["properties", "rows", "0", "0"],
    ["properties", "rows", "1"],
  );
  expect(rest).toEqual({ properties: { list: [{ b: 2 }, 3] } });
  expect(removed).toEqual([["properties", "list", "0", "a"], ["properties", "rows"], null]);
});

test("keeps members of the message itself, also an array of which an element is named", () => {
  const message = { properties: [1, 2], traits: { a: 1 } };
  expect(without(message, ["traits"], ["properties", "0"])).toEqual({
    rest: message,
    removed: [null, null],
  });
});

test("a member called __proto__ is one like any other", () => {
  const message = JSON.parse('{"properties":{"__proto__":{"a":1,"b":2},"c":1}}') as JsonObject;
  const { rest } = without(message, ["properties", "__proto__", "a"]);
  expect(JSON.stringify(rest)).toBe('{"properties":{"__proto__":{"b":2},"c":1}}');
  const all = without(message, ["properties", "__proto__"]);
  expect(JSON.stringify(all.rest)).toBe('{"properties":{"c":1}}');
});

test("removes each of 30,000 members without copying the others each time", () => {
  const names = Array.from({ length: 30_000 }, (_, place) => `name${place}`);
  const properties = Object.fromEntries(names.map((name) => [name, 1]));
  const removal = new MemberRemoval({ properties });
  for (const name of names) removal.remove(["properties", name]);
  expect(removal.rest).toEqual({ properties: {} });
});
