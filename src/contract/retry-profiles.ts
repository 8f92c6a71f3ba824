import { z } from "zod";
import { retryProfileIds } from "../domain/ids.ts";
import { defineCall } from "./call.ts";
import { byId, deleted, idOf, listOf } from "./shapes.ts";

const schedule = z
  .discriminatedUnion("kind", [
    z.strictObject({
      kind: z.literal("exponential"),
      firstMs: z.int(),
      factor: z.number(),
      capMs: z.int(),
    }),
    z.strictObject({ kind: z.literal("list"), delaysMs: z.array(z.int()) }),
  ])
  .meta({
    id: "RetrySchedule",
    description: "Delays between the starts of rounds, of at most 3,650 days.",
  });

const members = {
  name: z.string(),
  schedule,
  jitter: z.number().describe("0.1 shifts each delay by up to ten per cent in either direction."),
  windowMs: z
    .int()
    .describe("No attempt starts later than this after the first: at most 3,650 days."),
  timeoutMs: z.int().describe("The complete response must be received within this time."),
  retriedStatuses: z.array(z.strictObject({ from: z.int(), to: z.int() })),
  retryTimeouts: z.boolean(),
  retryConnectionErrors: z.boolean(),
  honourRetryAfter: z
    .boolean()
    .describe("`Retry-After` of a retried answer delays the next round, if it asks for more time."),
};

const retryProfileAnswer = z
  .object({
    id: idOf(retryProfileIds).nullable().describe("Null for a built-in one."),
    builtIn: z.boolean(),
    ...members,
  })
  .meta({ id: "RetryProfile" });

const retryProfileChanges = z.strictObject(members).partial();
/** Members that are left out have the values of `documented`. */
export const retryProfileDraft = retryProfileChanges
  .required({ name: true })
  .meta({ id: "RetryProfileDraft" });

export const retryProfileCalls = [
  defineCall({
    name: "retryProfiles.list",
    summary: "The built-in retry profiles, then the custom ones.",
    answer: listOf(retryProfileAnswer),
  }),
  defineCall({
    name: "retryProfiles.create",
    summary: "Creates a retry profile. Members that are left out have the values of `documented`.",
    body: retryProfileDraft,
    answer: retryProfileAnswer,
    status: 201,
  }),
  defineCall({
    name: "retryProfiles.get",
    summary: "One retry profile, by its id or its name.",
    params: byId(z.string()),
    answer: retryProfileAnswer,
  }),
  defineCall({
    name: "retryProfiles.update",
    summary: "Changes the given members.",
    params: byId(z.string()),
    body: retryProfileChanges,
    answer: retryProfileAnswer,
  }),
  defineCall({
    name: "retryProfiles.delete",
    summary: "Deletes a custom retry profile.",
    params: byId(z.string()),
    answer: deleted(z.string()),
  }),
] as const;
