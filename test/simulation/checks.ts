/**
 * What must be true after each step, by the data file, by what receivers got, and by what the
 * process itself says.
 */

import type { Database } from "better-sqlite3";
import { messageStates, messageTypes } from "../../src/domain/states.ts";
import { inconsistenciesIn } from "../../src/store/examine.ts";
import { Broken, expect, type Extra, type MessageRow } from "./broken.ts";
import { checkAudiences } from "./check-audiences.ts";
import {
  checkBatches,
  checkCollecting,
  checkRouted,
  checkRouting,
  checkSamples,
} from "./check-routing.ts";
import { checkRecords, type DeliveryRow } from "./check-deliveries.ts";
import { checkReceived } from "./check-received.ts";
import { destinationOf, sourceOf } from "./model.ts";
import type { Simulation } from "./simulation.ts";

const dayMs = 24 * 3_600_000;
const code = (state: (typeof messageStates)[number]): number => messageStates.indexOf(state);

/** Looks that cost more are taken every so many steps. */
const seldom = 8;

export function checkAll(sim: Simulation, db: Database): void {
  checkReset(sim, db);
  checkClock(sim, db);
  checkConfiguration(sim, db);
  if (sim.step % seldom === 0 || sim.model.finished) {
    checkBatches(db);
    for (const found of inconsistenciesIn(db))
      throw new Broken("the rows do not fit together", "nothing", found);
  }
  const fresh = freshMessages(db, sim.model.cursor.message);
  checkMessages(sim, db, fresh);
  checkDeliveries(sim, db);
  checkReceived(sim, db);
  checkAudiences(sim, db, fresh);
  checkBounds(sim);
}

/** Whether a reset that the process may have died of was made. */
function checkReset(sim: Simulation, db: Database): void {
  const { model } = sim;
  if (model.resetting && db.prepare("SELECT count(*) FROM messages").pluck().get() === 0)
    model.forget();
  model.resetting = false;
}

function checkClock(sim: Simulation, db: Database): void {
  const now = sim.now();
  if (now < sim.model.now)
    throw new Broken("the clock goes back", `at least ${sim.model.now}`, now);
  sim.model.now = now;
  const stored = db.prepare("SELECT value FROM meta WHERE key = 'clock'").pluck().get() as
    | string
    | undefined;
  if (stored !== undefined) sim.model.storedNow = (JSON.parse(stored) as { now: number }).now;
}

/** What the process has in memory is what a new one would read. */
function checkConfiguration(sim: Simulation, db: Database): void {
  const { configuration, audiences, computedTraits } = sim.app.pipeline;
  const stored = (table: string): string[] =>
    (
      db
        .prepare(`SELECT id, json_extract(body, '$.name') AS name FROM ${table} ORDER BY id`)
        .all() as { id: number; name: string }[]
    ).map(({ id, name }) => `${id} ${name}`);
  const named = (all: readonly { id: number; name: string }[]): string[] =>
    all.map(({ id, name }) => `${id} ${name}`);
  expect(
    "the sources in memory are those of the file",
    stored("sources"),
    named(configuration.sources()),
  );
  expect(
    "the destinations in memory are those of the file",
    stored("destinations"),
    named(configuration.destinations()),
  );
  const bodies = db.prepare("SELECT body FROM destinations ORDER BY id").pluck().all() as string[];
  const known = [
    ...(["enabled", "sharedSecret", "retryProfile", "payload", "sourceIds"] as const),
    ...(["kind", "filters", "audienceCalls"] as const),
  ];
  // The id of a mapping is that of its webhook.
  const shown = (one: Record<string, unknown>): unknown[] => [
    ...known.map((name) => one[name]),
    (one["mappings"] as object[]).map((mapping) => ({ ...mapping, id: null })),
  ];
  expect(
    "a destination in memory is that of the file",
    bodies.map((body) => shown(JSON.parse(body) as Record<string, unknown>)),
    configuration.destinations().map(shown),
  );
  const webhooks = db
    .prepare("SELECT id, url FROM webhooks ORDER BY destination_id, position")
    .all();
  const inMemory = configuration
    .destinations()
    .flatMap((destination) => destination.webhooks.map(({ id, url }) => ({ id, url })));
  expect("the webhooks in memory are those of the file", webhooks, inMemory);
  for (const { id, name, webhooks } of configuration.destinations()) {
    if (webhooks.length > 5)
      throw new Broken(`${name} has too many webhooks`, "at most 5", webhooks.length);
    const ids = webhooks.map((webhook) => webhook.id);
    if (String(sim.model.webhooks.get(id)?.ids) !== String(ids))
      sim.model.webhooks.set(id, { ids, since: sim.model.now });
  }
  expect(
    "the suppressed users are those of the model",
    [...sim.model.suppressed].toSorted(),
    db.prepare("SELECT user_id FROM suppressions ORDER BY user_id").pluck().all(),
  );
  expect(
    "the audiences in memory are those of the file",
    stored("audiences"),
    named(audiences.list()),
  );
  expect(
    "the computed traits in memory are those of the file",
    stored("computed_traits"),
    named(computedTraits.list()),
  );
}

