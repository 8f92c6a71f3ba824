/**
 * What the demo shop's customers do, drawn from the seed, so that the shop is the same every time:
 * people with names and habits, and among twenty messages one story each of a visitor who becomes
 * a customer, a payment that fails, a refund and a review. Those are what keeps a delivery waiting,
 * one failed and one expired. Pure.
 */

import { drawUnit } from "../../domain/random.ts";
import type { SourceDraft } from "../pipeline.ts";
import type { AudienceDraft, ComputedTraitDraft } from "../profile-pipeline.ts";

export type ShopSource = { name: string; kind: NonNullable<SourceDraft["kind"]> };

export const shopSources = {
  web: { name: "Shop web", kind: "web" },
  server: { name: "Shop server", kind: "server" },
  app: { name: "Shop app", kind: "mobile" },
} satisfies Record<string, ShopSource>;

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

/** Everything that each customer has spent in the last thirty days. */
export const spent: ComputedTraitDraft = {
  name: "Spent in 30 days",
  computation: {
    aggregate: "sum",
    event: "Order Completed",
    property: "total",
    withinDays: 30,
    where: [],
  },
  sync: { everyMs: 3_600_000 },
};

export type ShopMessage = { source: string; body: object };

type Person = { id: string; name: string; city: string; plan: string };

const people: readonly Person[] = [
  { id: "ada", name: "Ada Lindqvist", city: "Malmö", plan: "pro" },
  { id: "mia", name: "Mia Novak", city: "Graz", plan: "plus" },
  { id: "jonas", name: "Jonas Weber", city: "Zürich", plan: "free" },
  { id: "zofia", name: "Zofia Kowalska", city: "Łódź", plan: "plus" },
  { id: "tiago", name: "Tiago Ramos", city: "Porto", plan: "free" },
  { id: "lotte", name: "Lotte De Smet", city: "Ghent", plan: "pro" },
  { id: "sean", name: "Seán Murphy", city: "Cork", plan: "free" },
  { id: "ewa", name: "Ewa Nowak", city: "Kraków", plan: "plus" },
  { id: "henrik", name: "Henrik Dahl", city: "Malmö", plan: "free" },
  { id: "clara", name: "Clara Moser", city: "Graz", plan: "free" },
  { id: "luca", name: "Luca Frei", city: "Zürich", plan: "pro" },
  { id: "marta", name: "Marta Wójcik", city: "Łódź", plan: "free" },
  { id: "ines", name: "Inês Duarte", city: "Porto", plan: "plus" },
  { id: "pieter", name: "Pieter Claes", city: "Ghent", plan: "free" },
  { id: "aoife", name: "Aoife Byrne", city: "Cork", plan: "plus" },
  { id: "jan", name: "Jan Zieliński", city: "Kraków", plan: "free" },
  { id: "freja", name: "Freja Holm", city: "Malmö", plan: "free" },
  { id: "david", name: "David Egger", city: "Graz", plan: "pro" },
  { id: "nora", name: "Nora Keller", city: "Zürich", plan: "free" },
  { id: "piotr", name: "Piotr Mazur", city: "Łódź", plan: "plus" },
  { id: "rui", name: "Rui Tavares", city: "Porto", plan: "free" },
  { id: "emma", name: "Emma Wouters", city: "Ghent", plan: "free" },
  { id: "conor", name: "Conor Walsh", city: "Cork", plan: "pro" },
  { id: "hania", name: "Hania Lis", city: "Kraków", plan: "free" },
];
/** Those whose payment fails, who send things back, and who write about what they bought. */
const unlucky = "jonas";
const picky = "clara";
const critic = "aoife";
/** She asked for her data to be deleted. */
export const leaver = "hania";

const firstNames = [
  "Iris",
  "Milan",
  "Sara",
  "Oskar",
  "Lea",
  "Emil",
  "Vera",
  "Hugo",
  "Nina",
  "Theo",
];
const lastNames = ["Berg", "Costa", "Doyle", "Huber", "Janssens", "Lund", "Meier", "Sousa", "Wolf"];
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
  { event: "Shipment Created", source: "Shop server", weight: 6 },
  { event: "Wishlist Updated", source: "Shop app", weight: 5 },
  { event: "App Opened", source: "Shop app", weight: 6 },
  { event: "Push Received", source: "Shop app", weight: 2 },
];
const totalWeight = events.reduce((sum, { weight }) => sum + weight, 0);

/** Separates the draws of the shop from other draws with the same seed. */
const drawsOfShop = 0x5b;

/** All stories of the shop happen once among this many messages. */
export const roundOfStories = 20;

