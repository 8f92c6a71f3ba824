/** Profiles, audiences, computed traits, deletion requests and suppressions. */

import { deletionIds, profileIds } from "../../domain/ids.ts";
import { isProblem, notFound } from "../../domain/problem.ts";
import type { Pipeline } from "../../engine/pipeline.ts";
import type { DeletionView, ProfileView } from "../../engine/profile-pipeline.ts";
import type { HandlersOf } from "../../contract/contract.ts";

export function profileHandlers({ profiles }: Pipeline): HandlersOf<"profiles"> {
  return {
    "profiles.list": ({ limit, cursor = null, ...filter }) => {
      const page = profiles.list(filter, limit, cursor);
      return isProblem(page) ? page : { ...page, items: page.items.map(withAudiences) };
    },
    "profiles.get": ({ id }) => {
      const profile = profiles.get(id);
      return profile === undefined
        ? notFound("profile", profileIds.format(id))
        : withAudiences(profile);
    },
    "profiles.seen": () => profiles.seenNames(),
  };
}

function withAudiences<Profile extends ProfileView>(profile: Profile) {
  return { ...profile, audiences: profile.memberships.map(({ key }) => key) };
}

export function audienceHandlers({ audiences }: Pipeline): HandlersOf<"audiences"> {
  return {
    "audiences.list": () => ({ items: audiences.list() }),
    "audiences.create": (draft) => audiences.create(draft),
    "audiences.get": ({ id }) => audiences.get(id),
    "audiences.update": ({ id, ...changes }) => audiences.update(id, changes),
    "audiences.delete": async ({ id }) => (await audiences.delete(id)) ?? { id },
    "audiences.sync": ({ id }) => audiences.sync(id),
    "audiences.cancelSync": ({ id }) => audiences.cancelSync(id),
    "audiences.changes": ({ id, sample }) => audiences.changes(id, sample),
    "audiences.preview": ({ rule, members = [], sample }) =>
      audiences.preview(rule === undefined ? { members } : { rule }, sample),
    "audiences.explain": async ({ rule, userId }) => {
      const explained = await audiences.explain(rule, userId);
      return isProblem(explained) ? explained : { ...explained, userId };
    },
  };
}

export function computedTraitHandlers({ computedTraits }: Pipeline): HandlersOf<"computedTraits"> {
  return {
    "computedTraits.list": () => ({ items: computedTraits.list() }),
    "computedTraits.create": (draft) => computedTraits.create(draft),
    "computedTraits.get": ({ id }) => computedTraits.get(id),
    "computedTraits.update": ({ id, ...changes }) => computedTraits.update(id, changes),
    "computedTraits.delete": async ({ id }) => (await computedTraits.delete(id)) ?? { id },
    "computedTraits.sync": ({ id }) => computedTraits.sync(id),
    "computedTraits.cancelSync": ({ id }) => computedTraits.cancelSync(id),
    "computedTraits.preview": ({ computation, sample }) =>
      computedTraits.preview(computation, sample),
  };
}

export function deletionHandlers({
  deletions,
  suppressions,
}: Pipeline): HandlersOf<"deletions" | "suppressions"> {
  return {
    "deletions.list": ({ limit, cursor = null }) => {
      const page = deletions.list(limit, cursor);
      return { ...page, items: page.items.map(deletionAnswer) };
    },
    "deletions.create": async ({ userIds, suppress, send }) => {
      const made = await deletions.create(userIds, suppress, send);
      return isProblem(made) ? made : deletionAnswer(made);
    },
    "deletions.get": ({ id }) => {
      const deletion = deletions.get(id);
      return deletion === undefined
        ? notFound("deletion request", deletionIds.format(id))
        : deletionAnswer(deletion);
    },
    "deletions.delete": ({ id }) => deletions.delete(id) ?? { id },
    "suppressions.list": ({ search = "", limit, cursor = null }) =>
      suppressions.list(search, limit, cursor),
    "suppressions.create": ({ userIds }) => ({ items: suppressions.create(userIds) }),
    "suppressions.lift": ({ userId }) => suppressions.lift(userId) ?? { userId },
  };
}

function deletionAnswer(deletion: DeletionView) {
  return {
    ...deletion,
    users: deletion.users.map(({ userId, deleted }) => ({
      userId,
      ...(deleted ?? {
        known: false,
        detail: "Not deleted yet: the request is still running.",
        sourceIds: [],
        messageIds: [],
      }),
    })),
  };
}
