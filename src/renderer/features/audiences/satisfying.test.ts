import fc from "fast-check";
import { expect, test } from "vitest";
import { operators, type Operand, type Operator } from "../../../domain/rules.ts";
import { sendingEvent, settingTrait } from "./satisfying.ts";

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
