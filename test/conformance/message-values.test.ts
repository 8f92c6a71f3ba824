/** The values that a filter's keys may have, as they are suggested while somebody writes one. */

import { expect, test } from "vitest";
import type { InputOf } from "../../src/contract/contract.ts";
import { startIngestApp } from "../support/ingest-app.ts";

/** Sends as many events of each name, and says what is suggested, as value and count. */
async function appWith(counts: Record<string, number>) {
  const app = await startIngestApp();
  const { call, send, source } = app;
  await call("clock.set", { mode: "paused" });
  const batch = Object.entries(counts).flatMap(([event, count]) =>
    Array.from({ length: count }, () => ({ type: "track", userId: "ada", event })),
  );
  await send("/v1/batch", { batch });
  await call("pipeline.settle", {});
  return {
    ...app,
    sourceId: source.id,
    async suggested(asked: InputOf<"messages.values">) {
      const { items } = await call("messages.values", asked);
      return items.map(({ value, count }) => [value, count]);
    },
  };
}

test("a value that is the text comes first, then those that begin with it, the most frequent and the names in their order", async () => {
  const { suggested } = await appWith({
    ...{ Reorder: 3, "Order Seen": 1, "Order Lost": 1, "Order Made": 2, Order: 1, Cart: 4 },
  });
  expect(await suggested({ key: "event", text: "oRDER" })).toEqual([
    ["Order", 1],
    ["Order Made", 2],
    ["Order Lost", 1],
    ["Order Seen", 1],
    ["Reorder", 3],
  ]);
  expect((await suggested({ key: "event" })).slice(0, 3)).toEqual([
    ["Cart", 4],
    ["Reorder", 3],
    ["Order Made", 2],
  ]);
  expect(await suggested({ key: "event", text: "order x" })).toEqual([]);
  expect(await suggested({ key: "last", text: "" })).toEqual([]);
});

test("twenty of one key are suggested, and three of each without one", async () => {
  const names = Array.from({ length: 25 }, (_, nth) => `Event ${String(nth).padStart(2, "0")}`);
  const { call, suggested } = await appWith(Object.fromEntries(names.map((name) => [name, 1])));
  expect(await suggested({ key: "event" })).toEqual(names.slice(0, 20).map((name) => [name, 1]));
  const { items } = await call("messages.values", { text: "" });
  expect(items.map(({ key, value }) => `${key} ${value}`)).toEqual([
    ...names.slice(0, 3).map((name) => `event ${name}`),
    "user ada",
    "state filtered",
    "type track",
    "source Shop",
    "attempts 0",
    "reason no_destination",
    "plan none",
  ]);
});

test("sources and destinations of one name are counted together, and webhooks not at all", async () => {
  const { call, send, source, destination, suggested } = await appWith({ Cart: 2 });
  const other = await call("sources.create", { name: source.name, writeKey: "other" });
  for (const sourceIds of [[source.id, other.id], [source.id]]) await destination({ sourceIds });
  const cart = { type: "track", userId: "bob", event: "Cart" };
  await send("/v1/track", cart);
  await send("/v1/track", cart, { key: "other" });
  await send("/v1/track", { type: "track", userId: "bob" });
  await call("pipeline.settle", {});
  const unused = await call("sources.create", { name: "Unused" });
  expect(await suggested({ key: "source" })).toEqual([
    [source.name, 5],
    [unused.name, 0],
  ]);
  expect(await suggested({ key: "destination" })).toEqual([["Warehouse", 3]]);
  const { items } = await call("destinations.list", {});
  const urls = items.flatMap(({ webhooks }) => webhooks.map(({ url }) => url)).toSorted();
  expect(await suggested({ key: "webhook" })).toEqual(urls.map((url) => [url, null]));
  expect(await suggested({ key: "state" })).toEqual([
    ["delivered", 2],
    ["filtered", 2],
    ["rejected", 1],
  ]);
  expect(await suggested({ key: "type" })).toEqual([["track", 5]]);
  expect(await suggested({ key: "user", text: "b" })).toEqual([["bob", 3]]);
});
