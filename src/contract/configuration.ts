/** The configuration as one readable document: names and write keys instead of ids, so that it can move to another installation. */

import { z } from "zod";
import { defineCall } from "./call.ts";
import { clientDraft } from "./clients.ts";
import { payloadShape, webhookDraft } from "./destinations.ts";
import { endpointDraft } from "./endpoints.ts";
import { retryProfileDraft } from "./retry-profiles.ts";
import { settingsChanges } from "./settings.ts";
import { sourceDraft } from "./sources.ts";

const configuredDestination = z
  .strictObject({
    name: z.string(),
    sources: z.array(z.string()).describe("Their write keys; when reading, names will do."),
    webhooks: z.array(webhookDraft),
    sharedSecret: z.string().nullable().optional().describe("Left out: stays as it is."),
    enabled: z.boolean().optional(),
    retryProfile: z.string().optional(),
    payload: payloadShape.optional(),
  })
  .meta({ id: "ConfiguredDestination" });

const configurationDocument = z
  .strictObject({
    version: z.literal(1),
    settings: settingsChanges.optional(),
    retryProfiles: z.array(retryProfileDraft).optional(),
    sources: z.array(sourceDraft).optional(),
    endpoints: z.array(endpointDraft).optional(),
    destinations: z.array(configuredDestination).optional(),
    clients: z.array(clientDraft.omit({ sourceId: true }).extend({ writeKey: z.string() })).optional(),
  })
  .meta({ id: "Configuration" });
export type ConfigurationDocument = z.output<typeof configurationDocument>;

export const configurationCalls = [
  defineCall({
    name: "configuration.export",
    method: "GET",
    path: "/api/configuration",
    summary: "The whole configuration as one document.",
    query: z.strictObject({ secrets: z.boolean().default(false).describe("With the shared secrets, which are left out otherwise.") }),
    answer: configurationDocument,
  }),
  defineCall({
    name: "configuration.import",
    method: "POST",
    path: "/api/configuration",
    summary: "Makes what is new, changes what has the same write key or name, leaves everything else.",
    body: configurationDocument,
    answer: z.object({ created: z.int(), updated: z.int() }),
  }),
] as const;
