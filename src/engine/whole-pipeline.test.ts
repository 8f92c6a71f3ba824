import { afterEach, expect, test as base, vi } from "vitest";
import { starting, until } from "../../test/support/running-app.ts";
import { createRate } from "./whole-pipeline.ts";

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

afterEach(() => {
  vi.restoreAllMocks();
});

test("a rate is the mean of five seconds, which forgets what is older", () => {
  const now = vi.spyOn(performance, "now").mockReturnValue(10_500);
  const rate = createRate();
  expect(rate.perSecond()).toBe(0);
  rate.add(10);
  rate.add(5);
  expect(rate.perSecond()).toBe(3);
  const rates = [11_000, 14_999, 15_000, 16_000].map((at) => {
    now.mockReturnValue(at);
    rate.add(1);
    return rate.perSecond();
  });
  expect(rates).toEqual([3.2, 3.4, 0.6, 0.6]);
  now.mockReturnValue(60_000);
  expect(rate.perSecond()).toBe(0);
});
