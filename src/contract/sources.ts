import { z } from "zod";
import { sourceIds } from "../domain/ids.ts";
import { highestStatus } from "../domain/http-status.ts";
import { messageTypes, sourceKinds } from "../domain/states.ts";
import { defineCall } from "./call.ts";
import { answerMode, byId, deleted, idOf, listOf, time } from "./shapes.ts";

const sourceKind = z.enum(sourceKinds);

export const ingestFault = z
  .strictObject({
    do: z.enum(["answer", "delay", "cut"]),
    status: z.int().min(200).max(highestStatus).optional().describe("`answer`: 500 when left out."),
    retryAfter: z.int().min(0).optional().describe("`answer`: seconds in a `Retry-After` header."),
    delayMs: z
      .int()
      .min(0)
      .max(600_000)
      .optional()
      .describe("How long the request waits first; can be combined with the other two."),
    times: z.int().min(0).optional().describe("Serves this many requests, then ends."),
    chance: z
      .number()
      .min(0)
      .max(1)
      .optional()
      .describe("Serves this share of the requests, 0 to 1."),
  })
  .meta({ id: "IngestFault" });

const id = idOf(sourceIds);

const clockSkewCorrection = z
  .union([z.literal("auto"), z.boolean()])
  .describe(
    "`auto`: when the clock was moved, the timestamps of clients that live by the machine's time are moved too. true: the hosted service's formula. false: timestamps are kept.",
  );

const sourceAnswer = z
  .object({
    id,
    name: z.string(),
    kind: z
      .enum([...sourceKinds, "audience"])
      .describe("A source of the kind `audience` belongs to one audience or computed trait."),
    writeKey: z.string(),
    mode: answerMode,
    deduplicate: z.boolean(),
    correctClockSkew: clockSkewCorrection,
    faults: z.array(ingestFault),
    createdAt: time,
  })
  .meta({ id: "Source" });
export type SourceAnswer = z.input<typeof sourceAnswer>;

export const sourceDraft = z
  .strictObject({
    name: z.string(),
    kind: sourceKind.optional(),
    writeKey: z.string().optional().describe("Generated when left out."),
    mode: answerMode.optional(),
    deduplicate: z.boolean().optional(),
    correctClockSkew: clockSkewCorrection.optional(),
    faults: z.array(ingestFault).optional(),
  })
  .meta({ id: "SourceDraft" });

export const sourceCalls = [
  defineCall({
    name: "sources.list",
    method: "GET",
    path: "/api/sources",
    summary: "All sources.",
    answer: listOf(sourceAnswer),
  }),
  defineCall({
    name: "sources.create",
    method: "POST",
    path: "/api/sources",
    summary: "Creates a source.",
    body: sourceDraft,
    answer: sourceAnswer,
    status: 201,
  }),
  defineCall({
    name: "sources.get",
    method: "GET",
    path: "/api/sources/{id}",
    summary: "One source.",
    params: byId(id),
    answer: sourceAnswer,
  }),
  defineCall({
    name: "sources.update",
    method: "PATCH",
    path: "/api/sources/{id}",
    summary: "Changes the given members.",
    params: byId(id),
    body: sourceDraft.partial(),
    answer: sourceAnswer,
  }),
  defineCall({
    name: "sources.send",
    method: "POST",
    path: "/api/sources/{id}/send",
    summary:
      "Sends one call to the ingest port as this source, over HTTP as a client would; returns the port's response.",
    params: byId(id),
    body: z.strictObject({
      type: z
        .enum([...messageTypes, "batch"])
        .exclude(["delete"])
        .describe("The call, which decides the path."),
      body: z.string().describe("The JSON of the call, sent as it is."),
    }),
    answer: z.object({ status: z.int(), body: z.string() }),
  }),
  defineCall({
    name: "sources.delete",
    method: "DELETE",
    path: "/api/sources/{id}",
    summary: "Deletes a source. Its messages stay.",
    params: byId(id),
    answer: deleted(id),
  }),
] as const;

const byWriteKey = z.strictObject({ writeKey: z.string() });

export const unknownKeyCalls = [
  defineCall({
    name: "unknownKeys.list",
    method: "GET",
    path: "/api/unknown-keys",
    summary: "Write keys that no source has, with the number of stored requests.",
    answer: listOf(
      z
        .object({
          writeKey: z.string(),
          requests: z.int(),
          firstAt: time,
          lastAt: time,
          lastPath: z.string(),
        })
        .meta({ id: "UnknownKey" }),
    ),
  }),
  defineCall({
    name: "unknownKeys.adopt",
    method: "POST",
    path: "/api/unknown-keys/{writeKey}/adopt",
    summary: "Creates a source with the key and accepts the stored requests.",
    params: byWriteKey,
    body: z.strictObject({ name: z.string() }),
    answer: sourceAnswer,
    status: 201,
  }),
  defineCall({
    name: "unknownKeys.forget",
    method: "DELETE",
    path: "/api/unknown-keys/{writeKey}",
    summary: "Deletes the key and its stored requests.",
    params: byWriteKey,
    answer: z.object({ writeKey: z.string() }),
  }),
] as const;
