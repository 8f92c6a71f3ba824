/**
 * Audiences and computed traits: what was sent of a user alternates, and adds up to what the
 * messages make of the user.
 */

import type { Database } from "better-sqlite3";
import { messageStates, messageTypes } from "../../src/domain/states.ts";
import { formatTimestamp } from "../../src/domain/timestamp.ts";
import type { SentMessage } from "../support/people.ts";
import { Broken, expect, type MessageRow } from "./broken.ts";
import type { Simulation } from "./simulation.ts";

const ignored = new Set([messageStates.indexOf("rejected"), messageStates.indexOf("duplicate")]);

export function checkAudiences(sim: Simulation, db: Database, fresh: readonly MessageRow[]): void {
  const { model } = sim;
  if (model.retention !== null) return;
  follow(sim, db, fresh);
  if (sim.disk.failure !== null || !model.settled) return;
  const { audiences, computedTraits } = sim.app.pipeline;
  for (const audience of audiences.list()) {
    const sent = lastSent(sim, db, audience, false);
    const at = audience.sync === "each-event" ? model.now : (audience.lastSync?.at ?? null);
    const before = model.synced.get(audience.sourceId);
    model.synced.set(audience.sourceId, { at, sent });
    if (audience.rule === null || audience.syncing !== null) model.synced.delete(audience.sourceId);
    else if (
      at !== null &&
      (audience.sync === "each-event" || (before !== undefined && before.at !== at && !model.moved))
    ) {
      const members = Object.fromEntries(
        model.people.members(audience.rule, at).map((userId) => [userId, true]),
      );
      expect(`what was sent of the audience ${audience.name} is its members`, members, sent);
    } else if (before?.at === at && !model.forgot)
      expect(`nothing is sent of the audience ${audience.name} without a sync`, before.sent, sent);
  }
  model.moved = false;
  model.forgot = false;
  for (const trait of computedTraits.list()) {
    if (trait.sync !== "each-event") continue;
    const values = model.people.values(trait.computation, model.now);
    expect(
      `what was sent of the computed trait ${trait.name} is its values`,
      sorted(values),
      lastSent(sim, db, trait, null),
    );
  }
}

/** The people of the model follow the same messages, in the order of their rows. */
function follow({ model }: Simulation, db: Database, fresh: readonly MessageRow[]): void {
  for (const row of fresh) {
    const extra =
      row.extra === null
        ? {}
        : (JSON.parse(row.extra) as { replayOf?: number; computed?: boolean });
    const type = messageTypes[row.type];
    if (
      ignored.has(row.state) ||
      extra.replayOf !== undefined ||
      extra.computed === true ||
      type === "delete" ||
      type === undefined
    )
      continue;
    const members = JSON.parse(String(row.raw)) as SentMessage;
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
  }
  if (model.deleting.length === 0) return;
  const deletions = db.prepare("SELECT count(*) FROM deletions").pluck().get() as number;
  model.forgot = true;
  if (deletions > model.deletions) {
    const newest = (db.prepare("SELECT max(id) FROM messages").pluck().get() as number | null) ?? 0;
    for (const userId of model.deleting) {
      model.forgottenFrom.set(userId, newest);
      for (const gone of model.people.delete(userId, false)) model.forgottenFrom.set(gone, newest);
    }
  }
  model.deletions = deletions;
  model.deleting = [];
}

type Computed = { name: string; key: string; sourceId: number };

/** What receivers know of each user by now; `nothing` says that it is over. */
function lastSent(
  { model }: Simulation,
  db: Database,
  { name, key, sourceId }: Computed,
  nothing: false | null,
): Record<string, unknown> {
  const rows = db
    .prepare<[number], { id: number; user_id: string; raw: Buffer }>(
      `SELECT m.id, m.user_id, substr(r.body, m.offset + 1, m.size) AS raw FROM messages AS m JOIN requests AS r ON r.id = m.request_id
       WHERE m.source_id = ? AND m.extra NOT LIKE '%"replayOf"%' ORDER BY m.id`,
    )
    .all(sourceId);
  const values = new Map<string, unknown>();
  for (const { id, user_id, raw } of rows) {
    if (id <= (model.forgottenFrom.get(user_id) ?? 0)) continue;
    const value = (JSON.parse(String(raw)) as { traits: Record<string, unknown> }).traits[key];
    if (value === (values.has(user_id) ? values.get(user_id) : nothing))
      throw new Broken(`${name} tells of a user only what has changed`, "another value", {
        user_id,
        value,
      });
    values.set(user_id, value);
  }
  return sorted(Object.fromEntries([...values].filter(([, value]) => value !== nothing)));
}

const sorted = (values: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(values).toSorted(([a], [b]) => (a < b ? -1 : 1)));
