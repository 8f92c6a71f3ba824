/**
 * Profiles, audiences, computed traits and deletions as the control API sees them: a part of
 * `pipeline.ts`.
 */

import type { DeletionState } from "../domain/states.ts";
import type {
  AudienceId,
  ComputedTraitId,
  DeletionId,
  DestinationId,
  ProfileId,
} from "../domain/ids.ts";
import type { Json, JsonObject } from "../domain/json.ts";
import type { Problem } from "../domain/problem.ts";
import type { Computation, Explanation, Rule, Sync } from "../domain/rules.ts";
import type {
  Audience,
  CancelledSync,
  ComputedTrait,
  Deletion,
  FirstSync,
  ProfileCursor,
  ProfileDetails,
  ProfileSummary,
  Suppression,
} from "./profile-ports.ts";
import type { Page } from "./ports.ts";

export type Profiles = {
  /** Resolves when every message committed so far is in the profiles. */
  caughtUp(): Promise<void>;
  list(
    filter: { search?: string; userId?: string; audienceId?: AudienceId },
    limit: number,
    before: ProfileCursor | null,
  ): Promise<Page<ProfileView, ProfileCursor> | Problem>;
  get(id: ProfileId): (ProfileDetails & ProfileValues & { suppressed: boolean }) | undefined;
  seenNames(): { traits: string[]; events: { event: string; properties: string[] }[] };
};

export type ProfileValues = {
  memberships: { id: AudienceId; name: string; key: string; since: number }[];
  computed: { id: ComputedTraitId; name: string; key: string; value: Json; since: number }[];
};
export type ProfileView = ProfileSummary & Pick<ProfileValues, "memberships">;

export type SyncProgress = { done: number; total: number };

export type AudienceView = Audience & {
  destinationIds: DestinationId[];
  size: number;
  syncing: SyncProgress | null;
  cancelledSync: CancelledSync | null;
  firstSyncs: FirstSync[];
};
/** Without a key, it is derived from the name. */
export type AudienceDraft = {
  name: string;
  key?: string;
  rule?: Rule;
  members?: string[];
  destinationIds?: DestinationId[];
  sync?: Sync;
};

type SampledUser = { profileId: ProfileId | null; userId: string; traits: JsonObject };

export type Audiences = {
  list(): AudienceView[];
  get(id: AudienceId): AudienceView | Problem;
  /** Resolves when the first sync is committed. */
  create(draft: AudienceDraft): Promise<AudienceView | Problem>;
  update(id: AudienceId, changes: Partial<AudienceDraft>): Promise<AudienceView | Problem>;
  delete(id: AudienceId): Promise<Problem | null>;
  sync(id: AudienceId): Promise<{ entered: number; left: number } | Problem>;
  cancelSync(id: AudienceId): AudienceView | Problem;
  /** What the next sync would send. */
  changes(
    id: AudienceId,
    sample: number,
  ): Promise<
    | {
        entering: number;
        leaving: number;
        sample: (SampledUser & { change: "entering" | "leaving"; payload: Uint8Array })[];
      }
    | Problem
  >;
  preview(
    of: { rule: Rule } | { members: string[] },
    sample: number,
  ): Promise<{ count: number; profiles: number; sample: SampledUser[] } | Problem>;
  explain(
    rule: Rule,
    userId: string,
  ): Promise<{ matches: boolean; until: number | null; explained: Explanation } | Problem>;
};

type ComputedTraitView = ComputedTrait & {
  destinationIds: DestinationId[];
  users: number;
  syncing: SyncProgress | null;
  cancelledSync: CancelledSync | null;
  firstSyncs: FirstSync[];
};
export type ComputedTraitDraft = {
  name: string;
  key?: string;
  computation: Computation;
  destinationIds?: DestinationId[];
  sync?: Sync;
};

export type ComputedTraits = {
  list(): ComputedTraitView[];
  get(id: ComputedTraitId): ComputedTraitView | Problem;
  create(draft: ComputedTraitDraft): Promise<ComputedTraitView | Problem>;
  update(
    id: ComputedTraitId,
    changes: Partial<ComputedTraitDraft>,
  ): Promise<ComputedTraitView | Problem>;
  delete(id: ComputedTraitId): Promise<Problem | null>;
  sync(id: ComputedTraitId): Promise<{ entered: number; left: number } | Problem>;
  cancelSync(id: ComputedTraitId): ComputedTraitView | Problem;
  preview(
    computation: Computation,
    sample: number,
  ): Promise<
    | {
        count: number;
        profiles: number;
        sample: { profileId: ProfileId; userId: string; value: Json }[];
      }
    | Problem
  >;
};

export type DeletionView = Deletion & { state: DeletionState };

export type Deletions = {
  list(limit: number, before: DeletionId | null): Page<DeletionView, DeletionId>;
  get(id: DeletionId): DeletionView | undefined;
  create(
    userIds: readonly string[],
    suppress: boolean,
    send?: boolean,
  ): Promise<DeletionView | Problem>;
  delete(id: DeletionId): Problem | null;
};

export type Suppressions = {
  list(search: string, limit: number, after: string | null): Page<Suppression, string>;
  lift(userId: string): Problem | null;
  /** Without deleting them. */
  create(userIds: readonly string[]): Suppression[];
};