function freshMessages(db: Database, after: number): MessageRow[] {
  return db
    .prepare<[number], MessageRow>(
      `SELECT m.id, m.message_id, m.source_id, m.type, m.state, m.user_id, m.anonymous_id, m.event, m.received_at, m.timestamp, m.reason, m.extra, m.pinned, m.plan,
         substr(r.body, m.offset + 1, m.size) AS raw
       FROM messages AS m JOIN requests AS r ON r.id = m.request_id WHERE m.id > ? ORDER BY m.id`,
    )
    .all(after);
}

/** Accepted means stored exactly once; each as it was sent, in the state that it had to get. */
function checkMessages(sim: Simulation, db: Database, fresh: readonly MessageRow[]): void {
  const { model } = sim;
  const states = new Map(
    db.prepare("SELECT id, state FROM messages").raw().all() as [number, number][],
  );
  for (const [id, seen] of model.messages) {
    const state = states.get(id);
    if (state === undefined && model.retention === null)
      throw new Broken("a message that was there is lost", seen, null);
    if (state === undefined) model.messages.delete(id);
    else seen.state = state;
  }
  for (const row of fresh) {
    // What has arrived may be committed after messages of an audience that a jump of the clock makes.
    const isOwn = model.sources.get(sourceOf(row.source_id))?.kind === "audience";
    const newest = isOwn ? model.newest.any : model.newest.arrived;
    if (row.received_at < newest)
      throw new Broken(
        "a later message has an earlier time",
        `at least ${newest}`,
        row.received_at,
      );
    if (!isOwn) model.newest.arrived = row.received_at;
    model.newest.any = Math.max(model.newest.any, row.received_at);
    checkMessage(sim, db, row);
    model.messages.set(row.id, {
      id: row.id,
      key: keyOf(row),
      received_at: row.received_at,
      state: row.state,
    });
    model.cursor.message = row.id;
  }
  const stored = new Map<string, number>();
  for (const { key } of model.messages.values()) stored.set(key, (stored.get(key) ?? 0) + 1);
  for (const [key, sent] of model.fresh) {
    const n = stored.get(key) ?? 0;
    if (n > sent.accepted + sent.unanswered)
      throw new Broken("a message is stored more often than it was accepted", sent.accepted, {
        n,
        text: sent.text,
      });
    if (n < sent.accepted && !mayBeRemoved(sim, states))
      throw new Broken("a message that was accepted is not stored", sent.accepted, {
        n,
        text: sent.text,
      });
  }
  model.fresh.clear();
}

/**
 * Retention takes what came last only if nearly all before it has to stay; and an earlier copy at
 * any time.
 */
function mayBeRemoved({ model }: Simulation, states: ReadonlyMap<number, number>): boolean {
  return model.retention !== null && states.size >= model.retention / 2;
}

const keyOf = ({ source_id, message_id }: MessageRow): string =>
  `${sourceOf(source_id)} ${message_id}`;

