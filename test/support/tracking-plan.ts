/** A plan for two messages, and a source that has it. */

import { startIngestApp } from "./ingest-app.ts";

const order = {
  type: "object",
  properties: {
    orderId: { type: "string", pattern: "^o_\\d+$" },
    total: { type: "number", minimum: 0 },
    currency: { enum: ["EUR", "USD"] },
    items: { type: "array", items: { type: "object", properties: { sku: { type: "string" } } } },
  },
  required: ["orderId", "total"],
};
export const schemas = {
  "Order Completed": order,
  identify: { properties: { email: { format: "email" } } },
};

export const bought = (properties: object, more: object = {}) => ({
  type: "track" as const,
  userId: "ada",
  event: "Order Completed",
  properties,
  ...more,
});

export async function withPlan(plan: object) {
  const app = await startIngestApp({ source: { plan } });
  return {
    ...app,
    async outcome(message: object) {
      await app.send("/v1/batch", { batch: [message] });
      const { items } = await app.call("messages.list", { limit: 1 });
      return app.call("messages.get", { id: items[0]?.id ?? "" });
    },
  };
}
