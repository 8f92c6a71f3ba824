import { expect, test } from "vitest";
import { changesOf, draftOf, emptyDraft, missingInDraft, type Audience } from "./audience-draft.ts";

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

test("a new audience wants its first condition filled in", () => {
  const draft = emptyDraft(["dst_1"]);
  expect(missingInDraft(draft)).toBe("A condition on an event needs the event’s name.");
  expect(missingInDraft({ ...draft, by: "members" })).toBe("A fixed list needs a userId.");
});
