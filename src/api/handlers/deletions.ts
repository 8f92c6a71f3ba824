import type { DeletionAnswer } from "../../contract/deletions.ts";
import { deletionIds, messageIds, sourceIds } from "../../domain/ids.ts";
import { isProblem, notFound } from "../../domain/problem.ts";
import type { Pipeline } from "../../engine/pipeline.ts";
import type { DeletionView } from "../../engine/profile-pipeline.ts";
import type { HandlersOf } from "../handler.ts";
import { cursorFrom, withId } from "../inputs.ts";
import { presentTime } from "../presenters.ts";

export function deletionHandlers({ deletions }: Pipeline): HandlersOf<"deletions"> {
  return {
    "deletions.list": ({ limit, cursor }) => {
      const before = cursorFrom(deletionIds, cursor);
      if (isProblem(before)) return before;
      const { items, nextCursor, ...page } = deletions.list(limit, before);
      return { ...page, items: items.map(presentDeletion), nextCursor: nextCursor === null ? null : deletionIds.format(nextCursor) };
    },
    "deletions.create": async ({ userIds, suppress }) => {
      const made = await deletions.create(userIds, suppress);
      return isProblem(made) ? made : presentDeletion(made);
    },
    "deletions.get": (input) => {
      const id = deletionIds.parse(input.id);
      const deletion = id === null ? undefined : deletions.get(id);
      return deletion === undefined ? notFound("deletion request", input.id) : presentDeletion(deletion);
    },
    "deletions.delete": (input) => withId(deletionIds, "deletion request", input.id, (id) => deletions.delete(id)) ?? { id: input.id },
  };
}

function presentDeletion({ id, state, suppress, requestedAt, users }: DeletionView): DeletionAnswer {
  return {
    id: deletionIds.format(id),
    state,
    suppress,
    requestedAt: presentTime(requestedAt),
    users: users.map(({ userId, deleted }) => ({
      userId,
      known: deleted?.known ?? false,
      detail: deleted?.detail ?? "Not deleted yet: the request is still being carried out.",
      sourceIds: (deleted?.sourceIds ?? []).map(sourceIds.format),
      messageIds: (deleted?.messageIds ?? []).map(messageIds.format),
    })),
  };
}
