/**
 * Messages as a shop's client libraries send them, about 450 bytes each, alike for the same seed.
 */

import { randomUUID } from "node:crypto";

export const distinctUsers = 50_000;

export const events = [
  "Product Viewed",
  "Product Added",
  "Cart Viewed",
  "Product Removed",
  "Checkout Started",
  "Checkout Step Viewed",
  "Checkout Step Completed",
  "Payment Info Entered",
  "Order Completed",
  "Order Refunded",
  "Coupon Applied",
  "Products Searched",
  "Promotion Viewed",
  "Promotion Clicked",
  "Signed Up",
  "Signed In",
  "Email Opened",
  "Push Received",
  "Review Written",
  "Wishlist Shared",
];

const pages = ["Home", "Category", "Product", "Cart", "Checkout", "Account", "Help"];
const library = { name: "analytics-go", version: "3.0.0" };

export type BenchMessage = {
  type: string;
  messageId: string;
  userId: string;
  timestamp: string;
  event?: string;
} & Record<string, unknown>;

export type Random = () => number;

/** mulberry32: the same numbers for the same seed, on every machine. */
export function seeded(seed: number): Random {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const under = (random: Random, limit: number): number => Math.floor(random() * limit);

export function pick<T>(random: Random, items: readonly T[]): T {
  return items[under(random, items.length)] as T;
}

export function userName(random: Random): string {
  return `user-${under(random, distinctUsers).toString().padStart(5, "0")}`;
}

/**
 * Six in ten are tracks, a quarter pages, the rest identifies. Message ids are always new, times
 * are within the last five seconds.
 */
export function makeMessage(random: Random, at = Date.now()): BenchMessage {
  const draw = random();
  const message: BenchMessage = {
    type: draw < 0.6 ? "track" : draw < 0.85 ? "page" : "identify",
    messageId: randomUUID(),
    userId: userName(random),
    timestamp: new Date(at - under(random, 5000)).toISOString(),
    context: {
      ip: `203.0.113.${under(random, 256)}`,
      locale: "en-GB",
      timezone: "Europe/London",
      library,
    },
  };
  const sku = `SKU-${under(random, 100_000)}`;
  switch (message.type) {
    case "track":
      message.event = pick(random, events);
      message["properties"] = {
        orderId: randomUUID(),
        sku,
        name: "Wool jumper, crew neck",
        category: "Clothing/Knitwear",
        price: under(random, 20_000) / 100,
        quantity: 1 + under(random, 5),
        currency: "GBP",
      };
      break;
    case "page":
      message["name"] = pick(random, pages);
      message["properties"] = {
        path: `/products/${sku}`,
        referrer: "https://www.example.com/search?q=jumper",
        title: "Wool jumper, crew neck – The Shop",
        url: `https://shop.example.com/products/${sku}?utm_source=mail`,
      };
      break;
    default:
      message["traits"] = {
        email: `${message.userId}@example.com`,
        firstName: "Ada",
        lastName: "Lovelace",
        plan: pick(random, ["free", "basic", "pro"]),
        logins: under(random, 500),
        address: { city: "London", country: "GB", postalCode: "EC1A 1BB" },
        createdAt: "2025-03-01T09:30:00.000Z",
      };
  }
  return message;
}

/** The same message with a text that makes it so large; as it is when it is larger already. */
export function enlarged(message: BenchMessage, bytes: number, random: Random): BenchMessage {
  const size = JSON.stringify(message).length;
  if (size >= bytes) return message;
  const member = message.type === "identify" ? "traits" : "properties";
  let description = "";
  while (description.length < bytes - size) description += `${pick(random, events)} `;
  const members = message[member] as object;
  return { ...message, [member]: { ...members, description: description.slice(size - bytes) } };
}
