/** Profiles, audiences, computed traits, deletion requests and suppressions. */

import { deletionIds, profileIds } from "../../domain/ids.ts";
import type { JsonObject } from "../../domain/json.ts";
import { isProblem, notFound, type Problem } from "../../domain/problem.ts";
import type { Pipeline } from "../../engine/pipeline.ts";
import type { DeletionView, ProfileView } from "../../engine/profile-pipeline.ts";
import type { ProfileDetails } from "../../engine/profile-ports.ts";
import type { HandlersOf } from "../../contract/contract.ts";
import { firstWithin, maxAnswerBytes, withinAnswer } from "./answer-size.ts";

export function profileHandlers({ profiles }: Pipeline): HandlersOf<"profiles"> {
  return {
    "profiles.list": async ({ limit, cursor = null, ...filter }) => {
      const page = await profiles.list(filter, limit, cursor);
      if (isProblem(page)) return page;
      const items = page.items.map(withAudiences);
      return withinAnswer({ ...page, items }, ({ id, lastSeenAt }) => ({ id, lastSeenAt }));
    },
    "profiles.get": ({ id }) => {
      const profile = profiles.get(id);
      return profile === undefined
        ? notFound("profile", profileIds.format(id))
        : profileWithin(withAudiences(profile));
    },
    "profiles.seen": () => profiles.seenNames(),
  };
}

/** Of each list of a profile: clients choose how much a user has. Six of them are an answer. */
const bytesOfList = 120_000;

type Lists = Pick<
  ProfileDetails,
  "traits" | "traitList" | "eventList" | "groups" | "identities" | "history"
>;

function profileWithin<Profile extends Lists>(profile: Profile): Profile {
  const first = <Item>(items: readonly Item[]): Item[] =>
    firstWithin(items, undefined, bytesOfList);
  return {
    ...profile,
    traits: Object.fromEntries(first(Object.entries(profile.traits))),
    traitList: first(profile.traitList),
    eventList: first(profile.eventList),
    groups: first(profile.groups),
    identities: first(profile.identities),
    history: first(profile.history.toReversed()).toReversed(),
  };
}

function withAudiences<Profile extends ProfileView>(profile: Profile) {
  return { ...profile, audiences: profile.memberships.map(({ key }) => key) };
}

export function audienceHandlers({ audiences }: Pipeline): HandlersOf<"audiences"> {
  const shown = <One extends Listed>(audience: One | Problem): One | Problem =>
    isProblem(audience) ? audience : (listsWithin([audience])[0] as One);
  return {
    "audiences.list": () => ({ items: listsWithin(audiences.list()) }),
    "audiences.create": async (draft) => shown(await audiences.create(draft)),
    "audiences.get": ({ id }) => shown(audiences.get(id)),
    "audiences.update": async ({ id, ...changes }) => shown(await audiences.update(id, changes)),
    "audiences.delete": async ({ id }) => (await audiences.delete(id)) ?? { id },
    "audiences.sync": ({ id }) => audiences.sync(id),
    "audiences.cancelSync": ({ id }) => shown(audiences.cancelSync(id)),
    "audiences.changes": async ({ id, sample }) => withSample(await audiences.changes(id, sample)),
    "audiences.preview": async ({ rule, members = [], sample }) =>
      withSample(await audiences.preview(rule === undefined ? { members } : { rule }, sample)),
    "audiences.explain": async ({ rule, userId }) => {
      const explained = await audiences.explain(rule, userId);
      return isProblem(explained) ? explained : { ...explained, userId };
    },
  };
}

/** Of the traits of each of a hundred users. */
const bytesOfSampled = 6000;

type Sampled = { sample: { traits: JsonObject }[] };

function withSample<Found extends Sampled>(found: Found | Problem): Found | Problem {
  if (isProblem(found)) return found;
  const first = (traits: JsonObject): JsonObject =>
    Object.fromEntries(firstWithin(Object.entries(traits), undefined, bytesOfSampled));
  const sample = found.sample.map((user) => ({ ...user, traits: first(user.traits) }));
  return { ...found, sample };
}

type Listed = { members: string[] | null };

/** A list is replaced when it changes, never written to. */
const listSizes = new WeakMap<readonly string[], number>();

function sizeOfList(members: readonly string[]): number {
  const size = listSizes.get(members) ?? Buffer.byteLength(JSON.stringify(members));
  listSizes.set(members, size);
  return size;
}

/** The members of fixed lists as long as an answer has room for them. */
function listsWithin<One extends Listed>(audiences: readonly One[]): One[] {
  const others = audiences.map(({ members: _, ...rest }) => rest);
  let left = maxAnswerBytes - Buffer.byteLength(JSON.stringify(others));
  return audiences.map((audience) => {
    const { members } = audience;
    if (members === null) return audience;
    const size = sizeOfList(members);
    if (size > left) return { ...audience, members: null, membersLeftOut: members.length };
    left -= size;
    return audience;
  });
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
    "computedTraits.preview": async ({ computation, sample }) => {
      const found = await computedTraits.preview(computation, sample);
      return isProblem(found) ? found : { ...found, sample: firstWithin(found.sample) };
    },
  };
}

export function deletionHandlers({
  deletions,
  suppressions,
}: Pipeline): HandlersOf<"deletions" | "suppressions"> {
  return {
    "deletions.list": ({ limit, cursor = null }) => {
      const page = deletions.list(limit, cursor);
      const items = page.items.map(deletionAnswer);
      return withinAnswer({ ...page, items }, ({ id }) => id, sizeOfDeletion);
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
      withinAnswer(suppressions.list(search, limit, cursor), ({ userId }) => userId),
    "suppressions.create": ({ userIds }) => ({
      items: firstWithin(suppressions.create(userIds), sizeOfSuppression),
    }),
    "suppressions.lift": ({ userId }) => suppressions.lift(userId) ?? { userId },
  };
}

function deletionAnswer(deletion: DeletionView) {
  const users = deletion.users.map(({ userId, deleted }) => ({
    userId,
    ...(deleted ?? {
      known: false,
      detail: "Not deleted yet: the request is still running.",
      sourceIds: [],
      messageIds: [],
    }),
  }));
  return { ...deletion, users: firstWithin(users, sizeOfUser), userCount: users.length };
}

/** An id in an answer, with its quotes and its comma. */
const idBytes = 16;
const userFrame = 60;

const textBytes = (text: string): number => Buffer.byteLength(JSON.stringify(text));

type AnsweredUser = {
  userId: string;
  detail: string;
  sourceIds: readonly unknown[];
  messageIds: readonly unknown[];
};

const sizeOfUser = ({ userId, detail, sourceIds, messageIds }: AnsweredUser): number =>
  textBytes(userId) +
  textBytes(detail) +
  userFrame +
  idBytes * (sourceIds.length + messageIds.length);

const sizeOfDeletion = ({ users }: { users: readonly AnsweredUser[] }): number =>
  users.reduce((sum, user) => sum + sizeOfUser(user), 0);

const sizeOfSuppression = ({ userId }: { userId: string }): number => textBytes(userId) + 100;
