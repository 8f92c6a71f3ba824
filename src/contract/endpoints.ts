import { z } from "zod";
import { destinationIds, endpointIds, receivedRequestIds } from "../domain/ids.ts";
import { stepActions } from "../domain/configuration.ts";
import { defineCall } from "./call.ts";
import {
  byId,
  bytes,
  cursorOf,
  deleted,
  headers,
  idOf,
  listOf,
  page,
  recordedHeaders,
  recordedPageOf,
  time,
  messageType,
} from "./shapes.ts";

const after = z.enum(["repeat-last", "start-over"]);

export const step = z
  .strictObject({
    times: z.int().optional().describe("How many requests it serves; one when left out."),
    match: z
      .strictObject({
        type: messageType.optional(),
        event: z.string().optional(),
        userId: z.string().optional(),
        messageId: z.string().optional(),
      })
      .optional()
      .describe("It serves, and counts, only requests whose message matches."),
    chance: z.number().optional().describe("It serves this share of the requests that reach it, 0 to 1."),
    do: z.enum(stepActions),
    status: z.int().optional(),
    headers: headers.optional(),
    body: z.string().optional(),
    delayMs: z.int().optional().describe("Clock time before the step does what it does."),
    forMs: z.int().optional().describe("`hang` and `drip`: clock time for which it lasts."),
  })
  .meta({ id: "Step" });

const id = idOf(endpointIds);
const cursor = cursorOf(receivedRequestIds);

const endpointAnswer = z
  .object({
    id,
    name: z.string(),
    path: z.string(),
    url: z.string(),
    tlsUrl: z.string(),
    steps: z.array(step),
    after,
    createdAt: time,
    position: z.object({
      step: z.int().nullable().describe("The step that serves the next request, from 0; null when none is left."),
      served: z.int().describe("How many requests that step has served."),
      received: z.int().describe("Since the last rewind."),
    }),
  })
  .meta({ id: "Endpoint" });

export const endpointDraft = z
  .strictObject({ name: z.string(), path: z.string().optional(), steps: z.array(step), after: after.optional() })
  .meta({ id: "EndpointDraft" });

const receivedRequest = z
  .object({
    id: idOf(receivedRequestIds),
    endpointId: id,
    receivedAt: time,
    tls: z.boolean(),
    method: z.string(),
    path: z.string(),
    headers: recordedHeaders,
    body: bytes,
    bodyLength: z.int(),
    step: z.int().nullable().describe("The step that served it, from 0; null when none did."),
    did: z.enum([...stepActions, "default"]),
    status: z.int().nullable(),
    message: z.object({
      type: messageType.nullable(),
      messageId: z.string().nullable(),
      event: z.string().nullable(),
      userId: z.string().nullable(),
    }),
    signature: z
      .object({
        value: z.string(),
        verifies: z.array(z.object({ destinationId: idOf(destinationIds), name: z.string(), valid: z.boolean() })),
      })
      .nullable(),
  })
  .meta({ id: "ReceivedRequest" });
export type ReceivedRequestAnswer = z.input<typeof receivedRequest>;

export const endpointCalls = [
  defineCall({
    name: "endpoints.list",
    method: "GET",
    path: "/api/endpoints",
    summary: "All test endpoints.",
    reads: ["endpoints", "received"],
    answer: listOf(endpointAnswer),
  }),
  defineCall({
    name: "endpoints.create",
    method: "POST",
    path: "/api/endpoints",
    summary: "Creates a test endpoint.",
    body: endpointDraft,
    answer: endpointAnswer,
    status: 201,
  }),
  defineCall({
    name: "endpoints.get",
    method: "GET",
    path: "/api/endpoints/{id}",
    summary: "One test endpoint, with the current step of its program.",
    params: byId(id),
    answer: endpointAnswer,
  }),
  defineCall({
    name: "endpoints.update",
    method: "PATCH",
    path: "/api/endpoints/{id}",
    summary: "Changes the given members.",
    params: byId(id),
    body: endpointDraft.partial(),
    answer: endpointAnswer,
  }),
  defineCall({
    name: "endpoints.delete",
    method: "DELETE",
    path: "/api/endpoints/{id}",
    summary: "Deletes a test endpoint.",
    params: byId(id),
    answer: deleted(id),
  }),
  defineCall({
    name: "endpoints.rewind",
    method: "POST",
    path: "/api/endpoints/{id}/rewind",
    summary: "Rewinds the program to its first step.",
    params: byId(id),
    answer: endpointAnswer,
  }),
  defineCall({
    name: "endpoints.requests",
    method: "GET",
    path: "/api/endpoints/{id}/requests",
    summary: "The received requests of a test endpoint, newest first.",
    params: byId(id),
    query: z.strictObject(page(cursor)),
    reads: ["received"],
    answer: recordedPageOf(receivedRequest, cursor),
  }),
  defineCall({
    name: "endpoints.clearRequests",
    method: "DELETE",
    path: "/api/endpoints/{id}/requests",
    summary: "Deletes its received requests.",
    params: byId(id),
    answer: deleted(id),
  }),
  defineCall({
    name: "endpoints.presets",
    method: "GET",
    path: "/api/endpoint-presets",
    summary: "Programs for common cases.",
    answer: listOf(
      z
        .object({
          name: z.string(),
          title: z.string(),
          steps: z.array(step),
          after,
          host: z.string().optional().describe("The host name to use on the TLS port."),
        })
        .meta({ id: "EndpointPreset" }),
    ),
  }),
] as const;
