/** A configuration from a file. */

import { expect, test as base } from "vitest";
import { starting } from "../support/running-app.ts";

const test = base.extend("start", starting);

test("a document with a bad entry at its end changes nothing", async ({ start }) => {
  const app = await start.app();
  await app.call("sources.create", { name: "Web", writeKey: "k" });
  const before = await app.call("configuration.export", { secrets: true });
  const document = {
    version: 1 as const,
    settings: { vendor: "Acme" },
    retryProfiles: [{ name: "quick", windowMs: 60_000 }],
    sources: [
      { name: "Renamed", writeKey: "k" },
      { name: "New", writeKey: "n" },
    ],
    endpoints: [{ name: "Receiver", steps: [{ do: "answer" as const }] }],
    destinations: [
      { name: "Shop", sources: ["k"], webhooks: [{ url: "http://a.localhost/" }], retryProfile: "quick" },
      { name: "Bad", sources: ["n"], webhooks: [{ url: "ftp://a.localhost/" }] },
    ],
  };
  expect(await app.refused("configuration.import", document)).toMatchObject({ status: 400 });
  expect(await app.call("configuration.export", { secrets: true })).toEqual(before);

  const [good] = document.destinations;
  await app.call("configuration.import", { ...document, destinations: good === undefined ? [] : [good] });
  expect((await app.call("sources.list", {})).items.map(({ name }) => name).toSorted()).toEqual(["New", "Renamed"]);
});
