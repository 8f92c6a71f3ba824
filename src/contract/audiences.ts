import { z } from "zod";
import {
  audienceIds,
  destinationIds,
  profileIds,
  sourceIds,
  computedTraitIds,
} from "../domain/ids.ts";
import type { Explanation } from "../domain/rules.ts";
import { defineCall } from "./call.ts";
import { rule, sync, computation } from "./rules.ts";
import { anyMembers, byId, bytes, deleted, idOf, listOf, time } from "./shapes.ts";

export const members = z
  .array(z.string().min(1).max(1000))
  .max(100_000)
  .describe("The userIds of an audience that has a fixed list instead of a rule.");

const syncProgress = z
  .object({ done: z.int(), total: z.int().describe("Users to evaluate.") })
  .nullable()
  .describe("Null while no sync is in progress.");

const lastSync = z
  .object({ at: time, entered: z.int(), left: z.int() })
  .nullable()
  .meta({ id: "LastSync", description: "The most recent completed sync." });

const cancelledSync = z
  .object({ at: time, done: z.int(), total: z.int(), entered: z.int(), left: z.int() })
  .nullable()
  .meta({
    id: "CancelledSync",
    description:
      "The newest sync, when it was cancelled: `done` of `total` users were evaluated. What was sent stays; the next sync sends the rest.",
  });

const firstSyncs = z
  .array(
    z.object({
      destinationId: idOf(destinationIds),
      sent: z.int(),
      cancelled: z.literal(true).optional().describe("The next manual sync continues it."),
    }),
  )
  .describe(
    "Destinations that were connected later and are still being sent the users who are in; a disabled one waits.",
  );

const id = idOf(audienceIds);

const audienceAnswer = z
  .object({
    id,
    name: z.string(),
    key: z.string().describe("The name in snake case: the trait that receivers get."),
    rule: rule.nullable(),
    members: members.nullable(),
    membersLeftOut: z
      .int()
      .optional()
      .describe(
        "How many `members` there are, where `members` is null because the answer would be larger than 1 MB. `GET /api/configuration` has them.",
      ),
    sync,
    destinationIds: z.array(idOf(destinationIds)),
    sourceId: idOf(sourceIds).describe(
      "The source of the kind `audience` that its messages come from.",
    ),
    size: z.int().describe("How many users are in, by what was sent to receivers."),
    syncing: syncProgress,
    lastSync,
    cancelledSync,
    firstSyncs,
    nextSyncAt: time.nullable().describe("Of a periodic one."),
    createdAt: time,
  })
  .meta({ id: "Audience" });

const draft = {
  name: z.string().min(1).max(200),
  rule: rule.optional(),
  members: members.optional(),
  destinationIds: z
    .array(idOf(destinationIds))
    .optional()
    .describe("Every enabled destination when left out."),
  sync: sync.optional().describe("`manual` when left out."),
};
export const oneOfTwo = { message: "an audience has either a `rule` or `members`", path: ["rule"] };
const audienceDraft = z
  .strictObject(draft)
  .refine(({ rule, members }) => (rule === undefined) !== (members === undefined), oneOfTwo)
  .meta({ id: "AudienceDraft" });
const audienceChanges = z
  .strictObject(draft)
  .partial()
  .refine(({ rule, members }) => rule === undefined || members === undefined, oneOfTwo)
  .meta({ id: "AudienceChanges" });

const user = z.object({
  profileId: idOf(profileIds).nullable(),
  userId: z.string(),
  traits: anyMembers,
});

/** One condition of a rule, whether it holds for a user, and by which facts. */
const explained: z.ZodType<Explanation, Explanation> = z
  .lazy(() =>
    z.object({
      sentence: z.string(),
      holds: z.boolean(),
      fact: z.string(),
      parts: z.array(explained),
    }),
  )
  .meta({ id: "Explained" });

const ruleOrMembers = z
  .strictObject({
    rule: rule.optional(),
    members: members.optional(),
    sample: z.int().min(0).max(100).default(10),
  })
  .refine(({ rule, members }) => (rule === undefined) !== (members === undefined), oneOfTwo);

const syncAnswer = z.object({ entered: z.int(), left: z.int() });

