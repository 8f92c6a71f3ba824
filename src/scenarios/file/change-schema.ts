/** What steps make and change of what was set up. */

import type { z } from "zod";
import { audience, audienceChange, computedTrait } from "./audience-schema.ts";
import { members } from "./members.ts";
import { destinationMembers, endpoint, named, settings, sourceMembers } from "./setup-schema.ts";

/** The same members as at the top; what is not given stays as it is. */
export const change = members({
  settings: settings.optional(),
  sources: named(members(sourceMembers)).optional(),
  endpoints: named(endpoint).optional(),
  destinations: named(members({ ...destinationMembers, webhooks: destinationMembers.webhooks.optional() })).optional(),
  audiences: named(audienceChange).optional(),
}).meta({ id: "ScenarioChange" });
export type FileChange = z.output<typeof change>;

export const creation = members({ audiences: named(audience).optional(), computedTraits: named(computedTrait).optional() })
  .refine((one) => one.audiences !== undefined || one.computedTraits !== undefined, {
    error: "Say what to create: audiences or computedTraits.",
  })
  .meta({ id: "ScenarioCreation" });
export type FileCreation = z.output<typeof creation>;
