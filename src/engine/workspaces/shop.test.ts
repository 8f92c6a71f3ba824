import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { bigSpenders, shopMessages, shopSources } from "./shop.ts";

const now = Date.UTC(2026, 10, 21);

test("the same seed opens the same shop, another seed another one", () => {
  const shop = (seed: number) => shopMessages({ seed, from: 0, count: 50, now });
  expect(shop(1)).toEqual(shop(1));
  expect(shop(1)).not.toEqual(shop(2));
});

test("the shop goes on where it stopped", () => {
  const all = shopMessages({ seed: 1, from: 0, count: 20, now });
  const rest = shopMessages({ seed: 1, from: 12, count: 8, now });
  expect(rest).toEqual(all.slice(12));
});

test("every message is one that a source of the shop may send, and the newest happened now", () => {
  const messages = shopMessages({ seed: 3, from: 0, count: 400, now });
  const names = Object.values(shopSources).map(({ name }) => name);
  for (const { source, body } of messages) {
    expect(names).toContain(source);
    expect(body).toMatchObject({
      type: expect.stringMatching(/^(track|identify|page)$/) as string,
      timestamp: expect.any(String) as string,
    });
  }
  expect(new Set(messages.map(({ body }) => (body as { type: string }).type)).size).toBe(3);
  expect(messages.at(-1)?.body).toHaveProperty("timestamp", new Date(now).toISOString());
});

test("the shop of a seed stays the one that the documentation and its pictures show", () => {
  const messages = shopMessages({ seed: 7, from: 3, count: 3000, now });
  const digest = createHash("sha256")
    .update(JSON.stringify({ messages, bigSpenders }))
    .digest("hex");
  expect(digest).toMatchInlineSnapshot(
    `"74c1f8b6e36b9ca563974e33b055a7198dc75bf140556da01873ec76b630c55e"`,
  );
});
