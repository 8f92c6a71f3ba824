/** Lists without pages, as long as they may get. */

import { expect, test as base } from "vitest";
import type { CallName } from "../../src/contract/contract.ts";
import { starting, type RunningApp } from "../support/running-app.ts";

const test = base.extend("start", starting);

const long = (size: number) => "x".repeat(size);
const condition = { trait: "plan", op: "is" as const, value: long(1000) };
const rule = { any: Array.from({ length: 50 }, () => condition) };
const header = { "X-Long": long(60_000) };

/** Makes the large one of a number, and lists all. */
const kinds: Record<
  string,
  {
    make: (app: RunningApp, n: number) => Promise<unknown>;
    list: (app: RunningApp) => Promise<{ items: { id: string | null }[] }>;
    /** Where a name may be as long as that. */
    update?: CallName;
  }
> = {
  "test endpoints": {
    make: (app, n) =>
      app.call("endpoints.create", { name: `E${n}`, steps: [{ do: "answer", headers: header }] }),
    list: (app) => app.call("endpoints.list", {}),
  },
  sources: {
    make: (app, n) => app.call("sources.create", { name: long(60_000), writeKey: `k${n}` }),
    list: (app) => app.call("sources.list", {}),
    update: "sources.update",
  },
  destinations: {
    make: (app) =>
      app.call("destinations.create", {
        name: long(60_000),
        sourceIds: [],
        webhooks: [{ url: "http://a.localhost/" }],
      }),
    list: (app) => app.call("destinations.list", {}),
    update: "destinations.update",
  },
  "retry profiles": {
    make: (app, n) => app.call("retryProfiles.create", { name: `p${n}-${long(60_000)}` }),
    list: (app) => app.call("retryProfiles.list", {}),
    update: "retryProfiles.update",
  },
  "audiences and computed traits": {
    make: (app, n) => app.call("audiences.create", { name: `A ${n}`, rule, destinationIds: [] }),
    list: (app) => app.call("audiences.list", {}),
  },
};

test.for(Object.entries(kinds))(
  "%s are refused before a list of them takes 1 MB, and may not grow then",
  async ([what, { make, list, update }], { start }) => {
    const app = await start.app();
    let refused: unknown = null;
    for (let n = 0; n < 30 && refused === null; n += 1)
      await make(app, n).catch((error: unknown) => (refused = error));
    expect(refused).toMatchObject({
      message: expect.stringContaining(`all ${what} together would take`) as string,
    });
    const listed = await list(app);
    const last = { id: listed.items.at(-1)?.id ?? "", name: long(400_000) };
    if (update !== undefined)
      expect(await app.refused(update, last as never)).toMatchObject({ code: "list_full" });
    const bytes = Buffer.byteLength(JSON.stringify(listed));
    expect(bytes).toBeGreaterThan(700_000);
    expect(bytes).toBeLessThan(1_000_000);
  },
);

test("an import that makes a list too long changes nothing; what shrinks is accepted", async ({
  start,
}) => {
  const app = await start.app();
  const steps = [{ do: "answer" as const, body: long(400_000) }];
  const document = (count: number) => ({
    version: 1 as const,
    endpoints: Array.from({ length: count }, (_, n) => ({ name: `E${n}`, steps })),
  });
  expect(await app.refused("configuration.import", document(3))).toMatchObject({ status: 409 });
  expect((await app.call("endpoints.list", {})).items).toEqual([]);
  await app.call("configuration.import", document(2));
  const [first, second] = (await app.call("endpoints.list", {})).items;
  const grown = [{ do: "answer" as const, body: long(510_000) }];
  expect(
    await app.refused("endpoints.update", { id: first?.id ?? "", steps: grown }),
  ).toMatchObject({ code: "list_full" });
  await app.call("endpoints.update", { id: second?.id ?? "", steps: [{ do: "hang" }] });
  await app.call("endpoints.update", { id: first?.id ?? "", steps: grown });
});

test("the ids of connected sources count as they are spelled", async ({ start }) => {
  const app = await start.app();
  await app.call("configuration.import", {
    version: 1,
    sources: Array.from({ length: 500 }, (_, n) => ({ name: `S${n}`, writeKey: `k${n}` })),
  });
  const sourceIds = (await app.call("sources.list", {})).items.map(({ id }) => id);
  const webhooks = [{ url: "http://a.localhost/" }];
  let status = 201;
  while (status === 201)
    ({ status } = await app.answer("destinations.create", { name: "Shop", sourceIds, webhooks }));
  const { items } = await app.call("destinations.list", {});
  expect(items.length).toBeGreaterThan(100);
  expect(Buffer.byteLength(JSON.stringify(items))).toBeLessThan(1_000_000);
});
