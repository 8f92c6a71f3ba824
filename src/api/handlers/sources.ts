import type { SourceAnswer } from "../../contract/sources.ts";
import type { Source } from "../../domain/configuration.ts";
import type { SourceId } from "../../domain/ids.ts";
import { sourceIds } from "../../domain/ids.ts";
import { isProblem, notFound } from "../../domain/problem.ts";
import type { Pipeline } from "../../engine/pipeline.ts";
import type { HandlersOf } from "../handler.ts";
import { presentTime } from "../presenters.ts";

export function presentSource(source: Source): SourceAnswer {
  return { ...source, id: sourceIds.format(source.id), createdAt: presentTime(source.createdAt) };
}

export function sourceHandlers({ configuration, messages }: Pipeline): HandlersOf<"sources"> {
  const find = (text: string): SourceId | null => {
    const id = sourceIds.parse(text);
    return id !== null && configuration.source(id) !== undefined ? id : null;
  };
  return {
    "sources.list": () => ({ items: configuration.sources().map(presentSource) }),
    "sources.create": (draft) => {
      const made = configuration.createSource(draft);
      return isProblem(made) ? made : presentSource(made);
    },
    "sources.get": (input) => {
      const id = sourceIds.parse(input.id);
      const source = id === null ? undefined : configuration.source(id);
      return source === undefined ? notFound("source", input.id) : presentSource(source);
    },
    "sources.update": ({ id: text, ...changes }) => {
      const id = find(text);
      if (id === null) return notFound("source", text);
      const changed = configuration.updateSource(id, changes);
      return isProblem(changed) ? changed : presentSource(changed);
    },
    "sources.send": ({ id: text, type, body }) => {
      const id = find(text);
      return id === null ? notFound("source", text) : messages.send(id, type, body);
    },
    "sources.delete": (input) => {
      const id = find(input.id);
      if (id === null) return notFound("source", input.id);
      return configuration.deleteSource(id) ?? { id: input.id };
    },
  };
}
