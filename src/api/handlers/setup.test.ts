import { expect, test } from "vitest";
import { conditionHandlers } from "./setup.ts";

test("reads a condition, and matches it against an event", () => {
  const check = conditionHandlers["conditions.check"];
  const condition = 'type = "track" and properties.total > 5';
  const event = { type: "track", properties: { total: 6 } };
  expect(check({ condition, event })).toEqual({ error: null, warnings: [], matches: true });
  expect(check({ condition })).toMatchObject({ matches: null });
  expect(check({ condition: "kind = 1 and event = a", event })).toMatchObject({
    error: null,
    warnings: [{ at: 0 }],
    matches: false,
  });
  expect(check({ condition: "event = 'a", event })).toEqual({
    error: { message: "The text in quotes has no closing quote.", at: 8 },
    warnings: [],
    matches: false,
  });
});
