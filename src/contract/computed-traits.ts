import { z } from "zod";
import { computedTraitIds, destinationIds, profileIds, sourceIds } from "../domain/ids.ts";
import { lastSync, syncProgress } from "./audiences.ts";
import { defineCall } from "./call.ts";
import { computation, sync } from "./rules.ts";
import { byId, deleted, idOf, listOf, time } from "./shapes.ts";

const id = idOf(computedTraitIds);

const computedTraitAnswer = z
  .object({
    id,
    name: z.string(),
    key: z.string().describe("The name in snake case: the trait that receivers get."),
    computation,
    sync,
    destinationIds: z.array(idOf(destinationIds)),
    sourceId: idOf(sourceIds).describe("The source of the kind `audience` that its messages come from."),
    users: z.int().describe("How many users have a value."),
    syncing: syncProgress,
    lastSync: lastSync.describe("`entered` counts the values that were sent, `left` those that were removed."),
    nextSyncAt: time.nullable(),
    createdAt: time,
  })
  .meta({ id: "ComputedTrait" });

const computedTraitDraft = z
  .strictObject({
    name: z.string().min(1).max(200),
    computation,
    destinationIds: z.array(idOf(destinationIds)).optional().describe("Every enabled destination when left out."),
    sync: sync.optional().describe("`manual` when left out."),
  })
  .meta({ id: "ComputedTraitDraft" });

export const computedTraitCalls = [
  defineCall({
    name: "computedTraits.list",
    method: "GET",
    path: "/api/computed-traits",
    summary: "All computed traits.",
    reads: ["computed-traits", "profiles"],
    answer: listOf(computedTraitAnswer),
  }),
  defineCall({
    name: "computedTraits.create",
    method: "POST",
    path: "/api/computed-traits",
    summary: "Creates a computed trait and sends its value for every user who has one. Returns after the commit.",
    body: computedTraitDraft,
    answer: computedTraitAnswer,
    status: 201,
  }),
  defineCall({
    name: "computedTraits.get",
    method: "GET",
    path: "/api/computed-traits/{id}",
    summary: "One computed trait.",
    params: byId(id),
    answer: computedTraitAnswer,
  }),
  defineCall({
    name: "computedTraits.update",
    method: "PATCH",
    path: "/api/computed-traits/{id}",
    summary:
      "Changes the given members. Values that change as a result are sent at the next sync, or immediately when it syncs after each event.",
    params: byId(id),
    body: computedTraitDraft.partial(),
    answer: computedTraitAnswer,
  }),
  defineCall({
    name: "computedTraits.delete",
    method: "DELETE",
    path: "/api/computed-traits/{id}",
    summary: "Deletes a computed trait and its source. Nothing is sent; its messages stay.",
    params: byId(id),
    answer: deleted(id),
  }),
  defineCall({
    name: "computedTraits.sync",
    method: "POST",
    path: "/api/computed-traits/{id}/sync",
    summary: "Sends the values that changed since the last sync.",
    params: byId(id),
    answer: z.object({ entered: z.int().describe("Values sent."), left: z.int().describe("Removed values, sent as null.") }),
  }),
  defineCall({
    name: "computedTraits.preview",
    method: "POST",
    path: "/api/computed-traits/preview",
    summary: "The values of an unsaved computation: how many users have one, and a sample.",
    body: z.strictObject({ computation, sample: z.int().min(0).max(100).default(10) }),
    reads: ["profiles"],
    answer: z.object({
      count: z.int(),
      profiles: z.int(),
      sample: z.array(z.object({ profileId: idOf(profileIds), userId: z.string(), value: z.unknown() })),
    }),
  }),
] as const;
