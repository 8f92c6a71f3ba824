import { expect, test as base } from "vitest";
import { starting, until } from "../../test/support/running-app.ts";

const test = base.extend("start", starting);

const ofMessages = [
  "audiences",
  "clients",
  "computed-traits",
  "deletions",
  "deliveries",
  "messages",
  "profiles",
  "received",
  "suppressions",
  "unknown-keys",
];
const ofConfiguration = ["destinations", "endpoints", "retry-profiles", "sources"];

test.for([
  ["messages", ofMessages, [1, 1, 1, 1, 1]],
  ["everything", [...ofMessages, ...ofConfiguration], [0, 0, 0, 0, 0]],
] as const)("a reset of %s tells whoever watches of all that went, and leaves the rest", async ([what, areas, left], { start }) => {
  const app = await start.app({ clock: "paused" });
  const endpoint = await app.call("endpoints.create", { name: "R", steps: [{ do: "answer" }] });
  await app.destination([endpoint.url]);
  await app.call("clients.create", { name: "C", writeKey: "other" });
  await app.call("retryProfiles.create", { name: "quick" });
  await app.send();
  await app.settle();
  const noted = new Set<string>();
  app.changes.subscribe((changes) => changes.forEach(({ area }) => noted.add(area)));
  const settings = await app.call("settings.update", { vendor: "Acme" });
  await until(() => noted.has("settings"));
  noted.clear();

  await app.call("pipeline.reset", { what });
  await until(() => areas.every((area) => noted.has(area)));
  expect(noted).toEqual(new Set(areas));
  expect((await app.call("messages.list", {})).items).toEqual([]);
  const lists = [
    await app.call("sources.list", {}),
    await app.call("destinations.list", {}),
    await app.call("endpoints.list", {}),
    await app.call("clients.list", {}),
    { items: (await app.call("retryProfiles.list", {})).items.filter(({ builtIn }) => !builtIn) },
  ];
  expect(lists.map(({ items }) => items.length)).toEqual(left);
  expect(await app.call("settings.get", {})).toEqual(settings);
});
