import type { DeliveryFilter, DeliverySummary, DuePlace, Page } from "../../engine/ports.ts";
import type { DeliveryId } from "../../domain/ids.ts";
import { deliveryIds, destinationIds, jobIds } from "../../domain/ids.ts";
import type { Problem } from "../../domain/problem.ts";
import { invalid, isProblem, notFound } from "../../domain/problem.ts";
import type { DeliveryState } from "../../domain/states.ts";
import type { Pipeline, RetryJob } from "../../engine/pipeline.ts";
import type { HandlersOf } from "../handler.ts";
import { cursorFrom, withId } from "../inputs.ts";
import { presentDelivery, presentDeliveryDetails, presentListedDelivery, presentTime } from "../presenters.ts";
import { windowsOf } from "../window.ts";

function filterFrom(
  input: { state?: DeliveryState | undefined; destinationId?: string | undefined },
  name: string,
): DeliveryFilter | Problem {
  const filter: DeliveryFilter = input.state === undefined ? {} : { state: input.state };
  if (input.destinationId === undefined) return filter;
  const destinationId = destinationIds.parse(input.destinationId);
  return destinationId === null ? invalid(`${name}: ${input.destinationId} is not the id of a destination.`) : { ...filter, destinationId };
}

function presentJob({ id, state, total, done, retried }: RetryJob) {
  return { id: jobIds.format(id), state, count: total, total, done, retried };
}

type Places<Place> = { parse(cursor: string): Place | null; format(place: Place): string };

/** In the order of due times: a due time, a slash, the id that tells apart those with the same one. */
const duePlaces: Places<DuePlace> = {
  parse(cursor) {
    const slash = cursor.indexOf("/");
    const time = cursor.slice(0, slash);
    const id = deliveryIds.parse(cursor.slice(slash + 1));
    const at = Date.parse(time);
    return id === null || Number.isNaN(at) ? null : { at, id };
  },
  format: ({ at, id }) => `${presentTime(at)}/${deliveryIds.format(id)}`,
};

export function deliveryHandlers(pipeline: Pipeline): HandlersOf<"deliveries" | "jobs"> {
  const { deliveries, queries } = pipeline;
  const windowOf = windowsOf(pipeline);
  const move = (text: string, action: (id: DeliveryId) => DeliverySummary | Problem) => {
    const moved = withId(deliveryIds, "delivery", text, action);
    return isProblem(moved) ? moved : presentDelivery(moved, windowOf);
  };
  const listFrom = <Place>(
    places: Places<Place>,
    cursor: string | undefined,
    read: (from: Place | null) => Page<DeliverySummary, Place>,
  ) => {
    const from = cursorFrom(places, cursor);
    if (isProblem(from)) return from;
    const { items, nextCursor, total, totalCapped } = read(from);
    return {
      items: items.map((delivery) => presentListedDelivery(queries.listed(delivery), windowOf)),
      nextCursor: nextCursor === null ? null : places.format(nextCursor),
      total,
      totalCapped,
    };
  };
  const findJob = (text: string): RetryJob | Problem => {
    const id = jobIds.parse(text);
    return (id === null ? undefined : deliveries.retryJob(id)) ?? notFound("job", text);
  };
  return {
    "deliveries.list": ({ order, limit, cursor, ...input }) => {
      const filter = filterFrom(input, "destinationId");
      if (isProblem(filter)) return filter;
      if (order === "due") {
        if (filter.state !== "waiting")
          return invalid("order: Only deliveries that are waiting have a due time. Ask for them with `state: waiting`.");
        return listFrom(duePlaces, cursor, (after) => queries.deliveriesByDue(filter, limit, after));
      }
      return listFrom(deliveryIds, cursor, (before) => queries.deliveries(filter, limit, before));
    },
    "deliveries.get": (input) => {
      const id = deliveryIds.parse(input.id);
      const delivery = id === null ? null : queries.deliveryDetails(id);
      return delivery === null ? notFound("delivery", input.id) : presentDeliveryDetails(delivery, windowOf);
    },
    "deliveries.retry": (input) => move(input.id, (id) => deliveries.retry(id)),
    "deliveries.cancel": (input) => move(input.id, (id) => deliveries.cancel(id)),
    "deliveries.retryAll": ({ filter: input, dryRun }) => {
      const filter = filterFrom(input, "filter.destinationId");
      if (isProblem(filter)) return filter;
      return dryRun === true ? { count: deliveries.countRetryable(filter) } : presentJob(deliveries.retryAll(filter));
    },
    "jobs.list": () => ({ items: deliveries.retryJobs().map(presentJob) }),
    "jobs.get": (input) => {
      const job = findJob(input.id);
      return isProblem(job) ? job : presentJob(job);
    },
    "jobs.cancel": (input) => {
      const job = findJob(input.id);
      if (isProblem(job)) return job;
      const cancelled = deliveries.cancelRetryJob(job.id);
      return isProblem(cancelled) ? cancelled : presentJob(cancelled);
    },
  };
}
