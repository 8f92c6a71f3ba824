/** The lists of a share file answer as those of the Hookyard that wrote it. */

import { expect, test } from "vitest";
import type { Api } from "../api/api.ts";
import { isProblem } from "../domain/problem.ts";
import { shareApi, shareBytes } from "./share-file.ts";
import { startShop, track } from "./share.fixture.ts";

const filters = [
  "state:waiting",
  "-state:waiting,filtered",
  "type:track",
  "user:ada",
  "-user:ada,ben",
  'event:"order*"',
  "status:503",
  "status:5xx",
  "status:>=400",
  "status:last=503",
  "-status:<500",
  "attempts:>0",
  "attempts:2+",
  "attempts:<=1",
  "outcome:http_error",
  "plan:none",
  "plan:violations",
  "reason:suppressed",
  "source:shop",
  "source:s*",
  "source:app",
  "destination:down",
  "-destination:down",
  "to:nobody",
  "webhook:down",
  "webhook:nowhere",
  "last:1m",
  "last:1h",
  "since:2026-11-22T10:00:30Z",
  "until:2026-11-22T10:00:30Z",
  "pro",
  "-pro",
  'pro -"ada"',
  "Shop",
  "deliveries",
  "-queued",
  "waiting",
  "http_error",
  "503",
  '"\\"plan\\":\\"pro\\""',
  "context",
  "older:1h",
  "status:(",
  "state:lost",
];
const inputs = [
  { limit: 1 },
  { limit: 0 },
  { limit: -1 },
  { limit: 5000 },
  { limit: "many" },
  { cursor: "zzz" },
  { cursor: "msg_000000003" },
  { cursor: "msg_000000009" },
  { nonsense: 1 },
  { sourceId: "src_000000001" },
  { sourceId: ["src_000000001", "src_000000002"], state: "filtered" },
  { sourceId: "Shop" },
  { state: ["waiting", "filtered"] },
  { type: "page" },
  { userId: "ada" },
  { userId: ["v", "eve"] },
  { event: "order*" },
  { reason: "suppressed" },
  { status: "5xx" },
  { attempts: ">0", filter: "user:ada" },
  { plan: "none" },
  { search: "pro" },
  { search: "Order Completed" },
  { search: "pro", filter: "state:waiting" },
  { search: "pro", filter: "ada" },
  { userId: "ada", filter: "user:ben" },
];
const deliveryInputs = [
  {},
  { limit: 1 },
  { limit: 1, cursor: "dlv_000000003" },
  { state: "waiting" },
  { state: "delivered" },
  { destinationId: "dst_000000001" },
  { destinationId: "dst_000000002", state: "failed" },
  { order: "due" },
  { order: "due", state: "waiting" },
  { order: "due", state: "waiting", limit: 2 },
];

async function found(api: Pick<Api, "call">, input: unknown): Promise<unknown> {
  const { status, body } = await api.call("messages.list", input);
  const { items, total, nextCursor, message } = body as Record<string, unknown>;
  const ids = (items as { id: string }[] | undefined)?.map(({ id }) => id);
  return { status, ids, total, nextCursor, message };
}

test("the same filters, pages and mistakes give the same messages", async () => {
  const { app, call, send, share } = await startShop();
  const shop = await call<{ id: string }>("sources.create", {
    name: "Shop",
    writeKey: "wk_shop_1",
  });
  await call("sources.create", { name: "App", writeKey: "wk_app_1" });
  const { url } = await call<{ url: string }>("endpoints.create", {
    name: "down",
    steps: [{ do: "answer", status: 503 }],
  });
  const webhooks = [{ url }];
  await call("destinations.create", {
    name: "Down",
    sourceIds: [shop.id],
    webhooks,
  });
  await send("wk_shop_1", { batch: [track("ada", { plan: "pro" }), track("ben")] });
  await send("wk_app_1", {
    batch: [track("ada"), { type: "page", anonymousId: "v", name: "Home" }],
  });
  await call("clock.advance", { byMs: 60_000 });
  await send("wk_shop_1", { batch: [track("eve", { plan: "pro" })] });
  await call("pipeline.settle", {});
  const shared = shareApi(await shareBytes((await share()).split("\n"), "hookyard", ""));
  if (isProblem(shared)) throw new Error(shared.message);
  for (const input of [...filters.map((filter) => ({ filter })), ...inputs])
    expect(await found(shared, input), JSON.stringify(input)).toEqual(await found(app.api, input));
  for (const input of deliveryInputs)
    expect(await shared.call("deliveries.list", input), JSON.stringify(input)).toEqual(
      await app.api.call("deliveries.list", input),
    );
  const due = { order: "due", state: "waiting", limit: 1 };
  const { body } = await shared.call("deliveries.list", due);
  const next = { ...due, cursor: (body as { nextCursor: string }).nextCursor };
  expect(await shared.call("deliveries.list", next)).toEqual(
    await app.api.call("deliveries.list", next),
  );
});

test("a word is found in what was sent of a message, and not in the rest of its batch", async () => {
  const { app, call, send, share } = await startShop();
  const source = await call<{ id: string }>("sources.create", { name: "A", writeKey: "wk_1" });
  const { url } = await call<{ url: string }>("endpoints.create", {
    name: "ok",
    steps: [{ do: "answer" }],
  });
  const batch = { enabled: true, size: 2, keys: [], waitMs: 1000 };
  const data = { who: { "@template": "for {{userId}}" } };
  await call("destinations.create", {
    name: "Mapped",
    kind: "webhooks-actions",
    sourceIds: [source.id],
    mappings: [{ name: "All", url, data, batch }],
  });
  await send("wk_1", { batch: [track("olga"), track("ΟΔΟΣ", { n: "1+1 (two)" })] });
  await call("pipeline.settle", {});
  const shared = shareApi(await shareBytes((await share()).split("\n"), "hookyard", ""));
  if (isProblem(shared)) throw new Error(shared.message);
  for (const [search, total] of [
    ["for olga", 1],
    ["olga", 1],
    ["FOR οδοσ", 1],
    ["for", 2],
    ["1+1 (two)", 1],
    ["1.1", 0],
  ] as const) {
    const live = await found(app.api, { search });
    expect(live, search).toMatchObject({ total });
    expect(await found(shared, { search }), search).toEqual(live);
  }
});
