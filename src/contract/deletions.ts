import { z } from "zod";
import { deletionStates } from "../domain/deletion.ts";
import { defineCall } from "./call.ts";
import { byId, deleted, page, pageOf, time } from "./shapes.ts";

const userId = z.string().min(1).max(1000);

const deletionAnswer = z
  .object({
    id: z.string(),
    state: z
      .enum(deletionStates)
      .describe("The first of these that any of its deliveries is in; `nothing_to_send` when no delivery came of it."),
    suppress: z.boolean(),
    requestedAt: time,
    users: z.array(
      z.object({
        userId: z.string(),
        known: z.boolean().describe("Whether a profile with this userId was there."),
        detail: z.string().describe("What was done, in a sentence."),
        sourceIds: z.array(z.string()).describe("The sources that know the user and have a destination enabled: one delete message each."),
        messageIds: z.array(z.string()).describe("Of those delete messages, for `GET /api/messages/{id}`."),
      }),
    ),
  })
  .meta({ id: "Deletion" });
export type DeletionAnswer = z.output<typeof deletionAnswer>;

const suppression = z.object({ userId: z.string(), since: time, deletionId: z.string().nullable() }).meta({ id: "Suppression" });

export const deletionCalls = [
  defineCall({
    name: "deletions.list",
    method: "GET",
    path: "/api/deletions",
    summary: "Deletion requests, newest first.",
    query: z.strictObject(page),
    answer: pageOf(deletionAnswer),
  }),
  defineCall({
    name: "deletions.create",
    method: "POST",
    path: "/api/deletions",
    summary: "Deletes users: a delete message for each source that knows them, their profiles go, and they are suppressed.",
    body: z.strictObject({
      userIds: z.array(userId).min(1).max(5000),
      suppress: z.boolean().default(true).describe("Later messages of these users are rejected with the reason `suppressed`."),
    }),
    answer: deletionAnswer,
    status: 201,
  }),
  defineCall({
    name: "deletions.get",
    method: "GET",
    path: "/api/deletions/{id}",
    summary: "One deletion request.",
    params: byId,
    answer: deletionAnswer,
  }),
  defineCall({
    name: "deletions.delete",
    method: "DELETE",
    path: "/api/deletions/{id}",
    summary: "Forgets a deletion request. Its messages and suppressions stay.",
    params: byId,
    answer: deleted,
  }),
  defineCall({
    name: "suppressions.list",
    method: "GET",
    path: "/api/suppressions",
    summary: "Suppressed users, by userId.",
    query: z.strictObject({ ...page, search: z.string().optional().describe("From the beginning of the userId.") }),
    answer: pageOf(suppression),
  }),
  defineCall({
    name: "suppressions.lift",
    method: "DELETE",
    path: "/api/suppressions/{userId}",
    summary: "Messages of the user are taken in again.",
    params: z.strictObject({ userId: z.string() }),
    answer: z.object({ userId: z.string() }),
  }),
] as const;
