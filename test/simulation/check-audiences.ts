/**
 * Audiences and computed traits: what was sent of a user alternates, and adds up to what the
 * messages make of the user.
 */

import type { Database } from "better-sqlite3";
import { messageStates, messageTypes } from "../../src/domain/states.ts";
import { formatTimestamp } from "../../src/domain/timestamp.ts";
import type { SentMessage } from "../support/people.ts";
import type { DestinationId } from "../../src/domain/ids.ts";
import type { Skipped } from "../../src/engine/profile-ports.ts";
import { Broken, expect, type Extra, type MessageRow } from "./broken.ts";
import { destinationOf, heardBy, sourceOf, type Heard } from "./model.ts";
import { without, type Message } from "./routing.ts";
import type { Simulation } from "./simulation.ts";

const ignored = new Set([messageStates.indexOf("rejected"), messageStates.indexOf("duplicate")]);

export function checkAudiences(sim: Simulation, db: Database, fresh: readonly MessageRow[]): void {
  const { model } = sim;
  if (model.retention !== null) return;
  follow(sim, db, fresh);
  if (model.peopleUnknown) return;
  if (sim.disk.failure !== null || !model.settled) return;
  const { audiences, computedTraits } = sim.app.pipeline;
  for (const audience of audiences.list()) {
    const at = audience.sync === "each-event" ? model.now : (audience.lastSync?.at ?? null);
    for (const [by, sent] of valuesOf(sim, audience, false)) {
      const before = model.synced.get(by);
      model.synced.set(by, { at, sent });
      const to = `${audience.name} to ${by}`;
      if (audience.rule === null || audience.syncing !== null) model.synced.delete(by);
      else if (
        at !== null &&
        (audience.sync === "each-event" ||
          (before !== undefined && before.at !== at && !model.moved))
      ) {
        const members = Object.fromEntries(
          model.people.members(audience.rule, at).map((userId) => [userId, true]),
        );
        expect(`what was sent of the audience ${to} is its members`, members, sent);
      } else if (before?.at === at && !model.forgot)
        expect(`nothing is sent of the audience ${to} without a sync`, before.sent, sent);
    }
  }
  model.moved = false;
  model.forgot = false;
  for (const trait of computedTraits.list()) {
    if (trait.sync !== "each-event") continue;
    const values = sorted(model.people.values(trait.computation, model.now));
    for (const [by, sent] of valuesOf(sim, trait, null))
      expect(
        `what was sent of the computed trait ${trait.name} to ${by} is its values`,
        values,
        sent,
      );
  }
}

type Computed = {
  sourceId: number;
  firstSyncs?: readonly { destinationId: DestinationId }[];
  skipped?: readonly Skipped[];
};

/**
 * What was sent of each user, and what each destination was sent after its first sync; `nothing`
 * says that it is over.
 */
function valuesOf(
  { model }: Simulation,
  { sourceId, firstSyncs = [], skipped = [] }: Computed,
  nothing: false | null,
): [string, Record<string, unknown>][] {
  const waiting = firstSyncs.map(({ destinationId }) => destinationOf(destinationId));
  const connected = [...model.destinations.values()]
    .filter((destination) => destination.sourceIds.includes(sourceOf(sourceId)))
    .map(({ id }) => heardBy(sourceId, id));
  const isEnabled = (id: string) => model.destinations.get(id)?.enabled === true;
  if (waiting.some(isEnabled))
    throw new Broken("a first sync ends", "no enabled destination waits", firstSyncs);
  const missed = skipped.flatMap((each) => ("had" in each ? [each] : []));
  for (const each of missed)
    if (isEnabled(destinationOf(each.destinationId)) && !model.suppressed.has(each.userId))
      throw new Broken("missed values are sent", "nothing to an enabled destination", each);
  const pending = [...waiting, ...missed.map((each) => destinationOf(each.destinationId))].map(
    (id) => heardBy(sourceId, id),
  );
  for (const by of pending) model.synced.delete(by);
  return [...(model.connectedLate.has(sourceId) ? [] : [heardBy(sourceId, null)]), ...connected]
    .filter((by) => !pending.includes(by))
    .map((by) => {
      const values = [...(model.heard.get(by) ?? [])].map(
        ([userId, { value }]): [string, unknown] => [userId, value],
      );
      return [by, sorted(Object.fromEntries(values.filter(([, value]) => value !== nothing)))];
    });
}

