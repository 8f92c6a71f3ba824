/**
 * Compares the current values of users with the values last sent to receivers, and sends those that
 * differ, as identify or track calls, one for each identifier of the user. Called in a transaction,
 * so that a message and the record that it was sent are one commit: no value is sent twice.
 */

import type { Cause } from "../../domain/cause.ts";
import type { AudienceCalls, Destination, Source } from "../../domain/configuration.ts";
import { compareText, spellingOf } from "../../domain/evaluate.ts";
import type { DestinationId, SourceId } from "../../domain/ids.ts";
import type { Json, JsonObject } from "../../domain/json.ts";
import { drawUnit } from "../../domain/random.ts";
import type { Activity, Origin } from "../clock/activity.ts";
import type {
  CausedMessage,
  InternalMessage,
  InternalMessages,
} from "../ingest/internal-messages.ts";
import { createWeigher, integrationsFor, stepsPerTurn } from "../route/route.ts";
import type { ComputedStore, LastSent, Missed, ProfileStore } from "../profile-ports.ts";
import type { Computed, CurrentValue, UserValue, CauseOf } from "./registry.ts";

type NotifierOptions = {
  store: ComputedStore & Pick<ProfileStore, "emailsOf">;
  internalMessages: InternalMessages;
  configuration: {
    source(id: SourceId): Source | undefined;
    destinationsOf(id: SourceId): readonly Destination[];
    settings(): { seed: number };
  };
  isSuppressed: (userId: string) => boolean;
  now: () => number;
  activity: Pick<Activity, "origin">;
  /** A value may change by time alone at `at`. */
  onRecheck: (at: number) => void;
  /** With what was sent now. */
  onNotified: (computed: Computed, counts: SyncCounts) => void;
  /** With what disabled destinations were not sent now. */
  onMissed: (computed: Computed, missed: readonly Missed[]) => void;
};

/** A value to send again, to one more address of the user. */
export type AddedEmail = { userId: string; email: string; value: Json };

export type SyncCounts = { entered: number; left: number };

export type Notifier = ReturnType<typeof createNotifier>;

type Call = Exclude<AudienceCalls, "both">;

/** For an estimate: most users have one email address, and most calls are smaller than this. */
const addressesOfUser = 2;
const bytesOfCall = 600;

