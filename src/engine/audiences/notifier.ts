/**
 * Compares the current values of users with the values last sent to receivers, and sends an
 * identify for each that differs. Called in a transaction, so that a message and the record that it
 * was sent are one commit: no value is sent twice.
 */

import { spellingOf } from "../../domain/evaluate.ts";
import type { Source } from "../../domain/configuration.ts";
import type { SourceId } from "../../domain/ids.ts";
import type { Json } from "../../domain/json.ts";
import { drawUnit } from "../../domain/random.ts";
import type { InternalMessage, InternalMessages } from "../ingest/internal-messages.ts";
import type { ComputedStore } from "../profile-ports.ts";
import type { Computed, CurrentValue } from "./registry.ts";

type NotifierOptions = {
  store: ComputedStore;
  internalMessages: InternalMessages;
  source: (id: SourceId) => Source | undefined;
  now: () => number;
  seed: () => number;
  /** A value may change by time alone at `at`. */
  onRecheck: (at: number) => void;
  onNotified: (computed: Computed) => void;
};

export type UserValue = Pick<CurrentValue, "userId" | "value" | "until">;

export type SyncCounts = { entered: number; left: number };

export type Notifier = ReturnType<typeof createNotifier>;

export function createNotifier({
  store,
  internalMessages,
  source,
  now,
  seed,
  onRecheck,
  onNotified,
}: NotifierOptions) {
  function space(): string {
    return store.space(() => spaceId(seed()));
  }

  /** Records the user's value as sent; returns whether it has to be sent. */
  function record(
    { row: { sourceId }, isLive }: Computed,
    { userId, value, until }: UserValue,
  ): boolean {
    const before = store.lastSent(sourceId, userId);
    const differs = !isSame(before?.value ?? null, value);
    const recheckAt = isLive ? until : null;
    if (value === null && recheckAt === null) {
      if (before !== null) store.removeLastSent(sourceId, userId);
    } else if (before === null || differs || before.recheckAt !== recheckAt) {
      const since = before === null || differs ? now() : before.since;
      store.putLastSent({ sourceId, userId, value, since, recheckAt });
      if (recheckAt !== null) onRecheck(recheckAt);
    }
    return differs;
  }

  return {
    space,
    differs: (
      { row }: Computed,
      { userId, value }: Pick<CurrentValue, "userId" | "value">,
    ): boolean => !isSame(store.lastSent(row.sourceId, userId)?.value ?? null, value),
    /** Takes each user at most once for each audience or computed trait. */
    notify(values: Iterable<readonly [Computed, Iterable<UserValue>]>): SyncCounts {
      const counts = { entered: 0, left: 0 };
      const batches = [...values].flatMap(([computed, users]) => {
        const from = source(computed.row.sourceId);
        const differing =
          from === undefined ? [] : [...users].filter((user) => record(computed, user));
        if (from === undefined || differing.length === 0) return [];
        onNotified(computed);
        for (const { value } of differing) counts[value === null ? "left" : "entered"] += 1;
        const messages = differing.map(({ userId, value }) =>
          identify(computed, userId, value, space()),
        );
        return [{ source: from, messages }];
      });
      if (batches.length > 0) internalMessages.commit(batches);
      return counts;
    },
  };
}

function isSame(one: Json, other: Json): boolean {
  return one === other || spellingOf(one) === spellingOf(other);
}

/** The message that sends a user's value to receivers. */
export function identify(
  { kind, id, row }: Computed,
  userId: string,
  value: Json,
  space: string,
): InternalMessage {
  const personas = {
    computation_class: kind,
    computation_key: row.key,
    computation_id: id,
    namespace: space,
    space_id: space,
  };
  const trait = kind === "audience" ? value === true : value;
  return { type: "identify", userId, traits: { [row.key]: trait }, context: { personas } };
}

const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** Separates the draws of the space's id from other draws with the same seed. */
const drawsOfSpace = 0x59;

function spaceId(seed: number): string {
  const draw = (_: unknown, place: number): string =>
    letters[Math.floor(drawUnit(seed, drawsOfSpace, place) * letters.length)] ?? "";
  return `spa_${Array.from({ length: 27 }, draw).join("")}`;
}
