/**
 * Compares what users' values are with what receivers were told last, and tells them what differs. Called in a
 * transaction, so that a message and the note that it was sent are one commit: nobody hears of the same value twice.
 */

import { spellingOf } from "../../domain/compare.ts";
import type { Source } from "../../domain/configuration.ts";
import type { SourceId } from "../../domain/ids.ts";
import type { Json } from "../../domain/json.ts";
import type { InternalMessages } from "../ingest/internal-messages.ts";
import type { ComputedStore } from "../profile-ports.ts";
import type { Computed, Standing } from "./computed.ts";
import { identify, spaceId } from "./identify.ts";

type TellOptions = {
  store: ComputedStore;
  internalMessages: InternalMessages;
  source: (id: SourceId) => Source | undefined;
  now: () => number;
  seed: () => number;
  /** A value may change by time alone then. */
  onRecheck: (at: number) => void;
  onTold: (computed: Computed) => void;
};

/** A user and what the value is now. */
export type UserValue = Pick<Standing, "userId" | "value" | "until">;

export type Told = { entered: number; left: number };

export type Teller = ReturnType<typeof createTeller>;

export function createTeller({ store, internalMessages, source, now, seed, onRecheck, onTold }: TellOptions) {
  function space(): string {
    return store.space(() => spaceId(seed()));
  }

  /** Notes the user's standing; answers whether receivers have to hear of it. */
  function note({ row: { sourceId }, isLive }: Computed, { userId, value, until }: UserValue): boolean {
    const before = store.told(sourceId, userId);
    const differs = !same(before?.value ?? null, value);
    const recheckAt = isLive ? until : null;
    if (value === null && recheckAt === null) {
      if (before !== null) store.removeTold(sourceId, userId);
    } else if (before === null || differs || before.recheckAt !== recheckAt) {
      store.putTold({ sourceId, userId, value, since: before === null || differs ? now() : before.since, recheckAt });
      if (recheckAt !== null) onRecheck(recheckAt);
    }
    return differs;
  }

  return {
    space,
    differs: ({ row }: Computed, { userId, value }: Pick<Standing, "userId" | "value">): boolean =>
      !same(store.told(row.sourceId, userId)?.value ?? null, value),
    /** Each user at most once for each audience or computed trait. */
    tell(standings: Iterable<readonly [Computed, Iterable<UserValue>]>): Told {
      const told = { entered: 0, left: 0 };
      const batches = [...standings].flatMap(([computed, users]) => {
        const from = source(computed.row.sourceId);
        const differing = from === undefined ? [] : [...users].filter((user) => note(computed, user));
        if (from === undefined || differing.length === 0) return [];
        onTold(computed);
        for (const { value } of differing) told[value === null ? "left" : "entered"] += 1;
        return [{ source: from, messages: differing.map(({ userId, value }) => identify(computed, userId, value, space())) }];
      });
      if (batches.length > 0) internalMessages.commit(batches);
      return told;
    },
  };
}

function same(one: Json, other: Json): boolean {
  return one === other || spellingOf(one) === spellingOf(other);
}
