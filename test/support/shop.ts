/** A shop with one webhook, on a paused clock, and what its receiver was told. */

import type { Message, RunningApp, Start } from "./running-app.ts";
import type { WebhookReceiver } from "./webhook-receiver.ts";

type Shop = RunningApp & { webhook: WebhookReceiver };

export async function openShop(
  start: Start,
  options: Parameters<Start["app"]>[0] = {},
): Promise<Shop> {
  const app = await start.app({ clock: "paused", ...options });
  const webhook = await start.receiver();
  await app.destination([webhook.url]);
  return { ...app, webhook };
}

export const batch = (app: RunningApp, messages: Message[]): Promise<Message> =>
  app.ingest("/v1/batch", { batch: messages });
export const bought = (userId: string, total = 10): Message => ({
  type: "track",
  userId,
  event: "Bought",
  properties: { total },
});

/**
 * What the webhook was told of each user by the audience or computed trait with this key, oldest
 * first.
 */
export async function told(
  { webhook, settle }: Shop,
  key: string,
): Promise<Record<string, unknown[]>> {
  await settle();
  const values: Record<string, unknown[]> = {};
  for (const { body } of webhook.requests) {
    const { type, userId, traits } = JSON.parse(body) as {
      type: string;
      userId: string;
      traits?: Record<string, unknown>;
    };
    if (type === "identify" && traits !== undefined && key in traits)
      (values[userId] ??= []).push(traits[key]);
  }
  return values;
}
