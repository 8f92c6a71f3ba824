/**
 * What the demo shop's customers do, drawn from the seed, so that the shop is the same every time.
 * Pure.
 */

import { drawUnit } from "../../domain/random.ts";
import type { SourceDraft } from "../pipeline.ts";
import type { AudienceDraft } from "../profile-pipeline.ts";

export const shopSources: readonly { name: string; kind: NonNullable<SourceDraft["kind"]> }[] = [
  { name: "Shop web", kind: "web" },
  { name: "Shop server", kind: "server" },
  { name: "Shop app", kind: "mobile" },
];

/** Its members change with each order, and as time passes. */
export const bigSpenders: AudienceDraft = {
  name: "Big spenders",
  rule: {
    event: "Order Completed",
    withinDays: 7,
    where: [{ property: "total", op: "greater", value: 100 }],
  },
  sync: "each-event",
};

export type ShopMessage = { source: string; body: object };

const customers = 240;
const cities = ["Graz", "Łódź", "Malmö", "Porto", "Kraków", "Zürich", "Ghent", "Cork"];
const plans = ["free", "plus", "pro"];
const products = [
  { sku: "GRND-02", name: "Hand grinder", price: 129 },
  { sku: "BEAN-1K", name: "Espresso beans", price: 18.5 },
  { sku: "KTTL-07", name: "Gooseneck kettle", price: 84.9 },
  { sku: "FLTR-100", name: "Paper filters", price: 6.2 },
  { sku: "SCLE-01", name: "Brew scale", price: 49 },
];
/** Events, their sources, and how frequent they are. */
const events: readonly { event: string; source: string; weight: number }[] = [
  { event: "Product Viewed", source: "Shop web", weight: 22 },
  { event: "Product Searched", source: "Shop web", weight: 9 },
  { event: "Product Added", source: "Shop web", weight: 12 },
  { event: "Cart Viewed", source: "Shop web", weight: 8 },
  { event: "Coupon Applied", source: "Shop web", weight: 4 },
  { event: "Checkout Started", source: "Shop web", weight: 9 },
  { event: "Order Completed", source: "Shop server", weight: 10 },
  { event: "Payment Failed", source: "Shop server", weight: 2 },
  { event: "Order Refunded", source: "Shop server", weight: 2 },
  { event: "Shipment Created", source: "Shop server", weight: 6 },
  { event: "Review Submitted", source: "Shop app", weight: 3 },
  { event: "Wishlist Updated", source: "Shop app", weight: 5 },
  { event: "App Opened", source: "Shop app", weight: 6 },
  { event: "Push Received", source: "Shop app", weight: 2 },
];
const totalWeight = events.reduce((sum, { weight }) => sum + weight, 0);

/** Separates the draws of the shop from other draws with the same seed. */
const drawsOfShop = 0x5b;

export function shopMessages({
  seed,
  from,
  count,
  now,
}: {
  seed: number;
  from: number;
  count: number;
  now: number;
}): ShopMessage[] {
  return Array.from({ length: count }, (_, place) =>
    shopMessage(seed, from + place, now - (count - 1 - place) * 7000),
  );
}

function shopMessage(seed: number, nth: number, at: number): ShopMessage {
  const draw = (what: number): number => drawUnit(seed, drawsOfShop, nth, what);
  const pick = <Value>(list: readonly Value[], what: number): Value =>
    list[Math.floor(draw(what) * list.length)] as Value;
  const customer = 1000 + Math.floor(draw(0) ** 1.6 * customers);
  const userId = `u_${customer}`;
  const timestamp = new Date(at).toISOString();

  if (draw(1) < 0.16) {
    const traits = {
      email: `customer-${customer}@example.com`,
      city: pick(cities, 2),
      plan: pick(plans, 3),
    };
    return { source: "Shop web", body: { type: "identify", userId, timestamp, traits } };
  }
  if (draw(1) < 0.24) {
    const path = pick(["/", "/coffee", "/grinders", "/cart", "/account"], 4);
    const properties = {
      path,
      url: `https://shop.example.com${path}`,
      title: "Yard Coffee",
      referrer: "",
    };
    return {
      source: "Shop web",
      body: {
        type: "page",
        anonymousId: `a_${customer.toString(16)}f3`,
        timestamp,
        name: "Shop",
        properties,
      },
    };
  }
  let left = draw(5) * totalWeight;
  const { event, source } = events.find(({ weight }) => (left -= weight) < 0) ?? {
    event: "Product Viewed",
    source: "Shop web",
  };
  const product = pick(products, 6);
  const quantity = 1 + Math.floor(draw(7) * 3);
  const properties = {
    order_id: `A-${20_000 + nth}`,
    total: Math.round(product.price * quantity * 100) / 100,
    currency: "EUR",
    ship_to: `Café Löwe, ${pick(cities, 8)}`,
    products: [{ ...product, quantity }],
  };
  const integrations = draw(9) < 0.05 ? { All: false } : {};
  return { source, body: { type: "track", userId, event, timestamp, properties, integrations } };
}
