import { expect, test as base } from "vitest";
import { starting } from "../../test/support/running-app.ts";

const test = base.extend("start", starting);

test("a setting takes its bounds, and nothing beyond them", async ({ start }) => {
  const app = await start.app();
  for (const good of [
    { vendor: "Acme-1.0_x" },
    { seed: -1 },
    { laneConnections: 1 },
    { laneConnections: 1024 },
    { maxMessages: 1 },
    { maxMessages: null },
    { maxAgeMs: 1 },
    { maxAgeMs: null },
    { maxBytes: 1_000_000 },
    { maxBytes: null },
    { maxRejectedBytes: 1_000_000 },
    { maxUnknownKeyBytes: 1_000_000 },
  ])
    expect(await app.call("settings.update", good)).toMatchObject(good);
  const before = await app.call("settings.get", {});
  for (const wrong of [
    { vendor: "" },
    { vendor: "two words" },
    { laneConnections: 0 },
    { laneConnections: 1025 },
    { maxMessages: 0 },
    { maxAgeMs: 0 },
    { maxBytes: 999_999 },
    { maxRejectedBytes: 999_999 },
    { maxUnknownKeyBytes: 999_999 },
  ])
    expect(await app.refused("settings.update", wrong), JSON.stringify(wrong)).toEqual({
      status: 400,
      code: "invalid",
    });
  expect(await app.call("settings.get", {})).toEqual(before);
});
