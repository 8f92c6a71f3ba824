import fc from "fast-check";
import { expect, test } from "vitest";
import { operators, type Operand, type Operator } from "../../../domain/rules.ts";
import {
  asGroup,
  conditionsOf,
  longestWindow,
  missingIn,
  operandOf,
  operandText,
  sendingEvent,
  settingTrait,
  withOperator,
} from "./rule-draft.ts";

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
  for (const value of [50, true, "pro", "50", "true", '"quoted"', "", "1e3"])
    expect(operandOf(operandText(value))).toBe(value);
});

test("a number whose digits would change stays the text that was typed", () => {
  const changing = ["10158012345678901", "-9007199254740993", "1152921504606846976", "1e999"];
  for (const text of [...changing, "0.12345678901234567890", "1e-999"]) {
    expect(operandOf(text)).toBe(text);
    expect(operandText(text)).toBe(text);
  }
  expect(["10158012345678900", "1e21", "0.10", "1.5E-7", "-0", "1200e-2"].map(operandOf)).toEqual([
    10158012345678900, 1e21, 0.1, 1.5e-7, -0, 12,
  ]);
  fc.assert(
    fc.property(fc.double({ noDefaultInfinity: true, noNaN: true }), (value) => {
      expect(operandOf(operandText(value))).toBe(value + 0);
    }),
  );
});

test("what is missing is said before the rule is asked", () => {
  expect(missingIn({ all: [] })).toBe("A group needs a condition.");
  expect(
    missingIn({ all: [{ trait: "plan", op: "is", value: "pro" }, { any: [{ event: "" }] }] }),
  ).toBe("A condition on an event needs an event name.");
  expect(missingIn({ not: { event: "Order", where: [{ property: "", op: "exists" }] } })).toBe(
    "A condition on a property needs a property name.",
  );
  expect(missingIn({ all: [{ event: "Order", atLeast: 2 }] })).toBeNull();
});

test("another operator keeps what of the value still fits", () => {
  expect(withOperator({ trait: "age", op: "is", value: 18 }, "greater")).toEqual({
    trait: "age",
    op: "greater",
    value: 18,
  });
  expect(withOperator({ trait: "age", op: "is", value: 18 }, "exists")).toEqual({
    trait: "age",
    op: "exists",
  });
  expect(withOperator({ trait: "age", op: "exists", value: false }, "is")).toEqual({
    trait: "age",
    op: "is",
    value: "",
  });
  expect(withOperator({ trait: "vip", op: "is", value: true }, "less")).toEqual({
    trait: "vip",
    op: "less",
    value: 0,
  });
});

test("conditions are found in every depth, and the longest window among them", () => {
  const rule = {
    any: [
      { not: { event: "Refund", withinDays: 30 } },
      { all: [{ event: "Order", withinDays: 7 }] },
    ],
  };
  expect(conditionsOf(rule)).toHaveLength(2);
  expect(longestWindow(rule)).toBe(30);
  expect(longestWindow({ trait: "plan", op: "exists" })).toBeNull();
  expect(asGroup({ event: "Order" })).toEqual({ all: [{ event: "Order" }] });
});

test("an event is sent with properties that the condition asks for", () => {
  const where = [
    { property: "total", op: "greater", value: 50 },
    { property: "coupon", op: "exists", value: false },
    { property: "currency", op: "isNot", value: "USD" },
    { property: "gift", op: "is", value: true },
  ] as const;
  expect(sendingEvent({ event: "Order Completed", where: [...where] })).toEqual({
    event: "Order Completed",
    properties: { total: 51, gift: true },
  });
});

const operand: fc.Arbitrary<Operand> = fc.oneof(fc.string(), fc.integer(), fc.boolean());

/** A plain reading of the operators, to hold the values against. */
function holds(op: Operator, given: Operand | null, value: Operand | undefined): boolean {
  switch (op) {
    case "is":
      return given === value;
    case "isNot":
      return given !== value;
    case "exists":
      return (given !== null) === (value !== false);
    case "contains":
      return typeof given === "string" && given.includes(String(value));
    case "greater":
      return given !== null && value !== undefined && given > value;
    case "less":
      return given !== null && value !== undefined && given < value;
  }
}

test("a trait is set to a value with which the condition holds, and to one with which it does not", () => {
  fc.assert(
    fc.property(fc.constantFrom(...operators), operand, (op, value) => {
      const needsText = op === "contains" && typeof value !== "string";
      const needsOrder = (op === "greater" || op === "less") && typeof value === "boolean";
      fc.pre(!needsText && !needsOrder && !(op === "exists" && typeof value !== "boolean"));
      const [holding, failing] = settingTrait({ trait: "t", op, value });
      expect(holds(op, failing, value)).toBe(false);
      // Nothing is less than the empty text.
      if (!(op === "less" && value === "")) expect(holds(op, holding, value)).toBe(true);
    }),
  );
});
