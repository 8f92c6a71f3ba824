import { z } from "zod";
import { destinationIds, messageIds, sourceIds, webhookIds } from "../domain/ids.ts";
import { outcomes } from "../domain/states.ts";
import { defineCall } from "./call.ts";
import { idOf, time } from "./shapes.ts";

const count = z.int();
const perSecond = z.number().describe("Of real time, averaged over the last five seconds.");
const sourceId = idOf(sourceIds);
const destinationId = idOf(destinationIds);
const webhookId = idOf(webhookIds);
const messageId = idOf(messageIds);

const rate = {
  count: count.describe("Since `since`."),
  perSecond,
  shares: z
    .boolean()
    .describe("There are too many to follow one by one, so that `moving` has none of them."),
};

const attempt = z.object({
  outcome: z.enum(outcomes),
  status: z.int().nullable(),
  durationMs: z.number(),
});

const agoMs = z.int().describe("Milliseconds of real time before this answer.");

const flow = z
  .object({
    since: time.describe("The time of the clock when Hookyard started or was reset."),
    sources: z.array(z.object({ id: sourceId, ...rate })),
    lines: z
      .array(
        z.object({
          sourceId,
          destinationId,
          count: count.describe("Messages that were routed along it since `since`."),
          perSecond,
          filtered: count.describe("Messages that a decision kept from the destination."),
        }),
      )
      .describe(
        "From each source to each destination that is connected to it. Of more than 4,000, those with the most messages.",
      ),
    webhooks: z.array(
      z.object({
        id: webhookId,
        destinationId,
        ...rate,
        lastMinute: z.object({ ended: count, failed: count }),
        last: z
          .array(attempt)
          .describe("The last ten attempts, oldest first; fewer with more than 200 webhooks."),
        failedInARow: count.describe("The attempts since the last success."),
        lastFailure: attempt.nullable(),
        inFlight: count,
        inFlightMs: z.int().nullable().describe("How long the oldest has been in flight."),
      }),
    ),
    waiting: z
      .array(
        z.object({
          destinationId,
          queued: count,
          sending: count,
          waiting: count,
          due: z
            .array(time)
            .describe(
              "The next due times, at most sixty; fewer with more than 20 such destinations.",
            ),
        }),
      )
      .describe("Destinations with deliveries in progress or waiting."),
    moving: z
      .object({
        messages: z.array(
          z.object({
            id: messageId,
            sourceId,
            destinationIds: z.array(destinationId).describe("Where it was routed to."),
            agoMs,
          }),
        ),
        attempts: z.array(
          z.object({
            messageId,
            destinationId,
            webhookId,
            round: z.int(),
            outcome: z.enum(outcomes).nullable().describe("Null while it is in flight."),
            agoMs,
          }),
        ),
      })
      .describe(
        "What happened one by one in the last four seconds, from the second call on: it is only kept while somebody asks.",
      ),
  })
  .meta({ id: "Flow" });

export const flowCalls = [
  defineCall({
    name: "flow.get",
    summary: "What moves through the pipeline: counts and rates per line between two of its parts.",
    answer: flow,
  }),
] as const;