export function shopMessages({
  seed,
  from,
  count,
  now,
  apartMs = 7000,
}: {
  seed: number;
  from: number;
  count: number;
  /** When the last one happened. */
  now: number;
  apartMs?: number;
}): ShopMessage[] {
  return Array.from({ length: count }, (_, place) =>
    shopMessage(seed, from + place, now - (count - 1 - place) * apartMs),
  );
}

function shopMessage(seed: number, nth: number, at: number): ShopMessage {
  const timestamp = new Date(at).toISOString();
  const draw = (what: number): number => drawUnit(seed, drawsOfShop, nth, what);
  return storyMessage(seed, nth, timestamp) ?? everydayMessage({ nth, timestamp, draw });
}

export const visitorOf = (seed: number, round: number): Person & { anonymousId: string } => {
  const pick = (list: readonly string[], what: number): string =>
    list[Math.floor(drawUnit(seed, drawsOfShop, round, what) * list.length)] ?? "";
  const id = `u_${1000 + round}`;
  return {
    id,
    name: `${pick(firstNames, 20)} ${pick(lastNames, 21)}`,
    city: people[round % people.length]?.city ?? "",
    plan: "free",
    anonymousId: `visitor-${1000 + round}`,
  };
};

/** The steps of the stories, each at its place in the round. */
function storyMessage(seed: number, nth: number, timestamp: string): ShopMessage | null {
  const round = Math.floor(nth / roundOfStories);
  const visitor = visitorOf(seed, round);
  const { anonymousId } = visitor;
  const track = (source: string, event: string, who: object, properties: object): ShopMessage => ({
    source,
    body: { type: "track", ...who, event, timestamp, properties },
  });
  const paid = { order_id: `A-${20_000 + nth}`, currency: "EUR" };
  switch (nth % roundOfStories) {
    case 2:
      return page({ anonymousId }, "/grinders", timestamp);
    case 5:
      return track("Shop web", "Product Viewed", { anonymousId }, { ...products[0] });
    case 7:
      return identify(visitor, { anonymousId }, timestamp);
    case 9:
      return track(
        "Shop server",
        "Order Completed",
        { userId: visitor.id },
        {
          ...paid,
          total: 129,
          products: [{ ...products[0], quantity: 1 }],
        },
      );
    case 12:
      return track(
        "Shop server",
        "Payment Failed",
        { userId: unlucky },
        {
          ...paid,
          total: 84.9,
          reason: "card expired",
        },
      );
    case 14:
      return track("Shop server", "Order Refunded", { userId: picky }, { ...paid, total: 49 });
    case 16:
      return track(
        "Shop app",
        "Review Submitted",
        { userId: critic },
        { stars: 2, sku: "KTTL-07" },
      );
    default:
      return null;
  }
}

function page(who: object, path: string, timestamp: string): ShopMessage {
  const properties = {
    path,
    url: `https://shop.example.com${path}`,
    title: "Yard Coffee",
    referrer: "",
  };
  return {
    source: "Shop web",
    body: { type: "page", ...who, timestamp, name: "Shop", properties },
  };
}

function identify({ id, name, city, plan }: Person, who: object, timestamp: string): ShopMessage {
  const mailbox = name
    .normalize("NFD")
    .replace(/[^A-Za-z ]/g, "")
    .toLowerCase()
    .replaceAll(" ", ".");
  const traits = { name, email: `${mailbox}@example.com`, city, plan };
  return { source: "Shop web", body: { type: "identify", ...who, userId: id, timestamp, traits } };
}

function everydayMessage({
  nth,
  timestamp,
  draw,
}: {
  nth: number;
  timestamp: string;
  draw: (what: number) => number;
}): ShopMessage {
  const pick = <Value>(list: readonly Value[], what: number): Value =>
    list[Math.floor(draw(what) * list.length)] as Value;
  const person = people[Math.floor(draw(0) ** 1.6 * people.length)];
  if (person === undefined) throw new Error("the shop has no customers");
  if (draw(1) < 0.16) return identify(person, {}, timestamp);
  if (draw(1) < 0.24)
    return page(
      { anonymousId: `a_${person.id}` },
      pick(["/", "/coffee", "/grinders", "/cart", "/account"], 4),
      timestamp,
    );
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
    ship_to: `${person.name}, ${person.city}`,
    products: [{ ...product, quantity }],
  };
  const integrations = draw(9) < 0.05 ? { All: false } : {};
  return {
    source,
    body: { type: "track", userId: person.id, event, timestamp, properties, integrations },
  };
}
