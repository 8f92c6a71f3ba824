/** What a user can do with deliveries: retry one or many, cancel. */

import {
  deliveryIds,
  jobIds,
  messageIds,
  type DeliveryId,
  type DestinationId,
  type JobId,
} from "../../domain/ids.ts";
import { conflict, notFound, type Problem } from "../../domain/problem.ts";
import type { DeliveryState } from "../../domain/states.ts";
import type { Activity } from "../clock/activity.ts";
import type { Clock } from "../clock/clock.ts";
import type { Changes, Configuration, Deliveries, JobSlice, RetryJob } from "../pipeline.ts";
import type {
  DeliveryFilter,
  DeliveryStore,
  DeliverySummary,
  QueryStore,
  Transition,
} from "../ports.ts";
import { nextTurn } from "../real-time.ts";

const retryableStates: readonly DeliveryState[] = ["waiting", "failed", "expired", "cancelled"];

/**
 * Deliveries that a job requeues, or that are cancelled with their destination, between two turns
 * of the event loop; fewer when they are batches with more messages than this.
 */
const jobSlice = 200;
const maxSliceMessages = 2000;

/** Ended jobs that are kept: more than anybody looks at. */
const maxEndedJobs = 100;

type DeliveriesOptions = {
  store: DeliveryStore & Pick<QueryStore, "deliveries" | "deliveriesOf">;
  configuration: Pick<Configuration, "destinations" | "destination">;
  clock: Clock;
  activity: Activity;
  changes: Changes;
  scheduler: { kick(): void };
  report: (error: unknown) => void;
};

type RetryJobs = Pick<
  Deliveries,
  | "countRetryable"
  | "retryAll"
  | "retryableOf"
  | "retryThese"
  | "startJob"
  | "retryJobs"
  | "retryJob"
  | "cancelRetryJob"
> & { stop(): void };

export function createDeliveries(options: DeliveriesOptions): Deliveries & {
  /**
   * Cancels a slice of the deliveries of a deleted destination; the delivery scheduler asks for the
   * next. False when there is none.
   */
  cancelOf(destination: DestinationId): boolean;
  /** Ends the running retry jobs before the store closes. */
  stop(): void;
} {
  const { store, configuration } = options;
  return {
    ...createRetryJobs(options),
    retry(id) {
      const delivery = store.delivery(id);
      if (delivery === null) return notFound("delivery", deliveryIds.format(id));
      if (delivery.state === "sending")
        return conflict(
          "being_sent",
          "The delivery is being sent. Hookyard never sends it twice at the same time.",
        );
      if (delivery.state === "delivered")
        return conflict(
          "already_delivered",
          "The delivery has been delivered. Replay its message to send it again.",
        );
      if (configuration.destination(delivery.destinationId) === undefined)
        return conflict(
          "destination_deleted",
          "The destination has been deleted, so this delivery cannot be sent.",
        );
      if (delivery.state !== "queued") record([delivery], "queued", "retry_now", options);
      return store.delivery(id) ?? notFound("delivery", deliveryIds.format(id));
    },
    cancel(id): DeliverySummary | Problem {
      const delivery = store.delivery(id);
      if (delivery === null) return notFound("delivery", deliveryIds.format(id));
      if (delivery.state === "cancelled") return delivery;
      if (delivery.state === "sending")
        return conflict(
          "being_sent",
          "The delivery is being sent. Cancel it when the round has ended.",
        );
      if (delivery.state !== "queued" && delivery.state !== "waiting") {
        return conflict(
          "already_over",
          `The delivery is ${delivery.state}, so it cannot be cancelled.`,
        );
      }
      record([delivery], "cancelled", "cancelled", options);
      return store.delivery(id) ?? notFound("delivery", deliveryIds.format(id));
    },
    cancelOf(destination) {
      for (const state of ["queued", "waiting"] as const) {
        const [slice] = pages(store, { destinationId: destination }, state);
        if (slice === undefined) continue;
        record(slice, "cancelled", "destination_deleted", options);
        return true;
      }
      return false;
    },
  };
}

