/**
 * The configuration as one readable document: names and write keys instead of ids, so that it can
 * move to another installation.
 */

import { z } from "zod";
import { destinationKinds } from "../domain/configuration.ts";
import { snakeCase } from "../domain/snake-case.ts";
import { members, oneOfTwo } from "./audiences.ts";
import { defineCall } from "./call.ts";
import { clientDraft } from "./clients.ts";
import {
  audienceCallsShape,
  destinationFilter,
  mappingDraft,
  payloadShape,
  webhookDraft,
} from "./destinations.ts";
import { endpointDraft } from "./endpoints.ts";
import { retryProfileDraft } from "./retry-profiles.ts";
import { computation, rule, sync } from "./rules.ts";
import { settingsChanges } from "./settings.ts";
import { sourceDraft } from "./sources.ts";

const configuredDestination = z
  .strictObject({
    kind: z.enum(destinationKinds).optional(),
    name: z.string(),
    sources: z.array(z.string()).describe("Their write keys; an import also accepts their names."),
    webhooks: z.array(
      webhookDraft
        .extend({
          url: webhookDraft.shape.url
            .optional()
            .describe(
              "Instead of a port of Hookyard, an export has `{endpointsPort}`, `{endpointsTlsPort}` or `{ingestPort}`.",
            ),
          endpoint: z
            .string()
            .optional()
            .describe("The name or path of a test endpoint, instead of `url`."),
          behind: z
            .strictObject({ endpoint: z.string(), url: z.string() })
            .optional()
            .describe(
              "The path of the test endpoint in front of it, and the URL that an undo restores.",
            ),
        })
        .refine(({ url, endpoint }) => (url === undefined) !== (endpoint === undefined), {
          message: "A webhook has either a url or an endpoint.",
        }),
    ),
    mappings: z.array(mappingDraft).optional(),
    sharedSecret: z
      .string()
      .nullable()
      .optional()
      .describe("Unchanged when left out, and when it is `left-out`, as in an export."),
    enabled: z.boolean().optional(),
    retryProfile: z.string().optional(),
    payload: payloadShape.optional(),
    audienceCalls: audienceCallsShape.optional(),
    filters: z.array(destinationFilter).optional(),
  })
  .meta({ id: "ConfiguredDestination" });

const computed = {
  name: z.string().min(1).max(200),
  key: z
    .string()
    .min(1)
    .refine((key) => snakeCase(key) === key, "a key is a name in snake case")
    .optional()
    .describe("The name in snake case when left out."),
  destinations: z.array(z.string()).optional().describe("Their names."),
  sync: sync.optional(),
};
const configuredAudience = z
  .strictObject({ ...computed, rule: rule.optional(), members: members.optional() })
  .refine(({ rule, members }) => (rule === undefined) !== (members === undefined), oneOfTwo)
  .meta({ id: "ConfiguredAudience" });
const configuredComputedTrait = z
  .strictObject({ ...computed, computation })
  .meta({ id: "ConfiguredComputedTrait" });

export const configurationDocument = z
  .strictObject({
    version: z.literal(1),
    settings: settingsChanges.optional(),
    retryProfiles: z.array(retryProfileDraft).optional(),
    sources: z.array(sourceDraft).optional(),
    endpoints: z.array(endpointDraft).optional(),
    destinations: z.array(configuredDestination).optional(),
    audiences: z.array(configuredAudience).optional(),
    computedTraits: z.array(configuredComputedTrait).optional(),
    clients: z
      .array(clientDraft.omit({ sourceId: true }).extend({ writeKey: z.string() }))
      .optional(),
  })
  .meta({ id: "Configuration" });
export type ConfigurationDocument = z.output<typeof configurationDocument>;

export const configurationCalls = [
  defineCall({
    name: "configuration.export",
    summary: "The whole configuration as one document.",
    query: z.strictObject({
      secrets: z
        .boolean()
        .default(false)
        .describe(
          "With the shared secrets and the credentials in webhooks' URLs and headers. Otherwise each of them is replaced by `left-out`.",
        ),
    }),
    answer: configurationDocument,
  }),
  defineCall({
    name: "configuration.import",
    summary:
      "Creates new objects, updates those with the same write key, name or key, and leaves everything else unchanged. A credential that is `left-out` keeps its current value.",
    body: configurationDocument,
    // An export with as many members as all fixed lists may have must be accepted again.
    maxValues: 600_000,
    maxBytes: 32 * 1024 * 1024,
    answer: z.object({
      created: z.int(),
      updated: z.int(),
      missing: z
        .array(z.string())
        .optional()
        .describe(
          "Credentials that the document leaves out and Hookyard does not have: enter them.",
        ),
    }),
  }),
] as const;