export function createNotifier({
  store,
  internalMessages,
  configuration,
  isSuppressed,
  now,
  activity,
  onRecheck,
  onNotified,
  onMissed,
}: NotifierOptions) {
  const space = (): string => store.space(() => spaceId(configuration.settings().seed));

  /**
   * Values that an event may have changed, until they are evaluated, and whether the event is an
   * arrival.
   */
  const postponed = new Map<string, Origin>();
  const keyOf = ({ row }: Computed, userId: string): string => `${row.sourceId} ${userId}`;

  const connectedTo = ({ row }: Computed): readonly Destination[] =>
    configuration.destinationsOf(row.sourceId);

  /**
   * Records the user's value as sent; returns the one before if it has to be sent. The row of a user
   * who left stays, because receivers still know the user; `since` is 0 while nothing was sent. Of a
   * suppressed user nothing is sent, so the value before stays, and is compared again later.
   */
  function record(
    { row: { sourceId }, isLive }: Computed,
    { userId, value: current, until }: UserValue,
  ): { before: Json } | null {
    const before = store.lastSent(sourceId, userId);
    const value = isSuppressed(userId) ? (before?.value ?? null) : current;
    const differs = !isSame(before?.value ?? null, value);
    const recheckAt = isLive ? until : null;
    if (before === null && value === null && recheckAt === null) return null;
    if (before === null || differs || before.recheckAt !== recheckAt) {
      const since = differs ? now() : (before?.since ?? 0);
      store.putLastSent({ sourceId, userId, value, since, recheckAt });
      if (recheckAt !== null) onRecheck(recheckAt);
    }
    return differs ? { before: before?.value ?? null } : null;
  }

  /** The calls that carry values, each with those who do not get it. */
  function createCaller(computed: Computed, only?: DestinationId) {
    const connected = connectedTo(computed);
    const integrations = integrationsFor(connected);
    const personas = { space: space(), integrations };
    const wanted = calls.flatMap((call) => {
      const leftOut = new Map(
        connected.flatMap((destination) => leftOutOf(destination, call, computed, only)),
      );
      const isWanted =
        connected.length === 0 ? call === "identify" : leftOut.size < connected.length;
      return isWanted ? [{ call, leftOut }] : [];
    });
    return (userId: string, value: Json, emails: readonly (string | null)[], cause: Cause) =>
      wanted.flatMap(({ call, leftOut: others }): CausedMessage[] => {
        const late = only === undefined ? notReached(userId, computed, connected) : [];
        const leftOut = late.length === 0 ? others : new Map([...others, ...late]);
        if (connected.length > 0 && leftOut.size === connected.length) return [];
        return emails.map((email) => ({
          message: messageOf(computed, { call, userId, email, value }, personas),
          cause: { ...cause, computedId: computed.id },
          leftOut,
        }));
      });
  }

  function reachedEmails({ row: { skipped = [] } }: Computed, userId: string): string[] {
    const emails = store.emailsOf(userId);
    if (skipped.length === 0) return emails;
    return emails.filter(
      (email) =>
        !skipped.some((each) => each.userId === userId && "email" in each && each.email === email),
    );
  }

  function commit(batches: readonly { computed: Computed; messages: CausedMessage[] }[]): void {
    const sent = batches.flatMap(({ computed, messages }) => {
      const source = configuration.source(computed.row.sourceId);
      return source === undefined || messages.length === 0 ? [] : [{ source, messages }];
    });
    if (sent.length > 0) internalMessages.commit(sent);
  }

  return {
    ...weighingUsers(connectedTo),
    differs: (
      { row }: Computed,
      { userId, value }: Pick<CurrentValue, "userId" | "value">,
    ): boolean =>
      !isSuppressed(userId) && !isSame(store.lastSent(row.sourceId, userId)?.value ?? null, value),
    /** What a change would send to a user, the userId's first call. */
    sample(computed: Computed, userId: string, value: Json): InternalMessage {
      const call = calls.find((one) => connectedTo(computed).some((to) => gets(to, one)));
      return messageOf(
        computed,
        { call: call ?? "identify", userId, email: null, value },
        { space: space(), integrations: integrationsFor(connectedTo(computed)) },
      );
    },
    /** Takes each user at most once for each audience or computed trait. */
    notify(values: Iterable<readonly [Computed, Iterable<UserValue>]>, causeOf: CauseOf): void {
      const batches = [...values].flatMap(([computed, users]) => {
        if (configuration.source(computed.row.sourceId) === undefined) return [];
        const callsFor = createCaller(computed);
        const disabled = connectedTo(computed).filter(({ enabled }) => !enabled);
        const missed: Missed[] = [];
        const counts = { entered: 0, left: 0 };
        const messages = [...users].flatMap((user) => {
          const { userId, value, until } = user;
          const changed = record(computed, user);
          const cause = changed && causeOf(computed, user, changed.before);
          // Otherwise it is evaluated again at once.
          if (until === null || until > now()) postponed.delete(keyOf(computed, userId));
          if (cause === null) return [];
          counts[value === null ? "left" : "entered"] += 1;
          for (const { id: destinationId } of disabled)
            if (missingOf(computed.row, userId, destinationId) === null)
              missed.push({ userId, destinationId, had: changed?.before ?? null });
          return callsFor(userId, value, [null, ...reachedEmails(computed, userId)], cause);
        });
        if (counts.entered + counts.left > 0) onNotified(computed, counts);
        if (missed.length > 0) onMissed(computed, missed);
        return [{ computed, messages }];
      });
      commit(batches);
    },
    /** The user's value may have changed, and takes too long to evaluate now. */
    postpone(computed: Computed, userId: string): void {
      const key = keyOf(computed, userId);
      postponed.set(key, postponed.get(key) === "own" ? "own" : activity.origin);
      const { sourceId } = computed.row;
      const before = store.lastSent(sourceId, userId) ?? {
        sourceId,
        userId,
        value: null,
        since: 0,
      };
      store.putLastSent({ ...before, recheckAt: now() });
      onRecheck(now());
    },
    isPostponed: (computed: Computed, userId: string): boolean =>
      postponed.has(keyOf(computed, userId)),
    /** Whether all that is due of it by `at` was postponed by arrivals. */
    isDueByArrivals(computed: Computed, at: number): boolean {
      const due = store.dueForRecheck(computed.row.sourceId, at, postponed.size + 1);
      return due.every(({ userId }) => postponed.get(keyOf(computed, userId)) === "arrival");
    },
    sendToEmails(computed: Computed, added: readonly AddedEmail[], causeOf: CauseOf): void {
      const callsFor = createCaller(computed);
      const messages = added.flatMap(({ userId, email, value }) => {
        if (isSuppressed(userId)) return [];
        const cause = causeOf(computed, { userId, value, until: null }, value);
        return callsFor(userId, value, [email], cause);
      });
      commit([{ computed, messages }]);
    },
    /** Sends current values to one destination that does not have them. */
    sendTo(
      computed: Computed,
      destinationId: DestinationId,
      values: readonly LastSent[],
      causeOf: CauseOf,
    ): void {
      const callsFor = createCaller(computed, destinationId);
      const messages = values.flatMap(({ userId, value }) => {
        if (isSuppressed(userId)) return [];
        const cause = causeOf(computed, { userId, value, until: null }, value);
        return callsFor(userId, value, [null, ...store.emailsOf(userId)], cause);
      });
      commit([{ computed, messages }]);
    },
  };
}

