/**
 * Deletes users, within a transaction of the caller: sends the delete messages and removes the
 * profiles.
 */

import type { Source } from "../../domain/configuration.ts";
import type { MessageRowId } from "../../domain/ids.ts";
import type { InternalMessages } from "../ingest/internal-messages.ts";
import type { Configuration } from "../pipeline.ts";
import type { ComputedStore, DeletedUser, ProfileStore } from "../profile-ports.ts";

export type DeleteUsersOptions = {
  store: Pick<ProfileStore, "profileWithUser" | "userIdsOf" | "sourcesThatKnow" | "removeProfile"> &
    Pick<ComputedStore, "removeLastSentFor">;
  internalMessages: InternalMessages;
  configuration: Pick<Configuration, "source" | "destinations">;
};

type Found = {
  userId: string;
  known: boolean;
  others: string[];
  sources: Source[];
  messageIds: MessageRowId[];
};

export function createDeleteUsers({ store, internalMessages, configuration }: DeleteUsersOptions) {
  function find(userId: string): (Found & { profile: ReturnType<typeof store.profileWithUser> })[] {
    const profile = store.profileWithUser(userId);
    const found = {
      userId,
      profile,
      known: profile !== null,
      others: [],
      sources: [],
      messageIds: [],
    };
    if (profile === null) return [found];
    const hasReceiver = ({ id, kind }: Source): boolean =>
      kind !== "audience" &&
      configuration
        .destinations()
        .some(({ enabled, sourceIds }) => enabled && sourceIds.includes(id));
    const sources = store.sourcesThatKnow(profile).flatMap((id) => configuration.source(id) ?? []);
    const others = store.userIdsOf(profile).filter((other) => other !== userId);
    return [{ ...found, others, sources: sources.filter(hasReceiver) }];
  }

  /**
   * Sends one delete message for each user and each source that knows the user and has an enabled
   * destination.
   */
  function send(users: readonly Found[]): void {
    const bySource = new Map<Source, Found[]>();
    for (const user of users)
      for (const each of user.sources) bySource.set(each, [...(bySource.get(each) ?? []), user]);
    if (bySource.size === 0) return;
    const batches = [...bySource].map(([from, to]) => ({
      source: from,
      messages: to.map(({ userId }) => ({ type: "delete" as const, userId })),
    }));
    const committed = internalMessages.commit(batches);
    for (const [batch, to] of [...bySource.values()].entries()) {
      for (const [place, user] of to.entries()) {
        const message = committed[batch]?.[place];
        if (message !== undefined) user.messageIds.push(message.id);
      }
    }
  }

  /**
   * Users of one profile have to be in the same call, because the profile is removed with the
   * first.
   */
  return (userIds: readonly string[], sends: boolean): DeletedUser[] => {
    const found = userIds.flatMap(find);
    if (sends) send(found);
    for (const { userId, others, profile } of found) {
      for (const each of [userId, ...others]) store.removeLastSentFor(each);
      if (profile !== null) store.removeProfile(profile);
    }
    return found.map((user) => ({
      userId: user.userId,
      known: user.known,
      detail: sentence(user, userIds, sends),
      sourceIds: sends ? user.sources.map(({ id }) => id) : [],
      messageIds: user.messageIds,
    }));
  };
}

function sentence(
  { known, sources, others }: Found,
  named: readonly string[],
  sends: boolean,
): string {
  if (!known) return "No profile has this userId, so there was nothing to delete.";
  const names = sources.map(({ name }) => name);
  const sent = !sends
    ? "No delete message was created, because the request says so."
    : names.length === 0
      ? "No source that knows the user has an enabled destination, so no delete message was created."
      : `A delete message was created for ${listed(names)}.`;
  const also = others
    .filter((other) => !named.includes(other))
    .map((other) => JSON.stringify(other));
  const rest =
    also.length === 0
      ? ""
      : ` The profile also had the userId ${listed(also)}; to receivers that is another user, which the request did not name.`;
  return `The profile was removed. ${sent}${rest}`;
}

function listed(names: readonly string[]): string {
  const last = names.at(-1) ?? "";
  return names.length < 2 ? last : `${names.slice(0, -1).join(", ")} and ${last}`;
}