function checkMessage(sim: Simulation, db: Database, row: MessageRow): void {
  const { model } = sim;
  const sent = model.fresh.get(keyOf(row));
  const extra = row.extra === null ? {} : (JSON.parse(row.extra) as Extra);
  if (sent === undefined) {
    const isDelete = row.type === messageTypes.indexOf("delete");
    if (
      extra.replayOf !== undefined ||
      extra.computed === true ||
      row.message_id.startsWith("u-") ||
      isDelete
    )
      return;
    throw new Broken("a message is stored that nobody sent", "nothing", {
      ...row,
      raw: String(row.raw),
    });
  }
  expect("a message is stored with the bytes that were sent", sent.text, String(row.raw));
  if (typeof sent.expected === "string") {
    expect(
      "a message is rejected",
      { state: "rejected", suppressed: sent.expected === "suppressed" },
      { state: messageStates[row.state], suppressed: row.reason === "suppressed" },
    );
    return;
  }
  const original = [...model.messages.values()].findLast(
    ({ id, key, state }) =>
      key === keyOf(row) &&
      state !== code("rejected") &&
      state !== code("duplicate") &&
      id < row.id,
  );
  const isDuplicate =
    original !== undefined &&
    row.received_at - original.received_at <= dayMs &&
    model.sources.get(sourceOf(row.source_id))?.deduplicate === true;
  if (
    isDuplicate !== (row.state === code("duplicate")) &&
    (model.retention === null || !isDuplicate)
  ) {
    throw new Broken(
      "the same message within 24 hours is a duplicate, and nothing else",
      isDuplicate,
      {
        original,
        row: { ...row, raw: String(row.raw) },
      },
    );
  }
  if (row.state === code("duplicate")) return;
  checkRouting(sim, db, row, sent.expected);
}

function checkDeliveries(sim: Simulation, db: Database): void {
  const { model } = sim;
  checkRouted(db);
  checkCollecting(sim, db);
  const all = model.finished || sim.step % (seldom * seldom) === 0;
  const looked = all ? { attempt: 0, transition: 0 } : { ...model.cursor };
  const newest = (table: string): number =>
    (db.prepare(`SELECT max(id) FROM ${table}`).pluck().get() as number | null) ?? 0;
  if (model.retention === null) {
    for (const [name, table] of [
      ["attempt", "attempts"],
      ["transition", "transitions"],
      ["message", "messages"],
    ] as const) {
      if (newest(table) < model.cursor[name])
        throw new Broken(`recorded ${table} are lost`, model.cursor[name], newest(table));
    }
  }
  model.cursor.attempt = newest("attempts");
  model.cursor.transition = newest("transitions");
  checkRecords(sim, db, looked);
  const moving = db
    .prepare(
      "SELECT id, message_id, destination_id, state, next_attempt_at FROM deliveries WHERE state < 3",
    )
    .all() as DeliveryRow[];
  const gone = db.prepare("SELECT 1 FROM deliveries WHERE id = ?");
  for (const [id, at] of model.waiting)
    if (at > model.now && !sim.isHandled && gone.get(id) === undefined)
      throw new Broken("a delivery that waits is kept", { id, at }, null);
  model.waiting = new Map(
    moving.flatMap(({ id, next_attempt_at: at }) => (at === null ? [] : [[id, at] as const])),
  );
  if (model.finished) checkSamples(sim);
  if (model.finished) expect("after everything got well, everything comes to an end", [], moving);
  checkDue(sim, moving);
}

/** What is due is sent, unless something is on its way before it. */
function checkDue(sim: Simulation, moving: readonly DeliveryRow[]): void {
  if (sim.disk.failure !== null || !sim.model.settled) return;
  // While the clock runs, what is due at this very moment may be about to be sent.
  const { mode, speed } = sim.app.pipeline.clock.state();
  const now = sim.now() - (mode === "paused" ? 0 : 1000 * speed);
  for (const delivery of moving) {
    const destination = sim.model.destinations.get(destinationOf(delivery.destination_id));
    if (destination?.enabled !== true || delivery.state === code("sending")) continue;
    if (
      moving.some(
        (other) =>
          other.destination_id === delivery.destination_id && other.state === code("sending"),
      )
    )
      continue;
    if (delivery.state === code("queued") || (delivery.next_attempt_at ?? Infinity) <= now)
      throw new Broken("what is due is sent", "sent", { delivery, now });
  }
}

function checkBounds(sim: Simulation): void {
  const { platform } = sim;
  if (platform.timers > 500) throw new Broken("timers pile up", "at most 500", platform.timers);
  if (platform.sockets > 1500)
    throw new Broken("sockets pile up", "at most 1500", platform.sockets);
  const jobs = sim.app.pipeline.deliveries.retryJobs().length;
  if (jobs > 100) throw new Broken("retry jobs pile up", "at most 100", jobs);
  if (process.memoryUsage().heapUsed > 1_000_000_000)
    throw new Broken("memory piles up", "at most 1 GB", process.memoryUsage());
}
