/**
 * Deletes users, within a transaction of the caller: sends the delete messages and removes the
 * profiles. Who is found has to be deleted before the event loop gets a turn.
 */

import type { Cause } from "../../domain/cause.ts";
import type { Destination, Source } from "../../domain/configuration.ts";
import { nameWords } from "../../domain/explain.ts";
import { brief } from "../../domain/json.ts";
import {
  deletionIds,
  type DeletionId,
  type DestinationId,
  type MessageRowId,
  type ProfileId,
  type SourceId,
} from "../../domain/ids.ts";
import type { InternalMessages, LeftOut } from "../ingest/internal-messages.ts";
import type { Configuration } from "../pipeline.ts";
import type { ComputedStore, DeletedUser, ProfileStore } from "../profile-ports.ts";
import { createWeigher } from "../route/route.ts";

export type DeleteUsersOptions = {
  store: Pick<
    ProfileStore,
    "profileWithUser" | "userIdsOf" | "knownAs" | "removeProfile" | "removeRest"
  > &
    Pick<ComputedStore, "lastSentFor" | "removeLastSentFor">;
  internalMessages: InternalMessages;
  configuration: Pick<Configuration, "source" | "destinationsOf">;
  /** Whether an audience or computed trait has sent the user's values to the destination. */
  hasSentTo: (source: SourceId, userId: string, to: DestinationId) => boolean;
  /** Drops what audiences and computed traits are still to send to these users. */
  forget: (userIds: ReadonlySet<string>) => void;
};

/**
 * A source that sends a delete, the destinations that get it from there, and those that know nothing
 * of the user.
 */
type Sending = {
  source: Source;
  to: ReadonlySet<DestinationId>;
  notSent: ReadonlySet<DestinationId>;
};

export type FoundUser = {
  userId: string;
  profile: ProfileId | null;
  /** Whether the profile is removed with this user: with the last one that the request names. */
  isLast: boolean;
  /** UserIds of the profile that the request does not name: to receivers, other users. */
  others: readonly string[];
  sending: Sending[];
  messageIds: MessageRowId[];
  /** What it takes to route and write the delete messages. */
  steps: number;
};

type PlaceInProfile = Pick<FoundUser, "isLast" | "others">;

/** Of a delete message, with a long userId. */
const bytesOfDelete = 200;

