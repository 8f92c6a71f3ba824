/**
 * What routing made of each message, and which requests and batches of mappings there are: each
 * element of a batch was routed, and each message that was routed is in one request of each mapping.
 */

import type { Database } from "better-sqlite3";
import { webhookIds, type WebhookId } from "../../src/domain/ids.ts";
import { deliveryStates } from "../../src/domain/states.ts";
import { createPayloadReader } from "../../src/store/shared-bytes.ts";
import { Broken, expect, type Extra, type MessageRow } from "./broken.ts";
import { destinationOf } from "./model.ts";
import { maxBatchSize, maxWaitMs, memberOf, type Message, type Routing } from "./routing.ts";
import type { Simulation } from "./simulation.ts";

const sorted = (texts: readonly string[]): string[] => texts.toSorted((a, b) => (a < b ? -1 : 1));

type Body = {
  delivery_id: number;
  destination_id: number;
  shape: number;
  webhook_id: number | null;
  body: Buffer | null;
  isPart: number;
};

const bodiesOf = `SELECT d.id AS delivery_id, d.destination_id, d.shape, r.webhook_id, 0 AS isPart,
    CASE d.shape WHEN 0 THEN p.documented WHEN 1 THEN p.full WHEN 3 THEN f.after ELSE r.body END AS body
  FROM deliveries AS d LEFT JOIN payloads AS p USING (message_id)
    LEFT JOIN filtered AS f USING (message_id, destination_id) LEFT JOIN mapped_requests AS r ON r.delivery_id = d.id
  WHERE d.message_id = @id AND r.batch_key IS NULL
  UNION ALL SELECT d.id, d.destination_id, d.shape, r.webhook_id, 1, b.body
  FROM batch_parts AS b JOIN deliveries AS d ON d.id = b.delivery_id JOIN mapped_requests AS r USING (delivery_id)
  WHERE b.message_id = @id`;

/** What is sent of a message, as a request of its own or as part of a batch. */
export function createBodies(db: Database): (id: number) => Body[] {
  const bodies = db.prepare<[{ id: number }], Body>(bodiesOf);
  const complete = createPayloadReader(db);
  return (id) => bodies.all({ id }).map((one) => ({ ...one, body: complete(id, one.body) }));
}

export function checkRouting(
  sim: Simulation,
  db: Database,
  row: MessageRow,
  { plan, routes }: Routing,
): void {
  const { model } = sim;
  const extra = row.extra === null ? {} : (JSON.parse(row.extra) as Extra);
  const found = {
    plan: row.plan,
    violations: sorted((extra.violations ?? []).map(({ path }) => path)),
    dropped: sorted((extra.dropped ?? []).map((path) => path.join("."))),
    blocked: extra.blocked === true,
  };
  const { violations = [], dropped = [], reason = null } = plan ?? {};
  const planned = {
    plan: plan === null ? null : Number(violations.length === 0),
    violations: sorted(violations),
    dropped: sorted(dropped),
    blocked: reason !== null,
  };
  expect("the tracking plan finds what violates it", planned, found);
  const decisions = db
    .prepare<[number], { destination_id: number; reason: string; mappings: string | null }>(
      "SELECT destination_id, reason, mappings FROM decisions WHERE message_id = ?",
    )
    .all(row.id);
  const bodies = createBodies(db)(row.id);
  expect(
    "every connected destination has its decision",
    sorted([...routes.keys()]),
    sorted(decisions.map(({ destination_id }) => destinationOf(destination_id))),
  );
  for (const { destination_id: id, reason: actual, mappings } of decisions) {
    const route = routes.get(destinationOf(id));
    if (route === undefined) continue;
    const keeps = route.sample === null ? true : model.samples.get(route.sample);
    const isKept = keeps ?? actual !== "filter_sampled";
    if (route.sample !== null) model.samples.set(route.sample, isKept);
    const wanted = isKept ? route.reason : "filter_sampled";
    expect("a decision has its reason", wanted, actual);
    const isRouted = wanted === "routed";
    const own = bodies.filter(({ destination_id }) => destination_id === id);
    const { kind, payload } = model.destinations.get(destinationOf(id)) ?? {};
    if (kind === undefined) continue;
    const mapped = isRouted || !isKept ? route.mappings : null;
    if (isRouted && mapped !== null)
      expect(
        "each mapping has its decision",
        [...mapped.values()],
        (JSON.parse(mappings ?? "[]") as { reason: string }[]).map((one) => one.reason),
      );
    const requests = [...(mapped ?? [])].flatMap(([name, why]) => (why === "routed" ? [name] : []));
    const shape = route.isFiltered ? 3 : payload === "full" ? 1 : 0;
    expect(
      "a message that is routed has one request of each mapping, or one of its shape",
      !isRouted ? [] : kind === "webhooks" ? [String(shape)] : sorted(requests),
      sorted(
        own.map((one) =>
          one.webhook_id === null
            ? String(one.shape)
            : webhookIds.format(one.webhook_id as WebhookId),
        ),
      ),
    );
    for (const { body } of own) {
      const sent = JSON.parse(String(body)) as Message;
      if (route.members !== undefined)
        expect("what is filtered does not arrive", route.members, sent[memberOf(sent)]);
    }
  }
}