/** The people of the model follow the same messages, in the order of their rows. */
function follow(sim: Simulation, db: Database, fresh: readonly MessageRow[]): void {
  const { model } = sim;
  for (const row of fresh) {
    const extra = row.extra === null ? {} : (JSON.parse(row.extra) as Extra);
    const type = messageTypes[row.type];
    if (
      ignored.has(row.state) ||
      extra.blocked === true ||
      type === "delete" ||
      type === undefined ||
      (extra.replayOf !== undefined && !isFirstToCount(sim, db, extra.replayOf))
    )
      continue;
    if (extra.computed === true) {
      hear(sim, db, row);
      continue;
    }
    const dropped = (extra.dropped ?? []).map((path) => path.join("."));
    const raw = JSON.parse(String(row.raw)) as SentMessage & Message;
    const members = { ...raw, ...without(raw, dropped), type: raw.type };
    const message: SentMessage = { type: members.type, timestamp: formatTimestamp(row.timestamp) };
    if (members.userId !== undefined) message.userId = members.userId;
    if (members.anonymousId !== undefined) message.anonymousId = members.anonymousId;
    if (type === "alias" && members.previousId !== undefined)
      message.previousId = members.previousId;
    if (type === "identify" && members.traits !== undefined) message.traits = members.traits;
    if (type === "track" && members.event !== undefined)
      Object.assign(message, { event: members.event, properties: members.properties });
    model.people.send(message);
    model.moved = true;
    if (model.deletesLate) model.peopleUnknown = true;
  }
  const late = db
    .prepare("SELECT EXISTS (SELECT 1 FROM deletion_users WHERE body IS NULL)")
    .pluck();
  model.deletesLate = late.get() === 1;
  if (model.deleting.length === 0) return;
  const deletions = db.prepare("SELECT count(*) FROM deletions").pluck().get() as number;
  model.forgot = true;
  if (deletions > model.deletions) {
    for (const userId of model.deleting)
      for (const gone of [userId, ...model.people.delete(userId, false)])
        for (const values of model.heard.values()) values.delete(gone);
  }
  model.deletions = deletions;
  model.deleting = [];
}

/** Of the replays of a message that was rejected or blocked, and is no replay itself. */
function isFirstToCount({ model }: Simulation, db: Database, replayOf: number): boolean {
  const original = db
    .prepare<[number], Pick<MessageRow, "state" | "extra">>(
      "SELECT state, extra FROM messages WHERE id = ?",
    )
    .get(replayOf);
  const extra = JSON.parse(original?.extra ?? "{}") as Extra;
  const wasLeftOut = messageStates[original?.state ?? -1] === "rejected" || extra.blocked === true;
  if (!wasLeftOut || extra.replayOf !== undefined || model.replayed.has(replayOf)) return false;
  model.replayed.add(replayOf);
  return true;
}

/** Reasons of destinations that do not get a call, and get the value with another one. */
const notMeant = ["other_call", "first_sync_pending", "first_sync_of_another", "disabled"];

/** Tells of a user only what has changed, in one call or in an identify and a track. */
function hear(sim: Simulation, db: Database, row: MessageRow): void {
  const { model } = sim;
  const { type, context, traits, properties } = JSON.parse(String(row.raw)) as OwnCall;
  const { computation_class: kind, computation_key: key } = context.personas;
  const value = (type === "identify" ? traits : properties)?.[key];
  const nothing = kind === "audience" ? false : null;
  const decisions = db
    .prepare<[number], { destination_id: number; reason: string }>(
      "SELECT destination_id, reason FROM decisions WHERE message_id = ?",
    )
    .all(row.id);
  const listeners = decisions
    .filter(({ reason }) => !notMeant.includes(reason))
    .map(({ destination_id }) => heardBy(row.source_id, destinationOf(destination_id)));
  for (const { destination_id, reason } of sim.isHandled ? [] : decisions) {
    const { audienceCalls } = model.destinations.get(destinationOf(destination_id)) ?? {};
    if (audienceCalls === undefined || reason.startsWith("first_sync")) continue;
    const gets = audienceCalls === "both" || audienceCalls === type;
    if ((reason === "other_call") === gets)
      throw new Broken("a destination gets the calls that it wants", audienceCalls, {
        type,
        reason,
      });
  }
  if (!model.connectedLate.has(row.source_id)) listeners.push(heardBy(row.source_id, null));
  for (const by of listeners) {
    const values = model.heard.get(by) ?? new Map<string, Heard>();
    model.heard.set(by, values);
    const userId = row.user_id ?? "";
    const before = values.get(userId);
    const isSecondCall =
      type === "track" && before?.type === "identify" && before.id === row.id - 1;
    const isOfBefore = before === undefined && model.heardBefore.has(by);
    const same = before === undefined ? nothing : before.value;
    if (value === same && !isSecondCall && !isOfBefore)
      throw new Broken(`${key} to ${by} tells of a user only what has changed`, "another value", {
        userId,
        value,
      });
    values.set(userId, { value, id: row.id, type });
  }
}

type OwnCall = {
  type: string;
  context: { personas: { computation_class: string; computation_key: string } };
  traits?: Record<string, unknown>;
  properties?: Record<string, unknown>;
};

const sorted = (values: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(values).toSorted(([a], [b]) => (a < b ? -1 : 1)));
