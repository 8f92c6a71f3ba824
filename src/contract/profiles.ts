import { z } from "zod";
import {
  audienceIds,
  computedTraitIds,
  messageIds,
  profileIds,
  sourceIds,
  type ProfileId,
} from "../domain/ids.ts";
import { defineCall } from "./call.ts";
import { anyMembers, byId, cursorOf, idOf, page, pageOf, time } from "./shapes.ts";

const id = idOf(profileIds);
/** Profiles are listed by when they were seen last, and those of one time by their id. */
const cursor = cursorOf<{ lastSeenAt: number; id: ProfileId }>({
  parse(text) {
    const [, at = "", name = ""] = /^(-?\d{1,16})\.(\w+)$/.exec(text) ?? [];
    const id = profileIds.parse(name);
    return id === null ? null : { lastSeenAt: Number(at), id };
  },
  format: ({ lastSeenAt, id }) => `${lastSeenAt}.${profileIds.format(id)}`,
});

const identity = z
  .object({
    kind: z.enum(["userId", "anonymousId"]),
    value: z.string(),
    since: time,
    messageId: idOf(messageIds).describe("The message that introduced it."),
  })
  .meta({ id: "Identity" });

const profileSummary = z.object({
  id,
  userId: z
    .string()
    .nullable()
    .describe("The newest known one; null while the profile is anonymous."),
  anonymousId: z.string().nullable().describe("One of an anonymous profile's, for a list."),
  firstSeenAt: time,
  lastSeenAt: time,
  events: z.int().describe("The number of its events."),
  traits: anyMembers.describe("In a list, the first hundred by name."),
  audiences: z
    .array(z.string())
    .describe("Keys of the audiences whose receivers were notified that the user is in."),
});
const profileAnswer = profileSummary.meta({ id: "Profile" });

const profileDetails = profileSummary
  .extend({
    identities: z.array(identity),
    traitList: z
      .array(
        z.object({ name: z.string(), value: z.unknown(), at: time, messageId: idOf(messageIds) }),
      )
      .describe("By name: the first thousand, fewer where they are large."),
    groups: z.array(z.object({ groupId: z.string(), traits: anyMembers, at: time })),
    eventList: z
      .array(
        z.object({
          event: z.string(),
          count: z.int(),
          firstAt: time,
          lastAt: time,
          lastProperties: z.unknown(),
          lastMessageId: idOf(messageIds),
        }),
      )
      .describe("The newest first."),
    sourceIds: z.array(idOf(sourceIds)).describe("The sources that know the user."),
    computed: z.array(
      z.object({
        id: idOf(computedTraitIds),
        name: z.string(),
        key: z.string(),
        value: z.unknown(),
        since: time,
      }),
    ),
    memberships: z.array(
      z.object({ id: idOf(audienceIds), name: z.string(), key: z.string(), since: time }),
    ),
    history: z
      .array(
        z.object({
          at: time,
          kind: z
            .enum(["created", "identified", "merged", "moved"])
            .describe(
              "`identified`: an anonymous profile learned its user. `merged`: another profile was joined to this one. `moved`: an anonymousId moved to another user.",
            ),
          detail: z.string(),
          messageId: idOf(messageIds),
        }),
      )
      .describe("How the identities were joined, oldest first."),
    suppressed: z.boolean(),
  })
  .meta({ id: "ProfileDetails" });

export const profileCalls = [
  defineCall({
    name: "profiles.list",
    summary: "Profiles, last seen first.",
    query: z.strictObject({
      ...page(cursor),
      search: z.string().optional().describe("The start of one of their identities."),
      userId: z.string().optional().describe("The profile that has this userId."),
      audienceId: idOf(audienceIds).optional().describe("Members of this audience."),
    }),
    answer: pageOf(profileAnswer, cursor),
  }),
  defineCall({
    name: "profiles.get",
    summary: "One profile with all its data.",
    params: byId(id),
    answer: profileDetails,
  }),
  defineCall({
    name: "profiles.seen",
    summary:
      "The names of traits, events and properties seen so far, most frequent first. For suggestions.",
    answer: z.object({
      traits: z.array(z.string()),
      events: z.array(z.object({ event: z.string(), properties: z.array(z.string()) })),
    }),
  }),
] as const;
