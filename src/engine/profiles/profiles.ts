/** Profiles as the control API sees them. `app.ts` makes them, and tells them of every commit. */

import { audienceIds, type AudienceId, type SourceId } from "../../domain/ids.ts";
import { notFound } from "../../domain/problem.ts";
import type { Profiles, ProfileValues } from "../profile-pipeline.ts";
import { Follower, type FollowerOptions } from "./follower.ts";

type ProfilesOptions = FollowerOptions & {
  /** What audiences and computed traits say of a user. */
  computed: {
    sourceOf(audience: AudienceId): SourceId | undefined;
    valuesOf(userId: string): ProfileValues;
  };
  isSuppressed: (userId: string) => boolean;
};

export function createProfiles({
  computed,
  isSuppressed,
  ...options
}: ProfilesOptions): Profiles & Pick<Follower, "start" | "stop" | "kick" | "noteOthers" | "failure"> {
  const { store } = options;
  const follower = new Follower(options);
  const nothing: ProfileValues = { memberships: [], computed: [] };
  const valuesOf = (userId: string | null): ProfileValues => (userId === null ? nothing : computed.valuesOf(userId));

  return {
    start: () => follower.start(),
    stop: () => follower.stop(),
    kick: (origin) => follower.kick(origin),
    get failure() {
      return follower.failure;
    },
    noteOthers: () => follower.noteOthers(),
    caughtUp: () => follower.caughtUp(),
    list({ audienceId, ...filter }, limit, before) {
      const members = audienceId === undefined ? undefined : computed.sourceOf(audienceId);
      if (audienceId !== undefined && members === undefined) return notFound("audience", audienceIds.format(audienceId));
      const { items, ...page } = store.profiles({ ...filter, ...(members === undefined ? {} : { members }) }, limit, before);
      return { ...page, items: items.map((profile) => ({ ...profile, memberships: valuesOf(profile.userId).memberships })) };
    },
    get(id) {
      const profile = store.profileDetails(id);
      if (profile === null) return undefined;
      return { ...profile, ...valuesOf(profile.userId), suppressed: profile.userId !== null && isSuppressed(profile.userId) };
    },
    seenNames: () => store.seenNames(),
  };
}
