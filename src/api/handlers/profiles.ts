import { audienceIds, computedTraitIds, messageIds, profileIds, sourceIds } from "../../domain/ids.ts";
import type { ProfileAnswer, ProfileDetailsAnswer } from "../../contract/profiles.ts";
import { invalid, isProblem, notFound } from "../../domain/problem.ts";
import type { Pipeline } from "../../engine/pipeline.ts";
import type { Profiles, ProfileView } from "../../engine/profile-pipeline.ts";
import type { ProfileCursor } from "../../engine/profile-ports.ts";
import type { HandlersOf } from "../handler.ts";
import { cursorFrom } from "../inputs.ts";
import { presentTime } from "../presenters.ts";

export function profileHandlers({ profiles }: Pipeline): HandlersOf<"profiles"> {
  return {
    "profiles.list": ({ limit, cursor, audienceId, search, userId }) => {
      const before = cursorFrom({ parse: parseCursor }, cursor);
      if (isProblem(before)) return before;
      const audience = audienceId === undefined ? undefined : audienceIds.parse(audienceId);
      if (audience === null) return invalid(`audienceId: ${audienceId} is not the id of an audience.`);
      const filter = {
        ...(search === undefined ? {} : { search }),
        ...(userId === undefined ? {} : { userId }),
        ...(audience === undefined ? {} : { audienceId: audience }),
      };
      const page = profiles.list(filter, limit, before);
      if (isProblem(page)) return page;
      const { items, nextCursor, total, totalCapped } = page;
      return { items: items.map(presentProfile), nextCursor: nextCursor === null ? null : formatCursor(nextCursor), total, totalCapped };
    },
    "profiles.get": (input) => {
      const id = profileIds.parse(input.id);
      const profile = id === null ? undefined : profiles.get(id);
      return profile === undefined ? notFound("profile", input.id) : presentDetails(profile);
    },
    "profiles.seen": () => profiles.seenNames(),
  };
}

/** A time and an id: profiles are listed by when they were seen, and those of one time by their id. */
function formatCursor({ lastSeenAt, id }: ProfileCursor): string {
  return `${lastSeenAt}.${profileIds.format(id)}`;
}

function parseCursor(text: string): ProfileCursor | null {
  const [, at = "", name = ""] = /^(-?\d{1,16})\.(\w+)$/.exec(text) ?? [];
  const id = profileIds.parse(name);
  return id === null ? null : { lastSeenAt: Number(at), id };
}

function presentProfile({ id, firstSeenAt, lastSeenAt, memberships, ...profile }: ProfileView): ProfileAnswer {
  const { userId, anonymousId, events, traits } = profile;
  return {
    id: profileIds.format(id),
    userId,
    anonymousId,
    firstSeenAt: presentTime(firstSeenAt),
    lastSeenAt: presentTime(lastSeenAt),
    events,
    traits,
    audiences: memberships.map(({ key }) => key),
  };
}

function presentDetails(profile: NonNullable<ReturnType<Profiles["get"]>>): ProfileDetailsAnswer {
  return {
    ...presentProfile(profile),
    identities: profile.identities.map(({ since, messageId, ...identity }) => ({
      ...identity,
      since: presentTime(since),
      messageId: messageIds.format(messageId),
    })),
    traitList: profile.traitList.map(({ at, messageId, ...trait }) => ({
      ...trait,
      at: presentTime(at),
      messageId: messageIds.format(messageId),
    })),
    groups: profile.groups.map(({ at, ...group }) => ({ ...group, at: presentTime(at) })),
    eventList: profile.eventList.map(({ firstAt, lastAt, lastMessageId, ...event }) => ({
      ...event,
      firstAt: presentTime(firstAt),
      lastAt: presentTime(lastAt),
      lastMessageId: messageIds.format(lastMessageId),
    })),
    sourceIds: profile.sourceIds.map((id) => sourceIds.format(id)),
    computed: profile.computed.map(({ id, since, ...trait }) => ({ ...trait, id: computedTraitIds.format(id), since: presentTime(since) })),
    memberships: profile.memberships.map(({ id, since, ...audience }) => ({
      ...audience,
      id: audienceIds.format(id),
      since: presentTime(since),
    })),
    history: profile.history.map(({ at, messageId, ...step }) => ({
      ...step,
      at: presentTime(at),
      messageId: messageIds.format(messageId),
    })),
    suppressed: profile.suppressed,
  };
}
