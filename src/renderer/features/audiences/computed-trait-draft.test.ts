import { expect, test } from "vitest";
import { missingInComputation, withAggregate } from "./computed-trait-draft.ts";

test("a count takes no property, and every other computation asks for one", () => {
  expect(withAggregate({ aggregate: "sum", event: "Order", property: "total" }, "count")).toEqual({ aggregate: "count", event: "Order" });
  const sum = withAggregate({ aggregate: "count", event: "Order" }, "sum");
  expect(sum).toEqual({ aggregate: "sum", event: "Order", property: "" });
  expect(missingInComputation(sum)).toBe("It needs the property’s name.");
  expect(missingInComputation({ aggregate: "count", event: "" })).toBe("It needs the event’s name.");
  expect(missingInComputation({ aggregate: "max", event: "Order", property: "total" })).toBeNull();
});
