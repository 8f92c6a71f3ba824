import { deletionIds } from "../../domain/ids.ts";
import type { Pipeline } from "../../engine/pipeline.ts";
import type { HandlersOf } from "../handler.ts";
import { presentTime } from "../presenters.ts";

export function suppressionHandlers({ suppressions }: Pipeline): HandlersOf<"suppressions"> {
  return {
    "suppressions.list": ({ search = "", limit, cursor }) => {
      const { items, ...page } = suppressions.list(search, limit, cursor ?? null);
      return {
        ...page,
        items: items.map(({ userId, since, deletionId }) => ({
          userId,
          since: presentTime(since),
          deletionId: deletionId === null ? null : deletionIds.format(deletionId),
        })),
      };
    },
    "suppressions.lift": ({ userId }) => suppressions.lift(userId) ?? { userId },
  };
}
