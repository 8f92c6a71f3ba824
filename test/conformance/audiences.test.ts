/** Audiences: what receivers are told of their members, and when. */

import { describe, expect, test as base } from "vitest";
import { starting, type Message, type RunningApp, type Start } from "../support/running-app.ts";
import type { WebhookReceiver } from "../support/webhook-receiver.ts";

const test = base.extend("start", starting);

const dayMs = 24 * 60 * 60 * 1000;

type Shop = RunningApp & { webhook: WebhookReceiver };

async function openShop(start: Start): Promise<Shop> {
  const app = await start.app({ clock: "paused" });
  const webhook = await start.receiver();
  await app.destination([webhook.url]);
  return { ...app, webhook };
}

const batch = (app: RunningApp, messages: Message[]): Promise<Message> => app.ingest("/v1/batch", { batch: messages });
const bought = (userId: string, total = 10): Message => ({ type: "track", userId, event: "Bought", properties: { total } });

/** What the webhook was told of each user by the audience with this key, oldest first. */
async function told({ webhook, settle }: Shop, key: string): Promise<Record<string, unknown[]>> {
  await settle();
  const values: Record<string, unknown[]> = {};
  for (const { body } of webhook.requests) {
    const { type, userId, traits } = JSON.parse(body) as { type: string; userId: string; traits?: Record<string, unknown> };
    if (type === "identify" && traits !== undefined && key in traits) (values[userId] ??= []).push(traits[key]);
  }
  return values;
}

const rule = { event: "Bought", atLeast: 2, withinDays: 7 };

describe("an audience", () => {
  test("is told when it is made: an identify with `true` for each member, with where it comes from", async ({ start }) => {
    const app = await openShop(start);
    await batch(app, [bought("ada"), bought("ada"), bought("bob")]);
    const audience = await app.call("audiences.create", { name: "Big Spenders", rule });
    expect(audience).toMatchObject({ key: "big_spenders", size: 1, sync: "manual", lastSync: { entered: 1, left: 0 }, syncing: null });
    expect(await told(app, "big_spenders")).toEqual({ ada: [true] });
    const identify = app.webhook.requests.map(({ body }) => JSON.parse(body) as Message).find(({ type }) => type === "identify");
    expect(identify).toMatchObject({
      userId: "ada",
      traits: { big_spenders: true },
      context: {
        personas: {
          computation_class: "audience",
          computation_key: "big_spenders",
          computation_id: audience.id,
          namespace: expect.stringMatching(/^spa_\w{27}$/) as string,
          space_id: expect.stringMatching(/^spa_\w{27}$/) as string,
        },
      },
    });
  });

  test("tells at a later sync only what has changed", async ({ start }) => {
    const app = await openShop(start);
    await batch(app, [bought("ada"), bought("ada"), bought("bob")]);
    const { id } = await app.call("audiences.create", { name: "Big", rule });
    expect(await app.call("audiences.sync", { id })).toEqual({ entered: 0, left: 0 });
    await batch(app, [bought("bob")]);
    expect(await app.call("audiences.sync", { id })).toEqual({ entered: 1, left: 0 });
    await app.advance({ byMs: 8 * dayMs });
    expect(await app.call("audiences.sync", { id })).toEqual({ entered: 0, left: 2 });
    expect(await told(app, "big")).toEqual({ ada: [true, false], bob: [true, false] });
    expect(await app.call("audiences.get", { id })).toMatchObject({ size: 0 });
  });

  test("that follows each event tells at once, and of a user who leaves by time alone", async ({ start }) => {
    const app = await openShop(start);
    await app.call("audiences.create", { name: "Big", rule, sync: "each-event" });
    await batch(app, [bought("ada")]);
    expect(await told(app, "big")).toEqual({});
    await batch(app, [bought("ada")]);
    expect(await told(app, "big")).toEqual({ ada: [true] });
    await app.advance({ byMs: 6 * dayMs });
    expect(await told(app, "big")).toEqual({ ada: [true] });
    await app.advance({ byMs: 2 * dayMs });
    expect(await told(app, "big")).toEqual({ ada: [true, false] });
  });

  test("that syncs on a period does so by the clock, and does not keep an advance to idle going", async ({ start }) => {
    const app = await openShop(start);
    const { id, nextSyncAt } = await app.call("audiences.create", { name: "Big", rule, sync: { everyMs: 60_000 } });
    await batch(app, [bought("ada"), bought("ada")]);
    await app.advance({ to: "idle" });
    expect(await told(app, "big")).toEqual({});
    await app.advance({ byMs: 60_000 });
    expect(await told(app, "big")).toEqual({ ada: [true] });
    const later = await app.call("audiences.get", { id });
    expect(Date.parse(later.nextSyncAt ?? "")).toBe(Date.parse(nextSyncAt ?? "") + 60_000);
  });
});
