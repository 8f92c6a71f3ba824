import { z } from "zod";
import { defineCall } from "./call.ts";
import { byId, page, pageOf, time } from "./shapes.ts";

const identity = z
  .object({
    kind: z.enum(["userId", "anonymousId"]),
    value: z.string(),
    since: time,
    messageId: z.string().describe("The message that brought it."),
  })
  .meta({ id: "Identity" });

const profileSummary = z.object({
  id: z.string(),
  userId: z.string().nullable().describe("The newest known one; null while the profile is anonymous."),
  anonymousId: z.string().nullable().describe("One of an anonymous profile's, for a list."),
  firstSeenAt: time,
  lastSeenAt: time,
  events: z.int().describe("How many it has done."),
  traits: z.record(z.string(), z.unknown()).describe("In a list, the first hundred by name."),
  audiences: z.array(z.string()).describe("Keys of the audiences whose receivers were told that the user is in."),
});
const profileAnswer = profileSummary.meta({ id: "Profile" });

const profileDetails = profileSummary
  .extend({
    identities: z.array(identity),
    traitList: z.array(z.object({ name: z.string(), value: z.unknown(), at: time, messageId: z.string() })).describe("By name."),
    groups: z.array(z.object({ groupId: z.string(), traits: z.record(z.string(), z.unknown()), at: time })),
    eventList: z
      .array(
        z.object({
          event: z.string(),
          count: z.int(),
          firstAt: time,
          lastAt: time,
          lastProperties: z.unknown(),
          lastMessageId: z.string(),
        }),
      )
      .describe("The newest first."),
    sourceIds: z.array(z.string()).describe("The sources that know the user."),
    computed: z.array(z.object({ id: z.string(), name: z.string(), key: z.string(), value: z.unknown(), since: time })),
    memberships: z.array(z.object({ id: z.string(), name: z.string(), key: z.string(), since: time })),
    history: z
      .array(
        z.object({
          at: time,
          kind: z
            .enum(["created", "identified", "merged", "moved"])
            .describe(
              "`identified`: an anonymous profile learned its user. `merged`: another profile was joined to this one. `moved`: an anonymousId went on to another user.",
            ),
          detail: z.string(),
          messageId: z.string(),
        }),
      )
      .describe("How the identities were joined, oldest first."),
    suppressed: z.boolean(),
  })
  .meta({ id: "ProfileDetails" });
export type ProfileAnswer = z.output<typeof profileAnswer>;
export type ProfileDetailsAnswer = z.output<typeof profileDetails>;

export const profileCalls = [
  defineCall({
    name: "profiles.list",
    method: "GET",
    path: "/api/profiles",
    summary: "Profiles, last seen first.",
    query: z.strictObject({
      ...page,
      search: z.string().optional().describe("In their identities, from the beginning."),
      userId: z.string().optional().describe("The profile that has this userId."),
      audienceId: z.string().optional().describe("Members of this audience."),
    }),
    answer: pageOf(profileAnswer),
  }),
  defineCall({
    name: "profiles.get",
    method: "GET",
    path: "/api/profiles/{id}",
    summary: "One profile with everything that is known of it.",
    params: byId,
    answer: profileDetails,
  }),
  defineCall({
    name: "profiles.seen",
    method: "GET",
    path: "/api/profiles/seen",
    summary: "Names of traits, of events and of their properties that have been seen, the most frequent first: for suggestions.",
    answer: z.object({
      traits: z.array(z.string()),
      events: z.array(z.object({ event: z.string(), properties: z.array(z.string()) })),
    }),
  }),
] as const;