export function createDeleteUsers({
  store,
  internalMessages,
  configuration,
  hasSentTo,
  forget,
}: DeleteUsersOptions) {
  const connectedTo = ({ id }: Source): readonly Destination[] => configuration.destinationsOf(id);

  function find(userId: string, { isLast, others }: PlaceInProfile): FoundUser {
    const profile = store.profileWithUser(userId);
    const sources = (profile === null ? [] : store.knownAs(profile).sources)
      .flatMap((id) => configuration.source(id) ?? [])
      .filter(({ kind }) => kind !== "audience");
    const sending = sendingBy(userId, sources, audiencesThatSent(userId));
    const steps = sending.reduce(
      (sum, { source }) => sum + createWeigher(source, connectedTo(source))(bytesOfDelete),
      0,
    );
    return { userId, profile, isLast, others, sending, messageIds: [], steps };
  }

  /** Audiences and computed traits of which receivers have, or had, a value of the user. */
  function audiencesThatSent(userId: string): Source[] {
    return store
      .lastSentFor(userId)
      .filter(({ value, since }) => value !== null || since > 0)
      .flatMap(({ sourceId }) => configuration.source(sourceId) ?? []);
  }

  /**
   * Every source that knows the user, with all of its enabled destinations. Audiences only for
   * destinations that nobody else reaches, each once, and that they have sent a value of the user.
   */
  function sendingBy(
    userId: string,
    sources: readonly Source[],
    audiences: readonly Source[],
  ): Sending[] {
    const reached = new Set<DestinationId>();
    return [...sources, ...audiences].flatMap((source) => {
      const enabled = connectedTo(source).flatMap(({ id, enabled: isOn }) => (isOn ? [id] : []));
      const left = source.kind === "audience" ? enabled.filter((id) => !reached.has(id)) : enabled;
      const notSent = new Set(
        source.kind === "audience" ? left.filter((id) => !hasSentTo(source.id, userId, id)) : [],
      );
      const to = new Set(left.filter((id) => !notSent.has(id)));
      for (const id of to) reached.add(id);
      return to.size === 0 ? [] : [{ source, to, notSent }];
    });
  }

  /** Destinations of an audience that get the delete from elsewhere, or not at all. */
  function leftOutOf({ source, to, notSent }: Sending): LeftOut {
    if (source.kind !== "audience") return new Map();
    return new Map(
      connectedTo(source)
        .filter(({ id, enabled }) => enabled && !to.has(id))
        .map(({ id, name }) => [
          id,
          notSent.has(id)
            ? {
                reason: "first_sync_pending",
                detail: `The first sync of ${source.name} with ${name} has not reached this user, so ${name} has no value to delete.`,
              }
            : {
                reason: "deleted_by_another_source",
                detail: `${name} gets the delete of this user from another source.`,
              },
        ]),
    );
  }

  /**
   * Sends one delete message for each user and each source that knows the user and has an enabled
   * destination.
   */
  function send(users: readonly FoundUser[], deletionId: DeletionId): void {
    const bySource = new Map<Source, { user: FoundUser; sending: Sending }[]>();
    for (const user of users)
      for (const sending of user.sending) {
        const others = bySource.get(sending.source) ?? [];
        bySource.set(sending.source, [...others, { user, sending }]);
      }
    if (bySource.size === 0) return;
    const batches = [...bySource].map(([source, all]) => ({
      source,
      messages: all.map(({ user: { userId }, sending }) => ({
        message: { type: "delete" as const, userId },
        cause: causeOf(userId, sending, deletionId),
        leftOut: leftOutOf(sending),
      })),
    }));
    const committed = internalMessages.commit(batches);
    for (const [batch, all] of [...bySource.values()].entries()) {
      for (const [place, { user }] of all.entries()) {
        const message = committed[batch]?.[place];
        if (message !== undefined) user.messageIds.push(message.id);
      }
    }
  }

  return {
    find,
    /**
     * All userIds of the user's profile. The current one comes last: while it is left, audiences
     * evaluate the profile.
     */
    userIdsWith(userId: string): string[] {
      const profile = store.profileWithUser(userId);
      if (profile === null) return [userId];
      const { userId: current } = store.knownAs(profile);
      const former = store.userIdsOf(profile).filter((other) => other !== current);
      return current === null ? former : [...former, current];
    },
    delete(found: readonly FoundUser[], deletionId: DeletionId, sends: boolean): DeletedUser[] {
      if (sends) send(found, deletionId);
      const gone = new Set(found.map(({ userId }) => userId));
      for (const { userId, profile, isLast } of found) {
        store.removeLastSentFor(userId);
        if (profile === null || !isLast) continue;
        for (const each of store.userIdsOf(profile)) {
          store.removeLastSentFor(each);
          gone.add(each);
        }
        store.removeProfile(profile);
      }
      forget(gone);
      return found.map((user) => ({
        userId: user.userId,
        known: user.profile !== null,
        detail: sentence(user, sends),
        sourceIds: sends ? user.sending.map(({ source }) => source.id) : [],
        messageIds: user.messageIds,
      }));
    },
  };
}

function causeOf(userId: string, { source }: Sending, deletionId: DeletionId): Cause {
  const user = nameWords(userId);
  const name = nameWords(source.name);
  const why =
    source.kind === "audience"
      ? `and the receiver knows the user only from the audience ${name}`
      : `and ${name} knows the user`;
  return {
    reason: "deletion",
    sentence: `${user} was deleted by the request ${deletionIds.format(deletionId)}, ${why}.`,
    deletionId,
  };
}

/** UserIds in a sentence: a profile may have thousands. */
const maxOthers = 20;

function sentence({ profile, sending, others }: FoundUser, sends: boolean): string {
  const names = sending.map(({ source }) =>
    source.kind === "audience" ? `the audience ${source.name}` : source.name,
  );
  if (profile === null) {
    return names.length === 0 || !sends
      ? "No profile has this userId, so there was nothing to delete."
      : `No profile has this userId. A delete message was created for ${listed(names)}.`;
  }
  const sent = !sends
    ? "No delete message was created, because the request says so."
    : names.length === 0
      ? "No source that knows the user has an enabled destination, so no delete message was created."
      : `A delete message was created for ${listed(names)}.`;
  const also = others.slice(0, maxOthers).map((other) => brief(other));
  if (others.length > maxOthers) also.push(`${others.length - maxOthers} more`);
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
