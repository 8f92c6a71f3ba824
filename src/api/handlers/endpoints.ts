import type { EndpointAnswer, ReceivedRequestAnswer } from "../../contract/endpoints.ts";
import { destinationIds, endpointIds, receivedRequestIds } from "../../domain/ids.ts";
import type { Problem } from "../../domain/problem.ts";
import { invalid, isProblem, notFound } from "../../domain/problem.ts";
import type { EndpointView, Pipeline, ReceivedRequest } from "../../engine/pipeline.ts";
import type { HandlersOf } from "../handler.ts";
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
  const find = (text: string): EndpointView | Problem => {
    const id = endpointIds.parse(text);
    return (id === null ? undefined : endpoints.get(id)) ?? notFound("test endpoint", text);
  };
  const presented = (answer: EndpointView | Problem) => (isProblem(answer) ? answer : presentEndpoint(answer));
  return {
    "endpoints.list": () => ({ items: endpoints.list().map(presentEndpoint) }),
    "endpoints.create": (draft) => presented(endpoints.create(draft)),
    "endpoints.get": (input) => presented(find(input.id)),
    "endpoints.update": ({ id, ...changes }) => {
      const endpoint = find(id);
      return isProblem(endpoint) ? endpoint : presented(endpoints.update(endpoint.id, changes));
    },
    "endpoints.delete": (input) => {
      const endpoint = find(input.id);
      return isProblem(endpoint) ? endpoint : (endpoints.delete(endpoint.id) ?? { id: input.id });
    },
    "endpoints.rewind": (input) => {
      const endpoint = find(input.id);
      return isProblem(endpoint) ? endpoint : presented(endpoints.rewind(endpoint.id));
    },
    "endpoints.requests": ({ id, limit, cursor }) => {
      const endpoint = find(id);
      if (isProblem(endpoint)) return endpoint;
      const before = cursor === undefined ? null : receivedRequestIds.parse(cursor);
      if (cursor !== undefined && before === null) return invalid(`cursor: ${cursor} is not a cursor of this list.`);
      const received = endpoints.received(endpoint.id, limit, before);
      if (isProblem(received)) return received;
      const { items, nextCursor, total, dropped } = received;
      return {
        items: items.map(presentReceived),
        nextCursor: nextCursor === null ? null : receivedRequestIds.format(nextCursor),
        total,
        dropped,
      };
    },
    "endpoints.clearRequests": (input) => {
      const endpoint = find(input.id);
      return isProblem(endpoint) ? endpoint : (endpoints.clearReceived(endpoint.id) ?? { id: input.id });
    },
    "endpoints.presets": () => ({ items: endpoints.presets() }),
  };
}
