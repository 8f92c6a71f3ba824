/**
 * What steps create and change of what was set up. Rules are those of the control API, word for
 * word.
 */

import { z } from "zod";
import { members } from "./members.ts";
import {
  destinationMembers,
  endpoint,
  named,
  settings,
  sourceMembers,
  name,
  oneOf,
} from "./setup-schema.ts";
import { computation, rule } from "../../contract/rules.ts";
import { duration } from "./matcher.ts";

export const userIds = z
  .array(name, { error: "a list of userIds" })
  .min(1, "a list with at least one userId");

const common = {
  destinations: z
    .array(name, { error: "a list of names of destinations" })
    .optional()
    .describe("Every enabled destination when left out."),
  sync: z
    .union([oneOf(["manual", "each-event"]), duration], {
      error: "manual, each-event, or a duration such as 1h",
    })
    .optional()
    .describe(
      "When differences are sent: manual (the default), by a sync step; after each event; or at an interval of clock time.",
    ),
};
const audienceMembers = {
  rule: rule.optional(),
  members: userIds.optional().describe("A fixed list instead of a rule."),
  ...common,
};

const oneOfTwo = "An audience has either a rule or members.";
export const audience = members(audienceMembers)
  .refine((one) => (one.rule === undefined) !== (one.members === undefined), { error: oneOfTwo })
  .meta({ id: "ScenarioAudience" });
export type FileAudience = z.output<typeof audience>;

const audienceChange = members(audienceMembers).refine(
  (one) => one.rule === undefined || one.members === undefined,
  {
    error: oneOfTwo,
  },
);
export type FileAudienceChange = z.output<typeof audienceChange>;

export const computedTrait = members({ computation, ...common }).meta({
  id: "ScenarioComputedTrait",
});
export type FileComputedTrait = z.output<typeof computedTrait>;

/** The same members as at the top; what is not given stays as it is. */
export const change = members({
  settings: settings.optional(),
  sources: named(members(sourceMembers)).optional(),
  endpoints: named(endpoint).optional(),
  destinations: named(members(destinationMembers)).optional(),
  audiences: named(audienceChange).optional(),
}).meta({ id: "ScenarioChange" });
export type FileChange = z.output<typeof change>;

export const creation = members({
  audiences: named(audience).optional(),
  computedTraits: named(computedTrait).optional(),
})
  .refine((one) => one.audiences !== undefined || one.computedTraits !== undefined, {
    error: "Say what to create: audiences or computedTraits.",
  })
  .meta({ id: "ScenarioCreation" });
export type FileCreation = z.output<typeof creation>;
