import type { InputOf } from "../../contract/contract.ts";
import type { MessageRowId } from "../../domain/ids.ts";
import { messageIds, sourceIds } from "../../domain/ids.ts";
import type { Problem } from "../../domain/problem.ts";
import { isProblem, notFound } from "../../domain/problem.ts";
import type { Pipeline } from "../../engine/pipeline.ts";
import type { MessageFilter } from "../../engine/ports.ts";
import type { HandlersOf } from "../handler.ts";
import { cursorFrom, idsFrom, withId } from "../inputs.ts";
import { presentMessage, presentMessageDetails } from "../presenters.ts";
import { windowsOf } from "../window.ts";

type Filter = Omit<InputOf<"messages.list">, "limit" | "cursor">;

function filterFrom({ sourceId, ...rest }: Filter): MessageFilter | Problem {
  if (sourceId === undefined) return rest;
  const ids = idsFrom(sourceIds, [sourceId].flat(), (text) => `sourceId: ${text} is not the id of a source.`);
  return isProblem(ids) ? ids : { ...rest, sourceId: ids };
}

export function messageHandlers(pipeline: Pipeline): HandlersOf<"messages"> {
  const { messages, queries } = pipeline;
  const windowOf = windowsOf(pipeline);
  const summaryOf = (id: MessageRowId) => {
    const message = queries.message(id);
    return message === null ? notFound("message", messageIds.format(id)) : presentMessage(message);
  };
  return {
    "messages.list": async ({ limit, cursor, ...input }) => {
      const filter = filterFrom(input);
      if (isProblem(filter)) return filter;
      const before = cursorFrom(messageIds, cursor);
      if (isProblem(before)) return before;
      const { items, nextCursor, total, totalCapped } = await queries.messages(filter, limit, before);
      return {
        items: items.map(presentMessage),
        nextCursor: nextCursor === null ? null : messageIds.format(nextCursor),
        total,
        totalCapped,
      };
    },
    "messages.get": (input) => {
      const id = messageIds.parse(input.id);
      const message = id === null ? null : queries.message(id);
      return message === null ? notFound("message", input.id) : presentMessageDetails(message, windowOf);
    },
    "messages.replay": async (input) => {
      const replayed = await withId(messageIds, "message", input.id, (id) => messages.replay(id));
      return isProblem(replayed) ? replayed : summaryOf(replayed.id);
    },
    "messages.pin": (input) => withId(messageIds, "message", input.id, (id) => messages.pin(id, input.pinned) ?? summaryOf(id)),
  };
}
