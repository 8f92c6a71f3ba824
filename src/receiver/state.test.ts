import { expect, test } from "vitest";
import { countEffects } from "./effects.ts";
import { partAbout, stateOf, whereDifferent } from "./state.ts";

const part = (document: unknown, token: string): unknown =>
  JSON.parse(partAbout(JSON.stringify(document), token));

test.each([
  ["elements of an array", [{ user: "a-1" }, { user: "b-1" }], [{ user: "a-1" }]],
  [
    "whole elements, with what they contain",
    [{ user: "a-1", tags: ["x", "a-2"] }],
    [{ user: "a-1", tags: ["x", "a-2"] }],
  ],
  [
    "whole rows of a table",
    {
      rows: [
        [1, "a-1", null],
        [2, "b-1", null],
      ],
    },
    { rows: [[1, "a-1", null]] },
  ],
  ["a list of texts", { users: ["a-1", "b-1"] }, { users: ["a-1"] }],
  [
    "members by their names, whole",
    { "a-1": { total: 5 }, "b-1": { total: 7 } },
    { "a-1": { total: 5 } },
  ],
  [
    "members by what is in them",
    { x: { list: [{ id: "a-1" }, { id: "b-1" }] }, y: {} },
    { x: { list: [{ id: "a-1" }] } },
  ],
])("%s", (_, document, expected) => {
  expect(part(document, "a-")).toEqual(expected);
});

test("lines, and nothing where nothing mentions it", () => {
  expect(partAbout("a-1 paid\nb-1 paid\r\na-2 left", "a-")).toBe("a-1 paid\na-2 left");
  expect(partAbout('[{"user":"b-1"}]', "a-")).toBe("");
});

test.each([
  ['[{"user":"a-1"},{"user":"b-1"},{"user":"a-1"}]', 2],
  ['{"rows":[["a-1",1],["a-1",2],["b-1",3]]}', 2],
  ['{"orders":[{"user":"a-1","lines":[{"for":"a-1"},{"for":"b-1"}]}]}', 1],
  ['{"user":"a-1"}', 1],
  ["a-1\nb-1\na-1 a-1", 2],
])("as many effects are counted in a part as in the whole: %s", (text, count) => {
  expect(countEffects(text, "a-1").count).toBe(count);
  expect(countEffects(partAbout(text, "a-"), "a-1").count).toBe(count);
});

test("of two long states, the part with the difference is shown", () => {
  const same = Array.from({ length: 60 }, (_, nth) => `"paid${nth}":0`).join();
  const [one, other] = whereDifferent(`{${same},"z":1,${same}}`, `{${same},"z":2}`);
  expect(one).toMatch(/^…"?.*"paid59":0,"z":1,"paid0".*…$/);
  expect(other).toMatch(/^….*"paid59":0,"z":2}$/);
  expect(whereDifferent("a", "ab")).toEqual(["a", "ab"]);
  expect(whereDifferent("", "b")).toEqual(["", "b"]);
});

test("two states are the same but for their tokens, their order, and what may differ", () => {
  const one = stateOf('[{"user":"t1-a","at":3,"plan":"pro"},{"user":"t1-b","at":4}]', "t1", ["at"]);
  expect(
    stateOf('[{"at":9,"user":"t2-b"},{"plan":"pro","user":"t2-a","at":8}]', "t2", ["at"]),
  ).toBe(one);
  expect(stateOf('[{"user":"t2-b"},{"plan":"free","user":"t2-a"}]', "t2", ["at"])).not.toBe(one);
  expect(
    stateOf('[{"user":"t2-b","at":4},{"plan":"pro","user":"t2-a","at":4}]', "t2", []),
  ).not.toBe(one);
  expect(stateOf("x t2\ny t2", "t2", [])).toBe(stateOf("y t1\nx t1", "t1", []));
});
