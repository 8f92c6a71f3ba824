/**
 * Profiles with audiences and computed traits on a store in memory, which fails when a test says
 * so.
 */

import { onTestFinished } from "vitest";
import type { DestinationId } from "../../domain/ids.ts";
import { createSteppedClock } from "../../../test/support/stepped-clock.ts";
import { openTestStore, request, type MessageDraft } from "../../store/store.fixture.ts";
import { createChangeFeed } from "../changes.ts";
import { Activity, type Origin } from "../clock/activity.ts";
import {
  createInternalMessages,
  type CausedMessage,
  type InternalMessages,
} from "../ingest/internal-messages.ts";
import type { Audience } from "../profile-ports.ts";
import { Follower } from "../profiles/follower.ts";
import { createComputations } from "./computations.ts";
import { openConfiguration } from "../configuration.fixture.ts";

export const rule = { event: "Bought" };

export const bought = (userId: string) => ({
  type: "track" as const,
  userId,
  event: "Bought",
  text: JSON.stringify({ type: "track", userId, event: "Bought" }),
});

/** Profiles and audiences on a store that fails once, at the chosen write of a last sent value. */
export function startFailing() {
  const { db, store: opened } = openTestStore();
  /** The audiences as each commit left them. */
  const committed: Audience[][] = [];
  const deliveries: number[] = [];
  const store: typeof opened = {
    ...opened,
    atomically(write) {
      const isOutermost = !db.inTransaction;
      const before = opened.newestRows().delivery;
      const result = opened.atomically(write);
      if (isOutermost) {
        committed.push(opened.audiences());
        deliveries.push(opened.newestRows().delivery - before);
      }
      return result;
    },
  };
  let failsAt = Infinity;
  db.function("hookyard_sent", () => {
    failsAt -= 1;
    if (failsAt === 0) throw new Error("the store failed in the middle");
    return 0;
  });
  db.exec(
    "CREATE TRIGGER sent_in_the_middle AFTER INSERT ON computed_values BEGIN SELECT hookyard_sent(); END",
  );
  const clock = createSteppedClock();
  const activity = new Activity();
  const changes = createChangeFeed();
  const reported: unknown[] = [];
  const suppressed = new Set<string>();
  const parts = {
    store,
    clock,
    activity,
    changes,
    isSuppressed: (userId: string) => suppressed.has(userId),
    report: (error: unknown) => void reported.push(error),
  };
  const configuration = openConfiguration(parts);
  configuration.createSource({ name: "Shop" });
  const own = createInternalMessages({ ...parts, configuration, onCommitted: () => {} });
  const sent: CausedMessage[] = [];
  const internalMessages: InternalMessages = {
    commit(batches) {
      sent.push(...batches.flatMap(({ messages }) => messages));
      return own.commit(batches);
    },
  };
  const create = () =>
    createComputations({
      ...parts,
      configuration,
      internalMessages,
      caughtUp: () => profiles.caughtUp(),
    });
  const computations = create();
  const profiles: Follower = new Follower({
    ...parts,
    onApplied: (applied) => computations.onApplied(applied),
    stepsOf: (effects) => computations.stepsOf(effects),
    onFailed: () => computations.onFailed(),
  });
  profiles.start();
  computations.start();
  onTestFinished(() => {
    computations.stop();
    profiles.stop();
    changes.stop();
  });
  return {
    ...computations,
    db,
    store,
    clock,
    activity,
    changes,
    configuration,
    internalMessages,
    reported,
    suppressed,
    /** What audiences and computed traits have sent since the last look. */
    sent: () => sent.splice(0),
    caughtUp: () => profiles.caughtUp(),
    /** An event of each of the users, or what they do instead. */
    send(
      users: readonly string[],
      what: (userId: string) => MessageDraft = bought,
      origin: Origin = "own",
    ): Promise<void> {
      store.commit([request(users.map(what), { at: clock.now() })]);
      profiles.kick(origin);
      return profiles.caughtUp();
    },
    /** As before a start. */
    unstarted: create,
    /** What a start finds in the store after a stop. */
    restarted() {
      computations.stop();
      const again = create();
      again.start();
      onTestFinished(() => again.stop());
      return again;
    },
    failAt(nth: number): void {
      failsAt = nth;
    },
    /** UserIds of the messages from audiences, and those that are recorded as sent. */
    said: () =>
      db.prepare("SELECT user_id FROM messages WHERE source_id > 1 ORDER BY user_id").pluck().all(),
    noted: () =>
      db
        .prepare("SELECT user_id FROM computed_values WHERE value <> 'null' ORDER BY user_id")
        .pluck()
        .all(),
    committed,
    /** How many each commit created. */
    deliveries,
    events: () => db.prepare("SELECT count(*) FROM profile_events").pluck().get(),
  };
}

/** A new destination, which no source is connected to. */
export function connect(
  app: Pick<ReturnType<typeof startFailing>, "configuration">,
  name: string,
  enabled = true,
): DestinationId {
  const created = app.configuration.createDestination({
    ...{ name, enabled, sourceIds: [], webhooks: [{ url: "http://127.0.0.1/", headers: {} }] },
  });
  if (!("id" in created)) throw new Error(created.message);
  return created.id;
}
