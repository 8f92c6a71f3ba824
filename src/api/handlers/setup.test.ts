import { expect, test } from "vitest";
import type { SourceId } from "../../domain/ids.ts";
import type { Pipeline } from "../../engine/pipeline.ts";
import { conditionHandlers, mappingHandlers, sourceHandlers } from "./setup.ts";

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
  const members = { condition: "messageId = 'm'", event: { messageId: "m" } };
  expect(check({ ...members, of: "filter" })).toEqual({ error: null, warnings: [], matches: true });
  expect(check({ ...members, of: "trigger" })).toMatchObject({ error: { at: 0 }, matches: false });
});

test("the plan of a source has its rules with their schemas; one without a plan, and none, say so", () => {
  const rules = [{ type: "track", key: "Bought", version: 1, schema: { type: "object" } }];
  const sources = new Map<number, object>([
    [1, { plan: null }],
    [2, { plan: { name: "Shop", rules: JSON.stringify(rules) } }],
  ]);
  const configuration = { source: (id: number) => sources.get(id) };
  const handlers = sourceHandlers({ configuration } as unknown as Pipeline);
  const planOf = (id: number): unknown => handlers["sources.plan"]({ id: id as SourceId });
  expect(planOf(1)).toEqual({ plan: null });
  expect(planOf(3)).toMatchObject({ code: "not_found" });
  const [{ schema: jsonSchema, ...rule } = { schema: {} }] = rules;
  expect(planOf(2)).toEqual({ plan: { name: "Shop", rules: [{ ...rule, jsonSchema }] } });
});

test.each([
  ["the saved secret and filters when it is left out", undefined, 7, "saved"],
  ["none when there is no destination yet", undefined, undefined, null],
  ["none when it is empty", "", 7, null],
  ["the given one", "given", 7, "given"],
])("a mapping is previewed with %s", async (_, sharedSecret, destinationId, secret) => {
  const asked: unknown[] = [];
  const pipeline = {
    previewMapping: (options: unknown) => void asked.push(options),
    configuration: { destination: () => ({ sharedSecret: "saved", filters: ["F"] }) },
  } as unknown as Pipeline;
  const preview = mappingHandlers(pipeline)["mappings.preview"] as (input: unknown) => unknown;
  await preview({ mapping: {}, sourceIds: [3], sharedSecret, destinationId, id: 5 });
  const filters = destinationId === undefined ? undefined : ["F"];
  expect(asked).toEqual([{ mapping: {}, sourceIds: [3], secret, filters, id: 5 }]);
});
