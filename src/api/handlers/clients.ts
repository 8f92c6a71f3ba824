import type { ClientAnswer, ClientBatchAnswer, ClientDetailsAnswer } from "../../contract/clients.ts";
import { clientIds, sourceIds, type ClientId } from "../../domain/ids.ts";
import { isProblem, notFound, type Problem } from "../../domain/problem.ts";
import type { ClientBatch, ClientDetails, ClientDraft, ClientPage, ClientView, Pipeline } from "../../engine/pipeline.ts";
import type { HandlersOf } from "../handler.ts";
import { cursorFrom, withId } from "../inputs.ts";
import { presentTime, presentTimeOrNull } from "../presenters.ts";

function presentClient(client: ClientView): ClientAnswer {
  return {
    ...client,
    id: clientIds.format(client.id),
    sourceId: client.sourceId === null ? null : sourceIds.format(client.sourceId),
    createdAt: presentTime(client.createdAt),
    nextFlushAt: presentTimeOrNull(client.nextFlushAt),
    nextTryAt: presentTimeOrNull(client.nextTryAt),
  };
}

function presentBatch(batch: ClientBatch): ClientBatchAnswer {
  return {
    ...batch,
    flushedAt: presentTime(batch.flushedAt),
    tries: batch.tries.map((each) => ({ ...each, startedAt: presentTime(each.startedAt) })),
    nextTryAt: presentTimeOrNull(batch.nextTryAt),
  };
}

function presentDetails({ queue, current, ...client }: ClientDetails): ClientDetailsAnswer {
  return { ...presentClient(client), queue, current: current === null ? null : presentBatch(current) };
}

function presentPage<Item, Presented>(
  { items, nextCursor, total, dropped }: ClientPage<Item>,
  present: (item: Item) => Presented,
): { items: Presented[]; nextCursor: string | null; total: number; dropped: number } {
  return { items: items.map(present), nextCursor: nextCursor === null ? null : String(nextCursor), total, dropped };
}

/** The cursor of a page is the number of its last item. */
const numbers = { parse: (text: string): number | null => (/^\d{1,15}$/.test(text) ? Number(text) : null) };

export function clientHandlers({ clients }: Pipeline): HandlersOf<"clients"> {
  const withClient = <Answer>(text: string, act: (id: ClientId) => Answer): Answer | Problem => withId(clientIds, "client", text, act);
  const presented = (answer: ClientDetails | Problem): ClientDetailsAnswer | Problem =>
    isProblem(answer) ? answer : presentDetails(answer);

  return {
    "clients.list": () => ({ items: clients.list().map(presentClient) }),
    "clients.create": (draft) => {
      const checked = draftOf(draft);
      return isProblem(checked) ? checked : presented(clients.create({ ...checked, name: draft.name }));
    },
    "clients.get": ({ id: text }) => presented(withClient(text, (id) => clients.get(id) ?? notFound("client", text))),
    "clients.update": ({ id: text, ...changes }) => {
      const checked = draftOf(changes);
      return isProblem(checked) ? checked : presented(withClient(text, (id) => clients.update(id, checked)));
    },
    "clients.delete": ({ id: text }) => withClient(text, (id) => clients.delete(id)) ?? { id: text },
    "clients.call": ({ id: text, type, call }) => {
      const made = withClient(text, (id) => clients.call(id, type, call));
      return isProblem(made) ? made : { ...made, client: presentDetails(made.client) };
    },
    "clients.flush": ({ id: text }) => presented(withClient(text, (id) => clients.flush(id))),
    "clients.close": ({ id: text, timeoutMs }) => presented(withClient(text, (id) => clients.close(id, timeoutMs))),
    "clients.reopen": ({ id: text }) => presented(withClient(text, (id) => clients.reopen(id))),
    "clients.generate": ({ id: text, count, perSecond }) => presented(withClient(text, (id) => clients.generate(id, count, perSecond))),
    "clients.stopGenerating": ({ id: text }) => presented(withClient(text, (id) => clients.stopGenerating(id))),
    "clients.batches": ({ id: text, limit, cursor }) => {
      const before = cursorFrom(numbers, cursor);
      if (isProblem(before)) return before;
      const found = withClient(text, (id) => clients.batches(id, limit, before));
      return isProblem(found) ? found : presentPage(found, presentBatch);
    },
    "clients.log": ({ id: text, limit, cursor }) => {
      const before = cursorFrom(numbers, cursor);
      if (isProblem(before)) return before;
      const found = withClient(text, (id) => clients.log(id, limit, before));
      return isProblem(found) ? found : presentPage(found, (line) => ({ ...line, at: presentTime(line.at) }));
    },
  };
}

function draftOf({
  sourceId,
  ...draft
}: Partial<Omit<ClientDraft, "sourceId">> & { sourceId?: string | undefined }): Partial<ClientDraft> | Problem {
  if (sourceId === undefined) return draft;
  const id = sourceIds.parse(sourceId);
  return id === null ? notFound("source", sourceId) : { ...draft, sourceId: id };
}
