import type { SourceAnswer } from "../../contract/sources.ts";
import type { Source } from "../../domain/configuration.ts";
import type { SourceId } from "../../domain/ids.ts";
import { sourceIds } from "../../domain/ids.ts";
import { isProblem, notFound, type Problem } from "../../domain/problem.ts";
import type { Pipeline } from "../../engine/pipeline.ts";
import type { HandlersOf } from "../handler.ts";
import { withId } from "../inputs.ts";
import { presentTime } from "../presenters.ts";

export function presentSource(source: Source): SourceAnswer {
  return { ...source, id: sourceIds.format(source.id), createdAt: presentTime(source.createdAt) };
}

export function sourceHandlers({ configuration, messages }: Pipeline): HandlersOf<"sources"> {
  const withSource = <Answer>(text: string, act: (id: SourceId) => Answer): Answer | Problem => withId(sourceIds, "source", text, act);
  const presented = (answer: Source | Problem): SourceAnswer | Problem => (isProblem(answer) ? answer : presentSource(answer));
  return {
    "sources.list": () => ({ items: configuration.sources().map(presentSource) }),
    "sources.create": (draft) => presented(configuration.createSource(draft)),
    "sources.get": ({ id: text }) => presented(withSource(text, (id) => configuration.source(id) ?? notFound("source", text))),
    "sources.update": ({ id: text, ...changes }) => presented(withSource(text, (id) => configuration.updateSource(id, changes))),
    "sources.send": ({ id: text, type, body }) => withSource(text, (id) => messages.send(id, type, body)),
    "sources.delete": ({ id: text }) => withSource(text, (id) => configuration.deleteSource(id)) ?? { id: text },
  };
}
