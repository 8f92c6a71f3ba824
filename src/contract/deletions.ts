import { z } from "zod";
import { maxMessageBytes } from "../domain/check.ts";
import { deletionIds, messageIds, sourceIds } from "../domain/ids.ts";
import { deletionStates } from "../domain/states.ts";
import { defineCall } from "./call.ts";
import { byId, cursorOf, deleted, idOf, page, pageOf, textInPath, time } from "./shapes.ts";

/** A message has no room for a longer one. */
const userId = z.string().min(1).max(maxMessageBytes);

const id = idOf(deletionIds);
const cursor = cursorOf(deletionIds);

const deletionAnswer = z
  .object({
    id,
    state: z
      .enum(deletionStates)
      .describe(
        "The first of these that any of its deliveries is in; `nothing_to_send` when it led to no delivery.",
      ),
    suppress: z.boolean(),
    send: z.boolean(),
    requestedAt: time,
    users: z
      .array(
        z.object({
          userId: z.string(),
          known: z.boolean().describe("Whether a profile with this userId existed."),
          detail: z.string().describe("The result, in a sentence."),
          sourceIds: z
            .array(idOf(sourceIds))
            .describe(
              "The sources that know the user and have an enabled destination: one delete message each.",
            ),
          messageIds: z
            .array(idOf(messageIds))
            .describe("Of those delete messages, for `GET /api/messages/{id}`."),
        }),
      )
      .describe("As many of the first ones as an answer of 1 MB has room for."),
    userCount: z.int().describe("All users of the request."),
  })
  .meta({ id: "Deletion" });

const suppression = z
  .object({ userId: z.string(), since: time, deletionId: id.nullable() })
  .meta({ id: "Suppression" });

export const deletionCalls = [
  defineCall({
    name: "deletions.list",
    summary: "Deletion requests, newest first.",
    query: z.strictObject(page(cursor)),
    answer: pageOf(deletionAnswer, cursor),
  }),
  defineCall({
    name: "deletions.create",
    summary:
      "Deletes users: creates a delete message for each source that knows them, deletes their profiles, and suppresses them.",
    body: z.strictObject({
      userIds: z.array(userId).min(1).max(5000),
      suppress: z
        .boolean()
        .default(true)
        .describe("Later messages of these users are rejected with the reason `suppressed`."),
      send: z
        .boolean()
        .default(true)
        .describe("False: their profiles are deleted, and no destination gets a delete message."),
    }),
    answer: deletionAnswer,
    status: 201,
  }),
  defineCall({
    name: "deletions.get",
    summary: "One deletion request.",
    params: byId(id),
    answer: deletionAnswer,
  }),
  defineCall({
    name: "deletions.delete",
    summary: "Removes a deletion request from the list. Its messages and suppressions stay.",
    params: byId(id),
    answer: deleted(id),
  }),
  defineCall({
    name: "suppressions.list",
    summary: "Suppressed users, by userId.",
    query: z.strictObject({
      ...page(z.string()),
      search: z.string().optional().describe("The start of the userId."),
    }),
    answer: pageOf(suppression, z.string()),
  }),
  defineCall({
    name: "suppressions.create",
    summary:
      "Suppresses users without deleting them: later messages of theirs are rejected, and their profiles stay.",
    body: z.strictObject({ userIds: z.array(userId).min(1).max(5000) }),
    answer: z.object({
      items: z
        .array(suppression)
        .describe("As many of the first ones as an answer of 1 MB has room for."),
    }),
    status: 201,
  }),
  defineCall({
    name: "suppressions.lift",
    summary: "Lifts a suppression: messages of the user are accepted again.",
    params: z.strictObject({ userId: textInPath }),
    answer: z.object({ userId: z.string() }),
  }),
] as const;
