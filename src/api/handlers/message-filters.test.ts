import { expect, test } from "vitest";
import type { Pipeline } from "../../engine/pipeline.ts";
import { messageFilterOf } from "./message-filters.ts";

/** Noon where the tests run: a time without a day is one of that day. */
const now = Date.parse("2026-11-21T12:00:00");
const pipeline = {
  clock: { state: () => ({ now }) },
  configuration: {
    sources: () => [
      { id: 1, name: "Shop" },
      { id: 2, name: "shop" },
    ],
    destinations: () => [
      { id: 3, name: "CRM", webhooks: [{ id: 5, url: "https://Crm.example/A" }] },
      { id: 4, name: "Billing", webhooks: [{ id: 6, url: "https://billing.example/" }] },
    ],
  },
} as unknown as Pipeline;
const local = (time: string): number => Date.parse(`2026-11-21T${time}`);

test.each<[string, object]>([
  ["", {}],
  ["source:SHOP", { sourceId: [1, 2] }],
  ["source:src_000000002", { sourceId: [2] }],
  ["destination:crm,nothing", { destinationId: [3, 0] }],
  ["webhook:crm.EXAMPLE/a", { webhookId: [5] }],
  ["webhook:example", { webhookId: [5, 6] }],
  [
    "status:5XX outcome:timeout attempts:>3",
    { status: ["5xx"], outcome: ["timeout"], attempts: [">3"] },
  ],
  ["batch:msg_000000007", { batch: [7] }],
  ["last:2m", { since: now - 120_000 }],
  ["last:2m since:2020-01-01", { since: now - 120_000 }],
  [`since:${new Date(now - 30_000).toISOString()} last:2m`, { since: now - 30_000 }],
  ["until:2026-11-21T10:30", { until: local("10:30") }],
  ["until:10:30", { until: local("10:30") }],
  ["cart big", { search: ["cart", "big"] }],
])("the filter %j asks for %j, and for no other member", (text, filter) => {
  expect(messageFilterOf(text, pipeline)).toStrictEqual({ ...filter, not: {} });
});

test("what is left out is asked apart, and what cannot be asked is a problem", () => {
  expect(messageFilterOf("-source:shop -type:track -cart", pipeline)).toStrictEqual({
    not: { sourceId: [1, 2], type: ["track"], search: ["cart"] },
  });
  expect(messageFilterOf("state:lost", pipeline)).toMatchObject({ code: "invalid" });
});
