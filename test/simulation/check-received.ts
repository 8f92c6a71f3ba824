/**
 * What receivers got: nothing that was not routed, the same bytes each time, with a signature that
 * verifies, and on record.
 */

import { createHmac } from "node:crypto";
import type { Database } from "better-sqlite3";
import { deliveryStates, messageStates } from "../../src/domain/states.ts";
import { Broken } from "./broken.ts";
import { createBodies } from "./check-routing.ts";
import { destinationOf, type Destination } from "./model.ts";
import type { Simulation } from "./simulation.ts";
import type { Received } from "./receivers.ts";

export function checkReceived(sim: Simulation, db: Database): void {
  const { receivers, model } = sim;
  const copies = db
    .prepare("SELECT count(*) FROM messages WHERE message_id = ? AND state < ?")
    .pluck();
  for (const { path, body } of receivers.overlapping.splice(0)) {
    const [{ messageId } = {}] = elementsOf(body);
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
    if (JSON.stringify(JSON.parse(body)) !== body)
      throw new Broken(
        "a body stays the same when it is stringified again",
        JSON.stringify(JSON.parse(body)),
        body,
      );
    const destination = model.destinations.get(
      model.paths.get(new URL(path, "http://localhost").pathname) ?? "",
    );
    if (destination !== undefined) checkHeaders(sim, received, destination);
    checkBody(sim, db, received, destination);
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

type Element = { messageId?: string; type: string; userId?: string };

/** The messages of a body, whose request is a batch or not. */
function elementsOf(body: string): Element[] {
  const parsed = JSON.parse(body) as Element | Element[];
  return Array.isArray(parsed) ? parsed : [parsed];
}

/** Every element was routed there, and together they are what was recorded. */
function checkBody(
  { model }: Simulation,
  db: Database,
  { path, body }: Received,
  destination: Destination | undefined,
): void {
  const idsOf = db
    .prepare<[string], number>("SELECT id FROM messages WHERE message_id = ?")
    .pluck();
  const madeOf = createBodies(db);
  const partsOf = db
    .prepare<[number], Buffer>("SELECT body FROM batch_parts WHERE delivery_id = ? ORDER BY id")
    .pluck();
  const isBatch = body.startsWith("[");
  const { searchParams } = new URL(path, "http://localhost");
  const user = searchParams.get("user");
  for (const element of elementsOf(body)) {
    const { messageId, type, userId = "" } = element;
    if (user !== null && user !== userId)
      throw new Broken("messages that share a request have its URL", path, body);
    if (messageId === undefined) {
      if (type !== "delete")
        throw new Broken("every message but delete has its messageId", "a messageId", body);
      continue;
    }
    const made = idsOf
      .all(messageId)
      .flatMap((id) => madeOf(id))
      .filter(
        ({ destination_id, isPart }) =>
          (destination === undefined || destinationOf(destination_id) === destination.id) &&
          isPart === Number(isBatch),
      );
    if (made.length === 0 && model.retention === null && !model.wasReset)
      throw new Broken("what is delivered was routed", "a routed message", { path, body });
    const bodies = made.map((one) =>
      isBatch ? `[${partsOf.all(one.delivery_id).join(",")}]` : String(one.body),
    );
    if (made.length > 0 && !bodies.includes(body) && model.retention === null)
      throw new Broken(
        "the bytes are those that were made when the delivery was queued",
        bodies,
        body,
      );
  }
}

/**
 * Of a batch, the signature covers the first element. By any secret that the destination has had
 * since rounds began that are not over: a round reads it when it starts.
 */
function checkHeaders(
  sim: Simulation,
  { path, body, signature, team }: Received,
  destination: Destination,
): void {
  const webhook = destination.webhooks.find(({ url }) => url.endsWith(path));
  if (webhook === undefined && destination.kind === "webhooks") return;
  if (webhook?.headers["X-Team"] !== team)
    throw new Broken("a webhook gets its own headers", webhook, team);
  const signed = body.startsWith("[") ? JSON.stringify(elementsOf(body)[0]) : body;
  const secrets = [...(sim.model.past.get(destination.id)?.secrets ?? [])];
  const valid = secrets.map((secret) =>
    secret === null ? null : createHmac("sha1", secret).update(signed).digest("hex"),
  );
  if (!valid.includes(signature)) throw new Broken("the signature verifies", valid, signature);
}
