import { expect, test } from "vitest";
import type { AudienceCalls } from "../../../domain/configuration.ts";
import { differing } from "../../stores/drafts.ts";
import {
  type Audience,
  callsTo,
  changesOf,
  draftOf,
  emptyDraft,
  keyOf,
  missingInComputation,
  missingInDraft,
  payloadOf,
  sentValue,
  withAggregate,
} from "./computed-draft.ts";

const audience: Audience = {
  id: "aud_1",
  name: "Big spenders",
  key: "big_spenders",
  rule: { event: "Order Completed", atLeast: 2 },
  members: null,
  sync: "manual",
  destinationIds: ["dst_1"],
  sourceId: "src_9",
  size: 0,
  syncing: null,
  lastSync: null,
  cancelledSync: null,
  firstSyncs: [],
  nextSyncAt: null,
  createdAt: "2026-01-01T00:00:00.000Z",
};

test("a draft of an audience says the same as the audience until something is typed", () => {
  const draft = draftOf(audience);
  const { name, rule, sync, destinationIds } = audience;
  expect(changesOf(draft)).toEqual({ name, rule, sync, destinationIds });
  expect(changesOf({ ...draft, by: "members", members: "ana\nben" })).toEqual({
    name: "Big spenders",
    members: ["ana", "ben"],
    sync: "manual",
    destinationIds: ["dst_1"],
  });
});

test("a list that is too long to be shown stays until another one is typed", () => {
  const draft = draftOf({ ...audience, rule: null, membersLeftOut: 90_000 });
  expect(missingInDraft(draft)).toBeNull();
  expect(changesOf(draft)).not.toHaveProperty("members");
  expect(changesOf({ ...draft, members: "ana" })).toMatchObject({ members: ["ana"] });
});

test("a fixed list stays the same while only its name changes, whatever its userIds are", () => {
  const saved = { ...audience, rule: null, members: ["a,b", " c"] };
  const draft = draftOf(saved);
  expect(changesOf(draft)).toMatchObject({ members: ["a,b", " c"] });
  expect(differing(changesOf({ ...draft, name: "VIPs" }), changesOf(draft))).toEqual({
    name: "VIPs",
  });
});

test("a new audience wants its first condition filled in", () => {
  const draft = emptyDraft(["dst_1"]);
  expect(missingInDraft(draft)).toBe("A condition on an event needs an event name.");
  expect(missingInDraft({ ...draft, by: "members" })).toBe(
    "A fixed list needs at least one userId.",
  );
});

const other = { id: "aud_1", name: "Big spenders", key: "big_spenders" };

test("a key that is taken, or that a name cannot have, is said while the name is typed", () => {
  expect(keyOf("Big Spenders!", null, [other]).problem).toBe(
    "The key big_spenders is already used by Big spenders. Choose another name.",
  );
  expect(keyOf("Big buyers", null, [other])).toEqual({ key: "big_buyers", problem: null });
  expect(keyOf("!!!", null, []).problem).toContain("needs at least one letter or digit");
  expect(keyOf(" ", null, []).problem).toBe("Enter a name.");
});

test("a saved one keeps its key when it is renamed, so any name with a letter or digit will do", () => {
  const vip = { id: "aud_2", name: "VIP", key: "vip" };
  for (const name of ["Big spenders", "Whales", "vip"])
    expect(keyOf(name, other, [other, vip])).toEqual({ key: "big_spenders", problem: null });
  expect(keyOf("!!!", other, [other])).toEqual({
    key: "big_spenders",
    problem: "A name needs at least one letter or digit.",
  });
  expect(keyOf("", other, [other])).toEqual({ key: "big_spenders", problem: "Enter a name." });
});

test("a count takes no property, and every other computation asks for one", () => {
  expect(withAggregate({ aggregate: "sum", event: "Order", property: "total" }, "count")).toEqual({
    aggregate: "count",
    event: "Order",
  });
  const sum = withAggregate({ aggregate: "count", event: "Order" }, "sum");
  expect(sum).toEqual({ aggregate: "sum", event: "Order", property: "" });
  expect(missingInComputation(sum)).toBe("Enter the property name.");
  expect(missingInComputation({ aggregate: "count", event: "" })).toBe("Enter the event name.");
  expect(missingInComputation({ aggregate: "max", event: "Order", property: "total" })).toBeNull();
});

test("the value that a receiver was told stands in the recorded identify or track", () => {
  expect(sentValue('{"traits":{"big_spenders":false}}', "big_spenders")).toBe("false");
  expect(sentValue('{"traits":{"big_spenders":null}}', "big_spenders")).toBe("null");
  expect(sentValue('{"type":"identify","traits":{"vip":true}}', "vip")).toBe("true");
  expect(sentValue('{"traits":{}}', "constructor")).toBeNull();
  const track = '{"type":"track","properties":{"trait_key":"orders","orders":3},"traits":{"x":1}}';
  expect(sentValue(track, "orders")).toBe("3");
  expect(sentValue(track, "x")).toBeNull();
  expect(sentValue("no JSON", "big_spenders")).toBeNull();
  expect(sentValue({ base64: "AA==" }, "big_spenders")).toBeNull();
});

test("an audience shows the calls that its destinations get", () => {
  const of = (...all: AudienceCalls[]) => callsTo(all.map((audienceCalls) => ({ audienceCalls })));
  expect(of()).toEqual(["identify"]);
  expect(of("identify")).toEqual(["identify"]);
  expect(of("track", "track")).toEqual(["track"]);
  expect(of("track", "identify")).toEqual(["identify", "track"]);
  expect(of("both")).toEqual(["identify", "track"]);
  expect(payloadOf("identify", "big", 'a"b')).toBe(
    '{"type":"identify","userId":"a\\"b","traits":{"big":true},…}',
  );
  expect(payloadOf("track", "big", "ana")).toBe(
    '{"type":"track","userId":"ana","event":"Audience Entered","properties":{"audience_key":"big","big":true},…}',
  );
});
