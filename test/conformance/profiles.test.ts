import { test as base, describe, expect } from "vitest";
import { at, batch, profileOf, shop } from "../support/profiles.ts";
import { starting } from "../support/running-app.ts";

const test = base.extend("start", starting);

describe("a profile", () => {
  test("has what came in for a user: traits, groups, events and their last properties, sources, identities", async ({ start }) => {
    const app = await shop(start);
    await batch(app, [
      { type: "identify", userId: "ada", anonymousId: "a1", traits: { plan: "pro", visits: 3 }, timestamp: at(1) },
      { type: "track", userId: "ada", event: "Bought", properties: { total: 10 }, timestamp: at(2) },
      { type: "track", userId: "ada", event: "Bought", properties: { total: 20 }, timestamp: at(3) },
      { type: "group", userId: "ada", groupId: "acme", traits: { seats: 5 }, timestamp: at(4) },
      { type: "page", userId: "ada", name: "Home", timestamp: at(5) },
      { type: "screen", userId: "ada", name: "Home", timestamp: at(6) },
    ]);
    expect(await profileOf(app, "ada")).toMatchObject({
      userId: "ada",
      anonymousId: "a1",
      firstSeenAt: at(1),
      lastSeenAt: at(6),
      events: 2,
      traits: { plan: "pro", visits: 3 },
      traitList: [
        { name: "plan", value: "pro", at: at(1) },
        { name: "visits", value: 3, at: at(1) },
      ],
      identities: [
        { kind: "userId", value: "ada", since: at(1) },
        { kind: "anonymousId", value: "a1", since: at(1) },
      ],
      groups: [{ groupId: "acme", traits: { seats: 5 }, at: at(4) }],
      eventList: [{ event: "Bought", count: 2, firstAt: at(2), lastAt: at(3), lastProperties: { total: 20 } }],
      history: [{ kind: "created", at: at(1) }],
      audiences: [],
      memberships: [],
      computed: [],
      suppressed: false,
    });
    expect((await app.call("profiles.list", {})).items).toHaveLength(1);
    expect(await app.call("profiles.seen", {})).toEqual({
      traits: ["plan", "visits"],
      events: [{ event: "Bought", properties: ["total"] }],
    });
  });

  test("of nobody and of a user without a profile is not found", async ({ start }) => {
    const app = await shop(start);
    expect((await app.call("profiles.list", { userId: "nobody" })).items).toEqual([]);
    expect(await app.refused("profiles.get", { id: "prf_1" })).toEqual({ status: 404, code: "not_found" });
  });
});