/** Each message, destination and mapping with a request; classic destinations have none. */
const requests = `SELECT message_id, destination_id, webhook_id FROM deliveries AS d LEFT JOIN mapped_requests AS r ON r.delivery_id = d.id
    WHERE r.batch_key IS NULL
  UNION ALL SELECT b.message_id, d.destination_id, r.webhook_id
    FROM batch_parts AS b JOIN deliveries AS d ON d.id = b.delivery_id JOIN mapped_requests AS r USING (delivery_id)
    WHERE b.message_id IS NOT NULL`;

export function checkRouted(db: Database): void {
  const routed = "SELECT message_id, destination_id FROM decisions WHERE reason = 'routed'";
  const delivered = `SELECT message_id, destination_id FROM (${requests})`;
  expect("what was routed has a delivery", [], db.prepare(`${routed} EXCEPT ${delivered}`).all());
  expect("what has a delivery was routed", [], db.prepare(`${delivered} EXCEPT ${routed}`).all());
  expect(
    "a message has one delivery, or one of each mapping",
    [],
    db.prepare(`SELECT * FROM (${requests}) GROUP BY 1, 2, 3 HAVING count(*) > 1`).all(),
  );
}

type Batch = {
  id: number;
  created_at: number;
  parts: number;
  bytes: number;
  found: number;
  size: number;
  messages: string;
  first: number | null;
  due: number;
};

/** Of those that collect, the newest of its mapping and key is open to more. */
export function checkCollecting({ model }: Simulation, db: Database): void {
  const collecting = db
    .prepare<[], { webhook_id: number; batch_key: string; parts: number }>(
      `SELECT webhook_id, batch_key, parts FROM deliveries AS d JOIN mapped_requests AS r ON r.delivery_id = d.id
       WHERE d.state = ${deliveryStates.indexOf("waiting")} AND d.reason = 'collecting'`,
    )
    .all();
  const keys = collecting.map(({ webhook_id, batch_key }) => `${webhook_id} ${batch_key}`);
  expect("one batch of a mapping and key collects", [...new Set(keys)], keys);
  for (const { webhook_id, parts } of collecting) {
    const sizes = model.sizes.get(webhookIds.format(webhook_id as WebhookId));
    const most = Math.max(...(sizes ?? []));
    if (parts >= most) throw new Broken("a full batch does not wait", `less than ${most}`, parts);
  }
}

/** Seldom, because they read all batches. */
export function checkBatches(db: Database): void {
  const batches = db
    .prepare<[], Batch>(
      `SELECT d.id, d.created_at, r.parts, r.bytes, count(*) AS found, sum(coalesce(length(b.body), 4)) AS size,
         json_group_array(b.message_id ORDER BY b.id) AS messages,
         (SELECT min(started_at) FROM attempts WHERE delivery_id = d.id) AS first,
         (SELECT min(next_attempt_at) FROM transitions WHERE delivery_id = d.id AND reason IN ('collecting', 'full', 'overdue')) AS due
       FROM deliveries AS d JOIN mapped_requests AS r ON r.delivery_id = d.id JOIN batch_parts AS b ON b.delivery_id = d.id
       WHERE r.batch_key IS NOT NULL GROUP BY d.id`,
    )
    .all();
  const retried = db.prepare<[number]>(
    "SELECT 1 FROM transitions WHERE delivery_id = ? AND reason = 'retry_now'",
  );
  for (const batch of batches) {
    const { id, created_at, parts, bytes, found, size, messages, first, due } = batch;
    const fail = (sentence: string, expected: unknown): never => {
      throw new Broken(sentence, expected, batch);
    };
    if (parts !== found || bytes !== size) fail("a batch counts its parts", { found, size });
    if (parts > maxBatchSize) fail("a batch is no larger than its size", maxBatchSize);
    const kept = (JSON.parse(messages) as (number | null)[]).filter((one) => one !== null);
    if (kept.some((one, place) => one <= (kept[place - 1] ?? 0)))
      fail("a batch has its messages in their order, each once", "ascending");
    if (due > created_at + maxWaitMs) fail("a batch waits no longer than its time", maxWaitMs);
    if (first !== null && first < due && retried.get(id) === undefined)
      fail("a batch is sent when it is full or its time is over", due);
  }
}

/** Of many messages, a sample of few keeps few. */
export function checkSamples({ model }: Simulation): void {
  const drawn = [...model.samples].filter(([key]) => key.startsWith("Few of the messages"));
  const kept = drawn.filter(([, isKept]) => isKept).length;
  if (drawn.length > 20 && kept > drawn.length / 2)
    throw new Broken("a sample keeps its share", 0.05, kept / drawn.length);
}