export const audienceCalls = [
  defineCall({
    name: "audiences.list",
    summary: "All audiences.",
    answer: listOf(audienceAnswer),
  }),
  defineCall({
    name: "audiences.create",
    summary:
      "Creates an audience and runs its first sync: the calls of every member. Returns after the commit.",
    body: audienceDraft,
    answer: audienceAnswer,
    status: 201,
  }),
  defineCall({
    name: "audiences.get",
    summary: "One audience.",
    params: byId(id),
    answer: audienceAnswer,
  }),
  defineCall({
    name: "audiences.update",
    summary:
      "Changes the given members. Users who enter or leave as a result are sent at the next sync, or immediately when the audience syncs after each event.",
    params: byId(id),
    body: audienceChanges,
    answer: audienceAnswer,
  }),
  defineCall({
    name: "audiences.delete",
    summary: "Deletes an audience and its source. Nothing is sent; its messages stay.",
    params: byId(id),
    answer: deleted(id),
  }),
  defineCall({
    name: "audiences.sync",
    summary:
      "Sends the changes since the last sync: `true` for users who entered, `false` for users who left. Also continues first syncs that were cancelled.",
    params: byId(id),
    answer: syncAnswer,
  }),
  defineCall({
    name: "audiences.cancelSync",
    summary:
      "Ends the running sync and the running first syncs of destinations that were connected later. What was sent stays; the next sync sends the rest.",
    params: byId(id),
    answer: audienceAnswer,
  }),
  defineCall({
    name: "audiences.changes",
    summary: "What the next sync would send, with a sample of the payloads. Sends nothing.",
    params: byId(id),
    query: z.strictObject({ sample: z.int().min(0).max(100).default(10) }),
    answer: z.object({
      entering: z.int(),
      leaving: z.int(),
      sample: z.array(user.extend({ change: z.enum(["entering", "leaving"]), payload: bytes })),
    }),
  }),
  defineCall({
    name: "audiences.preview",
    summary: "Counts the users that match an unsaved rule, with a sample.",
    body: ruleOrMembers,
    answer: z.object({
      key: z.string().optional(),
      count: z.int(),
      profiles: z.int().describe("How many users were evaluated."),
      sample: z.array(user),
    }),
  }),
  defineCall({
    name: "audiences.explain",
    summary:
      "Explains why a rule does or does not match a user: each condition with the fact that decides it.",
    body: z.strictObject({ rule, userId: z.string() }),
    answer: z.object({
      userId: z.string(),
      matches: z.boolean(),
      until: time.nullable().describe("When the result may change with time alone."),
      explained,
    }),
  }),
] as const;

const traitId = idOf(computedTraitIds);

const computedTraitAnswer = z
  .object({
    id: traitId,
    name: z.string(),
    key: z.string().describe("The name in snake case: the trait that receivers get."),
    computation,
    sync,
    destinationIds: z.array(idOf(destinationIds)),
    sourceId: idOf(sourceIds).describe(
      "The source of the kind `audience` that its messages come from.",
    ),
    users: z.int().describe("How many users have a value."),
    syncing: syncProgress,
    lastSync: lastSync.describe(
      "`entered` counts the values that were sent, `left` those that were removed.",
    ),
    cancelledSync,
    firstSyncs,
    nextSyncAt: time.nullable(),
    createdAt: time,
  })
  .meta({ id: "ComputedTrait" });

const computedTraitDraft = z
  .strictObject({
    name: z.string().min(1).max(200),
    computation,
    destinationIds: z
      .array(idOf(destinationIds))
      .optional()
      .describe("Every enabled destination when left out."),
    sync: sync.optional().describe("`manual` when left out."),
  })
  .meta({ id: "ComputedTraitDraft" });

export const computedTraitCalls = [
  defineCall({
    name: "computedTraits.list",
    summary: "All computed traits.",
    answer: listOf(computedTraitAnswer),
  }),
  defineCall({
    name: "computedTraits.create",
    summary:
      "Creates a computed trait and sends its value for every user who has one. Returns after the commit.",
    body: computedTraitDraft,
    answer: computedTraitAnswer,
    status: 201,
  }),
  defineCall({
    name: "computedTraits.get",
    summary: "One computed trait.",
    params: byId(traitId),
    answer: computedTraitAnswer,
  }),
  defineCall({
    name: "computedTraits.update",
    summary:
      "Changes the given members. Values that change as a result are sent at the next sync, or immediately when it syncs after each event.",
    params: byId(traitId),
    body: computedTraitDraft.partial(),
    answer: computedTraitAnswer,
  }),
  defineCall({
    name: "computedTraits.delete",
    summary: "Deletes a computed trait and its source. Nothing is sent; its messages stay.",
    params: byId(traitId),
    answer: deleted(traitId),
  }),
  defineCall({
    name: "computedTraits.sync",
    summary:
      "Sends the values that changed since the last sync. Also continues first syncs that were cancelled.",
    params: byId(traitId),
    answer: z.object({
      entered: z.int().describe("Values sent."),
      left: z.int().describe("Removed values, sent as null."),
    }),
  }),
  defineCall({
    name: "computedTraits.cancelSync",
    summary:
      "Ends the running sync and the running first syncs of destinations that were connected later. What was sent stays; the next sync sends the rest.",
    params: byId(traitId),
    answer: computedTraitAnswer,
  }),
  defineCall({
    name: "computedTraits.preview",
    summary: "The values of an unsaved computation: how many users have one, and a sample.",
    body: z.strictObject({ computation, sample: z.int().min(0).max(100).default(10) }),
    answer: z.object({
      count: z.int(),
      profiles: z.int(),
      sample: z.array(
        z.object({ profileId: idOf(profileIds), userId: z.string(), value: z.unknown() }),
      ),
    }),
  }),
] as const;
