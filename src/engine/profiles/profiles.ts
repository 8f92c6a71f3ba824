/** Profiles as the control API sees them. */

import { audienceIds, type AudienceId, type SourceId } from "../../domain/ids.ts";
import { notFound } from "../../domain/problem.ts";
import type { Profiles, ProfileValues } from "../profile-pipeline.ts";
import type { ProfileStore } from "../profile-ports.ts";
import { nextTurn } from "../real-time.ts";
import type { Follower } from "./follower.ts";

type ProfilesOptions = {
  store: ProfileStore;
  follower: Pick<Follower, "caughtUp">;
  /** The values of audiences and computed traits. */
  computed: {
    sourceOf(audience: AudienceId): SourceId | undefined;
    valuesOf(userId: string): ProfileValues;
  };
  isSuppressed: (userId: string) => boolean;
};

export function createProfiles({
  store,
  follower,
  computed,
  isSuppressed,
}: ProfilesOptions): Profiles {
  const nothing: ProfileValues = { memberships: [], computed: [] };
  const valuesOf = (userId: string | null): ProfileValues =>
    userId === null ? nothing : computed.valuesOf(userId);

  return {
    caughtUp: () => follower.caughtUp(),
    async list({ audienceId, ...filter }, limit, before) {
      const members = audienceId === undefined ? undefined : computed.sourceOf(audienceId);
      if (audienceId !== undefined && members === undefined)
        return notFound("audience", audienceIds.format(audienceId));
      if (filter.userId === undefined) while (!store.readForLists()) await nextTurn();
      const { items, ...page } = store.profiles(
        { ...filter, ...(members === undefined ? {} : { members }) },
        limit,
        before,
      );
      return {
        ...page,
        items: items.map((profile) => ({
          ...profile,
          memberships: valuesOf(profile.userId).memberships,
        })),
      };
    },
    get(id) {
      const profile = store.profileDetails(id);
      if (profile === null) return undefined;
      return {
        ...profile,
        ...valuesOf(profile.userId),
        suppressed: profile.userId !== null && isSuppressed(profile.userId),
      };
    },
    seenNames: () => store.seenNames(),
  };
}
