import { afterEach, beforeEach, test } from "vitest";
import { type Hookyard, start } from "hookyard/testing";

let hookyard: Hookyard;
beforeEach(async () => {
  hookyard = await start({
    endpoints: { Receiver: [{ status: 503, times: 5 }, { status: 200 }] },
    destinations: { Receiver: { webhooks: [{ endpoint: "Receiver" }], sharedSecret: "s3cret" } },
  });
});
afterEach(() => hookyard?.stop());

test("an order survives an outage", async () => {
  await hookyard.send({
    type: "track",
    event: "Order Completed",
    userId: "u_1",
    properties: { total: 49.9 },
  });
  await hookyard.advance("4h");
  await hookyard.expect({
    deliveries: { state: "delivered", attempts: 6 },
    requests: { signature: "valid", body: { "$.properties.total": 49.9 } },
  });
});
