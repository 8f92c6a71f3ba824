import type { EndpointAnswer, ReceivedRequestAnswer } from "../../contract/endpoints.ts";
import { destinationIds, endpointIds, receivedRequestIds, type EndpointId } from "../../domain/ids.ts";
import type { Problem } from "../../domain/problem.ts";
import { isProblem, notFound } from "../../domain/problem.ts";
import type { EndpointView, Pipeline, ReceivedRequest } from "../../engine/pipeline.ts";
import type { HandlersOf } from "../handler.ts";
import { cursorFrom, withId } from "../inputs.ts";
import { presentBytes, presentTime } from "../presenters.ts";

function presentEndpoint(endpoint: EndpointView): EndpointAnswer {
  return { ...endpoint, id: endpointIds.format(endpoint.id), createdAt: presentTime(endpoint.createdAt) };
}

function presentReceived(request: ReceivedRequest): ReceivedRequestAnswer {
  const { signature } = request;
  return {
    ...request,
    id: receivedRequestIds.format(request.id),
    endpointId: endpointIds.format(request.endpointId),
    receivedAt: presentTime(request.receivedAt),
    body: presentBytes(request.body),
    signature: signature && {
      value: signature.value,
      verifies: signature.verifies.map((one) => ({ ...one, destinationId: destinationIds.format(one.destinationId) })),
    },
  };
}

export function endpointHandlers({ endpoints }: Pipeline): HandlersOf<"endpoints"> {
  const withEndpoint = <Answer>(text: string, act: (id: EndpointId) => Answer): Answer | Problem =>
    withId(endpointIds, "test endpoint", text, act);
  const presented = (answer: EndpointView | Problem) => (isProblem(answer) ? answer : presentEndpoint(answer));
  return {
    "endpoints.list": () => ({ items: endpoints.list().map(presentEndpoint) }),
    "endpoints.create": (draft) => presented(endpoints.create(draft)),
    "endpoints.get": ({ id: text }) => presented(withEndpoint(text, (id) => endpoints.get(id) ?? notFound("test endpoint", text))),
    "endpoints.update": ({ id: text, ...changes }) => presented(withEndpoint(text, (id) => endpoints.update(id, changes))),
    "endpoints.delete": ({ id: text }) => withEndpoint(text, (id) => endpoints.delete(id)) ?? { id: text },
    "endpoints.rewind": ({ id: text }) => presented(withEndpoint(text, (id) => endpoints.rewind(id))),
    "endpoints.requests": ({ id: text, limit, cursor }) => {
      const before = cursorFrom(receivedRequestIds, cursor);
      if (isProblem(before)) return before;
      const received = withEndpoint(text, (id) => endpoints.received(id, limit, before));
      if (isProblem(received)) return received;
      const { items, nextCursor, total, dropped } = received;
      return {
        items: items.map(presentReceived),
        nextCursor: nextCursor === null ? null : receivedRequestIds.format(nextCursor),
        total,
        dropped,
      };
    },
    "endpoints.clearRequests": ({ id: text }) => withEndpoint(text, (id) => endpoints.clearReceived(id)) ?? { id: text },
    "endpoints.presets": () => ({ items: endpoints.presets() }),
  };
}
