/**
 * What receivers got: nothing that was not routed, the same bytes each time, with a signature that
 * verifies, and on record.
 */

import { createHmac } from "node:crypto";
import type { Database } from "better-sqlite3";
import { deliveryStates, messageStates } from "../../src/domain/states.ts";
import { createPayloadReader } from "../../src/store/shared-bytes.ts";
import { Broken } from "./broken.ts";
import { destinationOf, type Destination } from "./model.ts";
import type { Simulation } from "./simulation.ts";
import type { Received } from "./receivers.ts";

type Found = {
  message_id: number;
  destination_id: number;
  shape: number;
  documented: Buffer | null;
  full: Buffer | null;
};

export function checkReceived(sim: Simulation, db: Database): void {
  const { receivers, model } = sim;
  const payloadsOf = db.prepare<[string], Found>(
    `SELECT message_id, destination_id, shape, documented, full FROM payloads JOIN deliveries USING (message_id)
     WHERE message_id IN (SELECT id FROM messages WHERE message_id = ?)`,
  );
  const complete = createPayloadReader(db);
  const copies = db
    .prepare("SELECT count(*) FROM messages WHERE message_id = ? AND state < ?")
    .pluck();
  for (const { path, body } of receivers.overlapping.splice(0)) {
    const { messageId } = JSON.parse(body) as { messageId?: string };
    // A source that keeps duplicates has several deliveries with the same bytes.
    if (
      messageId === undefined ||
      (copies.get(messageId, messageStates.indexOf("filtered")) as number) > 1
    )
      continue;
    throw new Broken("a delivery is never sent twice at once", "once", { path, body });
  }
  for (const received of receivers.received.splice(0)) {
    const { path, body } = received;
    const { messageId, type } = JSON.parse(body) as { messageId?: string; type: string };
    if (JSON.stringify(JSON.parse(body)) !== body)
      throw new Broken(
        "a body stays the same when it is stringified again",
        JSON.stringify(JSON.parse(body)),
        body,
      );
    const destination = [...model.destinations.values()].find(({ webhooks }) =>
      webhooks.some(({ url }) => url.endsWith(path)),
    );
    if (destination !== undefined) checkHeaders(sim, received, destination);
    if (messageId === undefined) {
      if (type !== "delete")
        throw new Broken("every message but delete has its messageId", "a messageId", body);
      continue;
    }
    const payloads = payloadsOf
      .all(messageId)
      .filter(
        ({ destination_id }) =>
          destination === undefined || destinationOf(destination_id) === destination.id,
      )
      .map(({ message_id: id, shape, documented, full }) =>
        String(complete(id, shape === 0 ? documented : full)),
      );
    if (payloads.length === 0 && model.retention === null && !model.wasReset)
      throw new Broken("what is delivered was routed", "a routed message", { path, body });
    if (payloads.length > 0 && !payloads.includes(body) && model.retention === null)
      throw new Broken(
        "the bytes are those that were made when the delivery was queued",
        payloads,
        body,
      );
  }
  if (
    model.settled &&
    // In a narrow lane, a delivery that is delivered may still have to be sent to other webhooks.
    !model.hasNarrowLanes &&
    db
      .prepare("SELECT 1 FROM deliveries WHERE state = ?")
      .get(deliveryStates.indexOf("sending")) === undefined
  )
    for (const past of model.past.values()) past.secrets = new Set([...past.secrets].slice(-1));
}

/**
 * By any secret that the destination has had since rounds began that are not over: a round reads it
 * when it starts.
 */
function checkHeaders(
  sim: Simulation,
  { path, body, signature, team }: Received,
  destination: Destination,
): void {
  const webhook = destination.webhooks.find(({ url }) => url.endsWith(path));
  if (webhook?.headers["X-Team"] !== team)
    throw new Broken("a webhook gets its own headers", webhook, team);
  const secrets = [...(sim.model.past.get(destination.id)?.secrets ?? [])];
  const valid = secrets.map((secret) =>
    secret === null ? null : createHmac("sha1", secret).update(body).digest("hex"),
  );
  if (!valid.includes(signature)) throw new Broken("the signature verifies", valid, signature);
}
