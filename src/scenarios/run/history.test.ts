import { afterEach, expect, test } from "vitest";
import { type Hookyard, type Setup, start } from "../../testing/start.ts";

let started: Hookyard[] = [];
afterEach(async () => {
  for (const one of started.splice(0)) await one.stop();
});

async function starting(setup: Setup): Promise<Hookyard> {
  const hookyard = await start({ settings: { jitter: false }, ...setup });
  started.push(hookyard);
  return hookyard;
}

const bought = { type: "track" as const, event: "Bought", userId: "ada" };

test("one of two waiting deliveries that is cancelled is seen as cancelled", async () => {
  const hookyard = await starting({
    endpoints: { RA: [{ status: 503 }], RB: [{ status: 503 }] },
    destinations: {
      A: { webhooks: [{ endpoint: "RA" }] },
      B: { webhooks: [{ endpoint: "RB" }] },
    },
  });
  await hookyard.send(bought);
  await hookyard.expect({ deliveries: { count: 2, state: "waiting" } });
  await hookyard.cancel({ destination: "B" });
  await hookyard.expect([
    { deliveries: { of: { destination: "A" }, state: "waiting" } },
    { deliveries: { of: { destination: "B" }, state: "cancelled" } },
  ]);
});
