import { expect, test } from "vitest";
import { asGroup, conditionsOf, longestWindow, missingIn, operandOf, operandText, withOperator } from "./rule-draft.ts";

test("a value is typed as it is, and text that looks like a number or a truth value stands in quotes", () => {
  expect(["50", "-0.5", "true", "pro", '"50"', " a ", "05", '"broken'].map(operandOf)).toEqual([
    50,
    -0.5,
    true,
    "pro",
    "50",
    " a ",
    "05",
    '"broken',
  ]);
  for (const value of [50, true, "pro", "50", "true", '"quoted"', "", "1e3"]) expect(operandOf(operandText(value))).toBe(value);
});

test("what is missing is said before the rule is asked", () => {
  expect(missingIn({ all: [] })).toBe("A group needs a condition.");
  expect(missingIn({ all: [{ trait: "plan", op: "is", value: "pro" }, { any: [{ event: "" }] }] })).toBe(
    "A condition on an event needs the event’s name.",
  );
  expect(missingIn({ not: { event: "Order", where: [{ property: "", op: "exists" }] } })).toBe(
    "A condition on a property needs the property’s name.",
  );
  expect(missingIn({ all: [{ event: "Order", atLeast: 2 }] })).toBeNull();
});

test("another operator keeps what of the value still fits", () => {
  expect(withOperator({ trait: "age", op: "is", value: 18 }, "greater")).toEqual({ trait: "age", op: "greater", value: 18 });
  expect(withOperator({ trait: "age", op: "is", value: 18 }, "exists")).toEqual({ trait: "age", op: "exists" });
  expect(withOperator({ trait: "age", op: "exists", value: false }, "is")).toEqual({ trait: "age", op: "is", value: "" });
  expect(withOperator({ trait: "vip", op: "is", value: true }, "less")).toEqual({ trait: "vip", op: "less", value: 0 });
});

test("conditions are found in every depth, and the longest window among them", () => {
  const rule = { any: [{ not: { event: "Refund", withinDays: 30 } }, { all: [{ event: "Order", withinDays: 7 }] }] };
  expect(conditionsOf(rule)).toHaveLength(2);
  expect(longestWindow(rule)).toBe(30);
  expect(longestWindow({ trait: "plan", op: "exists" })).toBeNull();
  expect(asGroup({ event: "Order" })).toEqual({ all: [{ event: "Order" }] });
});
