/* oxlint-disable unicorn/no-thenable -- @if has a member "then" */

import fc from "fast-check";
import { expect, test as base } from "vitest";
import { actionsCore, actionsWebhook } from "../support/actions-core.ts";
import { starting } from "../support/running-app.ts";
import type { ReceivedRequest, WebhookReceiver } from "../support/webhook-receiver.ts";

const test = base.extend("start", starting);

type Json = Record<string, unknown>;

const path = (text: string) => ({ "@path": text });
const headerValue = fc.oneof(
  fc.constantFrom<unknown>(
    "plain",
    "",
    "undefined",
    " spaced ",
    "ünï",
    "☕",
    "a\nb",
    null,
    5,
    true,
  ),
  fc.constantFrom<unknown>([1, 2], { a: 1 }, path("$.properties.total"), path("$.missing")),
  fc.constantFrom<unknown>(path("$.properties.coupon"), path("$.properties.text")),
);
const headers = fc.oneof(
  fc.dictionary(
    fc.constantFrom("X-One", "x-one", "X-Two", "User-Agent", "X-Signature", "Content-Type", "b@d"),
    headerValue,
    { maxKeys: 3 },
  ),
  fc.constantFrom<unknown>(
    path("$.properties.headers"),
    path("$.missing"),
    path("$.properties.list"),
  ),
);
const value = fc.oneof(
  fc.constantFrom<unknown>(null, 0, "text", [], {}, path("$.properties"), path("$.missing")),
  fc.constantFrom<unknown>(
    path("$.properties.coupon"),
    { "@template": "{{event}} {{properties.nested}} {{missing}}" },
    { "@if": { exists: path("$.properties.coupon"), then: 1, else: path("$.userId") } },
    { "@arrayPath": ["$.properties.products", { id: path("$.sku"), price: path("$.price") }] },
    { "@json": { mode: "encode", value: path("$.properties.list") } },
    { "@flatten": { separator: ".", value: path("$.properties") } },
    [path("$.missing"), path("$.event"), null],
  ),
);
const data = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.dictionary(fc.constantFrom("a", "b", "c", "d", "e"), value, { maxKeys: 4 }),
  },
  value,
  fc.constantFrom<unknown>([path("$.properties")], [{ a: 1 }], [1, 2], "", "text", 5, true),
  fc.constant({ "@merge": { direction: "right", objects: [path("$.properties"), { z: 1 }] } }),
  fc.constant({ "@replace": { pattern: "a", replacement: "b", value: path("$.event") } }),
);
const properties = fc.record({
  total: fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.constant(null)),
  coupon: fc.constantFrom(null, "", "A1"),
  text: fc.string({ unit: "grapheme", maxLength: 12 }),
  headers: fc.constantFrom<unknown>({ "X-From": "event" }, [{ "X-From": "list" }], null, "text"),
  list: fc.array(fc.oneof(fc.string(), fc.constant(null), fc.integer()), { maxLength: 3 }),
  nested: fc.constantFrom<unknown>({ a: { b: 1 } }, 0, null),
  products: fc.array(fc.record({ sku: fc.string(), price: fc.integer() }), { maxLength: 3 }),
});
const place = fc.string({ unit: fc.constantFrom(..."!$&'()*+,;=:@~a".split("")), maxLength: 6 });
const cases = fc.record({
  place,
  method: fc.constantFrom("POST" as const, "PUT" as const, "PATCH" as const),
  headers,
  data,
  properties: fc.array(properties, { minLength: 1, maxLength: 4 }),
  batched: fc.boolean(),
  signed: fc.boolean(),
});

/** What a receiver of webhooks sees; all else belongs to the connection. */
function seen(requests: readonly ReceivedRequest[]) {
  const transport = /^(?:host|connection|accept|accept-encoding|content-length|transfer-encoding)$/;
  return requests
    .map(({ method, url, body, headers: all }) => ({
      method,
      url,
      body,
      headers: all
        .map(([name, text]): [string, string] => [name.toLowerCase(), text])
        // The reference has a default of its own library where the mapping removes this header.
        .filter(([name, text]) => !transport.test(name) && !text.startsWith("node-fetch"))
        .sort(([a], [b]) => (a < b ? -1 : 1)),
    }))
    .sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
}

async function askReference(
  mapping: Json,
  events: Json[],
  batched: boolean,
  sharedSecret: string | null,
): Promise<void> {
  const settings = sharedSecret === null ? {} : { sharedSecret };
  const ignore = (): undefined => undefined;
  if (!batched) {
    for (const event of events)
      await actionsWebhook.executeAction("send", { event, mapping, settings }).catch(ignore);
    return;
  }
  // The platform puts those into one batch that agree in what the keys name.
  const { data: _, ...keys } = mapping;
  for (const group of Map.groupBy(events, (event) => keyOf(keys, event)).values())
    await actionsWebhook.executeBatch("send", { events: group, mapping, settings }).catch(ignore);
}

function keyOf(keys: Json, event: Json): string {
  try {
    return JSON.stringify(actionsCore.transform(keys, event));
  } catch {
    return "";
  }
}

test("150 drawn mappings send what the open source sends", async ({ start }) => {
  const app = await start.app({ clock: "paused" });
  await app.call("settings.update", { vendor: "Segment" });
  const receiver: WebhookReceiver = await start.receiver();
  const { id: sourceId } = await app.source();
  let sentAtAll = 0;
  await fc.assert(
    fc.asyncProperty(
      cases,
      async ({
        place: drawnPlace,
        method,
        headers: drawn,
        data: body,
        batched,
        signed,
        ...drawnMore
      }) => {
        const events = drawnMore.properties.map((each, index) => ({
          type: "track",
          messageId: `m-${crypto.randomUUID()}`,
          userId: `u_${index}`,
          event: "Order Completed",
          properties: each,
        }));
        const mapping = {
          url: `${receiver.url}/${drawnPlace}?b=c%20d${drawnPlace}`,
          method,
          headers: drawn,
          data: body,
        };
        const sharedSecret = signed ? "s3cret" : null;
        const created = await app.answer("destinations.create", {
          kind: "webhooks-actions",
          name: "Drawn",
          sourceIds: [sourceId],
          sharedSecret,
          mappings: [
            {
              name: "One",
              ...mapping,
              batch: { enabled: batched },
            },
          ],
        });
        receiver.requests.length = 0;
        if (created.status === 201) {
          await app.ingest("/v1/batch", { batch: events });
          await app.advance({ to: "idle" });
          const { id } = created.body as { id: string };
          await app.call("destinations.delete", { id });
        }
        const ours = seen(receiver.requests);
        receiver.requests.length = 0;
        await askReference(mapping, structuredClone(events), batched, sharedSecret);
        expect(ours).toEqual(seen(receiver.requests));
        sentAtAll += ours.length;
      },
    ),
    { numRuns: 150, seed: 20261122 },
  );
  expect(sentAtAll).toBeGreaterThan(90);
}, 300_000);