/** Jobs that requeue many deliveries, in slices. They are kept in memory. */
function createRetryJobs(options: DeliveriesOptions): RetryJobs {
  const { store, configuration, changes } = options;
  const jobs = new Map<JobId, RetryJob>();
  let nextJob = 1;

  function forgetOldJobs(): void {
    const ended = [...jobs.values()].filter(({ state }) => state !== "running");
    for (const { id } of ended.slice(0, -maxEndedJobs)) jobs.delete(id);
  }

  function* matching(filter: DeliveryFilter): Generator<DeliverySummary[]> {
    for (const state of statesOf(filter))
      for (const destinationId of destinationsOf(configuration, filter))
        yield* pages(store, { destinationId }, state);
  }

  function* inSlices(ids: readonly DeliveryId[]): Generator<DeliverySummary[]> {
    const known = function* (): Generator<DeliverySummary> {
      for (const id of ids) {
        const delivery = store.delivery(id);
        if (delivery !== null) yield delivery;
      }
    };
    yield* slicesOf(known());
  }

  function* retrying(slices: Iterable<DeliverySummary[]>): Generator<JobSlice> {
    for (const slice of slices) {
      const run = (): number => {
        const still = slice.filter(({ id, state }) => {
          const now = store.delivery(id)?.state;
          return now === state && retryableStates.includes(now);
        });
        record(still, "queued", "retry_now", options);
        return still.length;
      };
      yield { size: slice.length, run };
    }
  }

  async function run(job: RetryJob, slices: Iterable<JobSlice>): Promise<void> {
    for (const slice of slices) {
      const work = options.activity.begin();
      try {
        const queued = slice.run();
        job.retried += typeof queued === "number" ? queued : await queued;
        job.done += slice.size;
        changes.note("jobs", jobIds.format(job.id));
      } finally {
        work.end();
      }
      await nextTurn();
      if (job.state !== "running") return;
    }
    job.state = "done";
    changes.note("jobs", jobIds.format(job.id));
  }

  function start(total: number, slices: Iterable<JobSlice>): RetryJob {
    const id = nextJob++ as JobId;
    const job: RetryJob = { id, state: "running", total, done: 0, retried: 0 };
    forgetOldJobs();
    jobs.set(id, job);
    changes.note("jobs", jobIds.format(id), true);
    run(job, slices).catch((error: unknown) => {
      job.state = "cancelled";
      options.report(error);
    });
    return job;
  }

  return {
    countRetryable: (filter) =>
      statesOf(filter)
        .flatMap((state) =>
          destinationsOf(configuration, filter).map(
            (destinationId) => store.deliveries({ destinationId, state }, 1, null).total,
          ),
        )
        .reduce((sum, total) => sum + total, 0),
    retryAll(filter) {
      return start(this.countRetryable(filter), retrying(matching(filter)));
    },
    retryableOf: (message) =>
      store
        .deliveriesOf(message)
        .filter(
          ({ state, destinationId }) =>
            retryableStates.includes(state) &&
            configuration.destination(destinationId) !== undefined,
        )
        .map(({ id }) => id),
    retryThese: (ids) => start(ids.length, retrying(inSlices(ids))),
    startJob: start,
    retryJobs: () => [...jobs.values()].reverse(),
    retryJob: (id) => jobs.get(id),
    cancelRetryJob(id) {
      const job = jobs.get(id);
      if (job === undefined) return notFound("job", jobIds.format(id));
      if (job.state === "running" && job.done < job.total) job.state = "cancelled";
      changes.note("jobs", jobIds.format(id));
      return job;
    },
    stop() {
      for (const job of jobs.values()) if (job.state === "running") job.state = "cancelled";
    },
  };
}

function record(
  moved: DeliverySummary[],
  state: DeliveryState,
  reason: string,
  { store, clock, changes, scheduler }: DeliveriesOptions,
): void {
  const at = clock.now();
  const transitions = moved.map(({ id }): Transition => ({
    deliveryId: id,
    at,
    state,
    reason,
    nextAttemptAt: null,
  }));
  store.record([], transitions);
  const ids = moved.map(({ id }) => id);
  changes.noteMany("deliveries", ids, deliveryIds.format, false);
  const rows = moved.flatMap(({ messageRow, messages = [messageRow] }) => messages);
  changes.noteMany("messages", rows, messageIds.format, false);
  scheduler.kick();
}

function statesOf({ state }: DeliveryFilter): readonly DeliveryState[] {
  return state === undefined ? retryableStates : retryableStates.filter((each) => each === state);
}

/** Deliveries of a deleted destination cannot be retried. */
function destinationsOf(
  configuration: DeliveriesOptions["configuration"],
  { destinationId }: DeliveryFilter,
): DestinationId[] {
  const ids = configuration.destinations().map(({ id }) => id);
  return destinationId === undefined ? ids : ids.filter((id) => id === destinationId);
}

/**
 * Slices of the deliveries in one state, newest first, whatever happens to those of earlier slices
 * meanwhile.
 */
function* pages(
  store: DeliveriesOptions["store"],
  filter: DeliveryFilter,
  state: DeliveryState,
): Generator<DeliverySummary[]> {
  for (let before: DeliveryId | null = null; ;) {
    const { items, nextCursor } = store.deliveries({ ...filter, state }, jobSlice, before);
    yield* slicesOf(items);
    if (nextCursor === null) return;
    before = nextCursor;
  }
}

function* slicesOf(deliveries: Iterable<DeliverySummary>): Generator<DeliverySummary[]> {
  let slice: DeliverySummary[] = [];
  let messages = 0;
  for (const delivery of deliveries) {
    const count = delivery.messages?.length ?? 1;
    if (slice.length > 0 && (slice.length === jobSlice || messages + count > maxSliceMessages)) {
      yield slice;
      slice = [];
      messages = 0;
    }
    slice.push(delivery);
    messages += count;
  }
  if (slice.length > 0) yield slice;
}
