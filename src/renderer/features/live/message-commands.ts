/** What can be done with the selected message without opening it. Each answers null, or what stood in its way. */

import { CallError, call } from "../../transport/transport.ts";
import { copyText } from "../../kit/copy.tsx";
import { curlOfIngest } from "../details/copy-as.ts";

const retried = new Set(["waiting", "failed", "expired", "cancelled"]);

async function saying(run: () => Promise<Error | null>): Promise<Error | null> {
  try {
    return await run();
  } catch (error) {
    return error instanceof CallError ? error : new Error(String(error));
  }
}

export function retryNow(id: string): Promise<Error | null> {
  return saying(async () => {
    const { state, deliveries } = await call("messages.get", { id });
    const open = deliveries.filter((delivery) => retried.has(delivery.state));
    if (open.length === 0) return new Error(`There is nothing to retry: the message is ${state}.`);
    await Promise.all(open.map((delivery) => call("deliveries.retry", { id: delivery.id })));
    return null;
  });
}

export function copyAsCurl(id: string): Promise<Error | null> {
  return saying(async () => {
    const [message, { ingestUrl }] = await Promise.all([call("messages.get", { id }), call("about.get", {})]);
    await copyText(curlOfIngest(message, ingestUrl), "as cURL");
    return null;
  });
}
