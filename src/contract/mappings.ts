/** What a mapping that is being written would make of the messages that came last. */

import { z } from "zod";
import { destinationIds, messageIds, sourceIds } from "../domain/ids.ts";
import { defineCall } from "./call.ts";
import { mappingDraft } from "./destinations.ts";
import { messageSummary } from "./messages.ts";
import { bytes, idOf, recordedHeaders } from "./shapes.ts";

const id = idOf(messageIds);
const mistake = z.string().nullable();

const previewedRequest = z
  .object({
    url: z.string().nullable().describe("Null while the URL is not one."),
    method: z.string(),
    headers: recordedHeaders.describe("Without those that every request has."),
    body: bytes,
    signature: z.string().nullable().describe("X-Signature: null without a secret or a body."),
  })
  .meta({ id: "PreviewedRequest" });

export const mappingCalls = [
  defineCall({
    name: "mappings.preview",
    summary: "What a mapping would make of the newest 100 messages. Nothing is saved or sent.",
    body: z.strictObject({
      mapping: mappingDraft,
      sourceIds: z.array(idOf(sourceIds)).describe("Only messages of these."),
      sharedSecret: z.string().nullable().optional(),
      destinationId: idOf(destinationIds)
        .optional()
        .describe("Its saved filters apply, and its secret signs when `sharedSecret` is left out."),
      id: id.optional().describe("The message to show; the newest that matches when left out."),
    }),
    answer: z.object({
      mistakes: z
        .object({ trigger: mistake, url: mistake, headers: mistake, data: mistake, batch: mistake })
        .describe("Why it cannot be saved."),
      looked: z.int().describe("How many messages were looked at."),
      matching: z.array(messageSummary).describe("Those that its trigger takes, newest first."),
      failing: z.int().describe("How many of these cannot be sent."),
      shown: z
        .object({
          id,
          detail: z.string().describe("What becomes of it, or why nothing does."),
          request: previewedRequest.nullable(),
          batch: z
            .object({
              messages: z.array(id).describe("Up to three that share a batch."),
              body: bytes,
              first: z.int().describe("The length of its first element, which is signed."),
              signature: z.string().nullable(),
              wholeSignature: z
                .string()
                .nullable()
                .describe("Of all bytes: what a wrong receiver would expect."),
            })
            .nullable(),
        })
        .nullable(),
    }),
  }),
] as const;