/** What it costs to notify receivers of a user's value. */
function weighingUsers(connectedTo: (computed: Computed) => readonly Destination[]) {
  /** By the connected destinations, which are the same list until the configuration changes. */
  const stepsOfLists = new WeakMap<readonly Destination[], number>();

  /** An estimate of what it takes to route and write the calls that send a user's value. */
  function stepsOfUser(computed: Computed): number {
    const connected = connectedTo(computed);
    let steps = stepsOfLists.get(connected);
    if (steps === undefined) {
      const sent = calls.filter((call) => connected.some((destination) => gets(destination, call)));
      const weigh = createWeigher({ id: computed.row.sourceId }, connected);
      steps = Math.max(1, sent.length) * addressesOfUser * weigh(bytesOfCall);
      stepsOfLists.set(connected, steps);
    }
    return steps;
  }

  return {
    stepsOfUser,
    /** Users whose values one turn of the event loop sends. */
    usersPerTurn: (computed: Computed, most: number): number =>
      Math.max(1, Math.min(most, Math.floor(stepsPerTurn / stepsOfUser(computed)))),
  };
}

const calls: readonly Call[] = ["identify", "track"];

function gets({ audienceCalls = "identify" }: Destination, call: Call): boolean {
  return audienceCalls === "both" || audienceCalls === call;
}

type LeftOutEntry = [DestinationId, { reason: string; detail: string }];

function leftOutOf(
  destination: Destination,
  call: Call,
  { row }: Computed,
  only: DestinationId | undefined,
): LeftOutEntry[] {
  const { id, name, audienceCalls = "identify" } = destination;
  if (only !== undefined && id !== only) {
    const detail = `The message is part of the first sync of a destination that was connected to ${row.name} later. ${name} already has this value.`;
    return [[id, { reason: "first_sync_of_another", detail }]];
  }
  if (gets(destination, call)) return [];
  const detail = `${name} gets the values of audiences and computed traits as ${audienceCalls} calls, and this is ${call === "track" ? "a track" : "an identify"}.`;
  return [[id, { reason: "other_call", detail }]];
}

/**
 * First syncs that have not reached the user: they will send the value that the user has then. And
 * destinations that missed a value and are enabled.
 */
function notReached(
  userId: string,
  { row }: Computed,
  connected: readonly Destination[],
): LeftOutEntry[] {
  const { firstSyncs = [], skipped = [] } = row;
  if (firstSyncs.length === 0 && skipped.length === 0) return [];
  return connected.flatMap(({ id, name, enabled }): LeftOutEntry[] => {
    const missing = missingOf(row, userId, id);
    if (missing === null || (missing === "missed" && !enabled)) return [];
    const first = `The first sync of ${row.name} with ${name}`;
    const detail = {
      later: `${first} has not reached this user. It sends the value that the user has then.`,
      cancelled: `${first} was cancelled before it reached this user. The next manual sync sends the value that the user has then.`,
      skipped: `${first} skipped this user, who was suppressed. The user's current value is sent next.`,
      missed: `${name} was disabled when the value of this user changed. The user's current value is sent next.`,
    }[missing];
    return [[id, { reason: "first_sync_pending", detail }]];
  });
}

/**
 * Why a destination was sent no value of the user so far, or missed a change of it; null when it has
 * those of its time.
 */
export function missingOf(
  { firstSyncs = [], skipped = [] }: Computed["row"],
  userId: string,
  to: DestinationId,
): "later" | "cancelled" | "skipped" | "missed" | null {
  const first = firstSyncs.find(({ destinationId }) => destinationId === to);
  if (first !== undefined && (first.after === "" || compareText(userId, first.after) > 0))
    return first.cancelled === undefined ? "later" : "cancelled";
  const found = skipped.find(
    (each) => each.userId === userId && "destinationId" in each && each.destinationId === to,
  );
  if (found === undefined) return null;
  return "had" in found ? "missed" : "skipped";
}

function isSame(one: Json, other: Json): boolean {
  return one === other || spellingOf(one) === spellingOf(other);
}

type Sent = { call: Call; userId: string; email: string | null; value: Json };

/** The message that sends a user's value to receivers, by the userId or by an email address. */
function messageOf(
  { kind, id, row }: Computed,
  { call, userId, email, value: current }: Sent,
  { space, integrations }: { space: string; integrations: JsonObject },
): InternalMessage {
  const personas = {
    computation_class: kind === "audience" ? "audience" : "trait",
    computation_key: row.key,
    computation_id: id,
    namespace: space,
    space_id: space,
  };
  const value = kind === "audience" ? current === true : current;
  const address: JsonObject = email === null ? {} : { email };
  if (call === "identify") {
    const traits = { [row.key]: value, ...(row.key === "email" ? {} : address) };
    return { type: "identify", userId, traits, context: { personas }, integrations };
  }
  const key = kind === "audience" ? "audience_key" : "trait_key";
  return {
    type: "track",
    userId,
    event:
      kind === "computed_trait" ? "Trait Computed" : `Audience ${value ? "Entered" : "Exited"}`,
    properties: { [key]: row.key, [row.key]: value },
    context: { personas, ...(email === null ? {} : { traits: address }) },
    integrations,
  };
}

const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** Separates the draws of the space's id from other draws with the same seed. */
const drawsOfSpace = 0x59;

function spaceId(seed: number): string {
  const draw = (_: unknown, place: number): string =>
    letters[Math.floor(drawUnit(seed, drawsOfSpace, place) * letters.length)] ?? "";
  return `spa_${Array.from({ length: 27 }, draw).join("")}`;
}
