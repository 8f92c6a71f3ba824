import type { InputOf } from "../../contract/contract.ts";
import type { MessageRowId, SourceId } from "../../domain/ids.ts";
import { messageIds, sourceIds } from "../../domain/ids.ts";
import type { Problem } from "../../domain/problem.ts";
import { invalid, isProblem, notFound } from "../../domain/problem.ts";
import type { Pipeline } from "../../engine/pipeline.ts";
import type { MessageFilter } from "../../engine/ports.ts";
import type { HandlersOf } from "../handler.ts";
import { presentMessage, presentMessageDetails } from "../presenters.ts";
import { windowsOf } from "../window.ts";

type Filter = Omit<InputOf<"messages.list">, "limit" | "cursor">;

function filterFrom({ sourceId, ...rest }: Filter): MessageFilter | Problem {
  if (sourceId === undefined) return rest;
  const ids: SourceId[] = [];
  for (const text of typeof sourceId === "string" ? [sourceId] : sourceId) {
    const id = sourceIds.parse(text);
    if (id === null) return invalid(`sourceId: ${text} is not the id of a source.`);
    ids.push(id);
  }
  return { ...rest, sourceId: ids };
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
      const before = cursor === undefined ? null : messageIds.parse(cursor);
      if (cursor !== undefined && before === null) return invalid(`cursor: ${cursor} is not a cursor of this list.`);
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
      const id = messageIds.parse(input.id);
      if (id === null) return notFound("message", input.id);
      const replayed = await messages.replay(id);
      return isProblem(replayed) ? replayed : summaryOf(replayed.id);
    },
    "messages.pin": (input) => {
      const id = messageIds.parse(input.id);
      if (id === null) return notFound("message", input.id);
      return messages.pin(id, input.pinned) ?? summaryOf(id);
    },
  };
}
