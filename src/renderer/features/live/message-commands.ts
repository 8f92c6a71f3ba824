/** What can be done with the selected message without opening it. */

import { call } from "../../transport/transport.ts";
import { copyText } from "../../kit/copy.tsx";
import { curlOfIngest } from "../details/copy-as.ts";

const retried = new Set(["waiting", "failed", "expired", "cancelled"]);

export async function retryNow(id: string): Promise<void> {
  const { state, deliveries } = await call("messages.get", { id });
  const open = deliveries.filter((delivery) => retried.has(delivery.state));
  if (open.length === 0) throw new Error(`There is nothing to retry: the message is ${state}.`);
  await Promise.all(open.map((delivery) => call("deliveries.retry", { id: delivery.id })));
}

export async function copyAsCurl(id: string): Promise<void> {
  const [message, { ingestUrl }] = await Promise.all([call("messages.get", { id }), call("about.get", {})]);
  await copyText(curlOfIngest(message, ingestUrl), "as cURL");
}
