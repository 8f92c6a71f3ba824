import { expect, test } from "vitest";
import { conflict, invalid, isProblem, notFound, problem } from "./problem.ts";

test.each([
  problem(500, "a", "b"),
  problem(503, "a", "b", { sqlite: "x" }),
  invalid("a"),
  invalid("a", []),
  conflict("a", "b"),
  notFound("a", "b"),
])("%j is a problem", (one) => {
  expect(isProblem(one)).toBe(true);
});

test.each([null, undefined, "problem", {}, { problem: false }, { problem: "true" }])(
  "%j is none",
  (one) => {
    expect(isProblem(one)).toBe(false);
  },
);
