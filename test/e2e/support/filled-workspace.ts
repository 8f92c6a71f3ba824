/**
 * A shop on a clock that stands still: messages in each state, three webhooks that fail in their
 * own ways, requests of an unknown key,
 * and refused ones.
 */

import type { AnswerOf } from "../../../src/contract/contract.ts";
import type { MessageState } from "../../../src/domain/states.ts";
import { fillPeople, type FilledPeople } from "./filled-people.ts";
import type { RunningInspector } from "./running-inspector.ts";

export type FilledWorkspace = {
  sourceId: string;
  destinationId: string;
  endpointId: string;
  /** A webhook behind a fault, and the endpoint in front of it, which has forwarded a request. */
  behind: { destinationId: string; endpointId: string };
  /** The newest in each state; of those that wait, the one with the most attempts. */
  messages: Partial<Record<MessageState, AnswerOf<"messages.get">>>;
  people: FilledPeople;
};

/** What comes from outside is the caller's. */
type WorkspaceWords = {
  source: string;
  destination: string;
  endpoint: string;
  event: string;
  userId: string;
  properties: Record<string, unknown>;
  headerValue: string;
  answerBody: string;
};

const usual: WorkspaceWords = {
  source: "Shop web",
  destination: "Billing",
  endpoint: "flaky billing",
  event: "Order Completed",
  userId: "u_1042",
  properties: {
    total: 184.5,
    currency: "EUR",
    city: "Łódź",
    items: [
      { sku: "GRND-02", price: 129 },
      { sku: "BEAN-1K", price: 18.5 },
    ],
  },
  headerValue: "staging",
  answerBody: '{"error":"maintenance","retry":true}',
};

export async function fillWorkspace(
  inspector: RunningInspector,
  words: Partial<WorkspaceWords> = {},
): Promise<FilledWorkspace> {
  const { source, destination, endpoint, event, userId, properties, headerValue, answerBody } = {
    ...usual,
    ...words,
  };
  const { call, send } = inspector;
  await call("clock.set", { mode: "paused" });
  const web = await call("sources.create", {
    name: source,
    kind: "web",
    writeKey: inspector.writeKey,
    faults: [
      { do: "answer", status: 503, retryAfter: 5, times: 0 },
      { do: "delay", delayMs: 5, times: 0 },
      { do: "lose-answer", times: 0 },
      { do: "limit", perSecond: 1000 },
    ],
  });
  const app = await call("sources.create", {
    name: "Shop app",
    kind: "mobile",
    writeKey: "wk_app",
    mode: "production",
  });
  const flaky = await call("endpoints.create", {
    name: endpoint,
    path: "flaky-billing",
    steps: [
      {
        times: 3,
        do: "answer",
        status: 503,
        headers: { "X-Reason": "maintenance" },
        body: answerBody,
      },
      { do: "hang" },
      { do: "reset" },
      { times: 12, do: "answer", status: 200, body: answerBody },
      { do: "answer", status: 503 },
    ],
  });
  const gone = await call("endpoints.create", {
    name: "gone for good",
    steps: [{ do: "answer", status: 410 }],
  });
  const down = await call("endpoints.create", {
    name: "always down",
    steps: [{ do: "answer", status: 500, chance: 0.7 }, { do: "hang" }],
  });
  const steady = await call("endpoints.create", { name: "always 200", steps: [{ do: "answer" }] });
  const hanging = await call("endpoints.create", { name: "hanging", steps: [{ do: "hang" }] });
  const to = async (
    name: string,
    sources: { id: string }[],
    urls: string[],
    sharedSecret?: string,
  ) =>
    call("destinations.create", {
      name,
      sourceIds: sources.map(({ id }) => id),
      webhooks: urls.map((url) => ({ url, headers: { "X-Environment": headerValue } })),
      ...(sharedSecret === undefined ? {} : { sharedSecret }),
    });

  await to("CRM sync", [web, app], [steady.url], "also s3cret");
  const expiring = await to("Warehouse", [app], [down.url]);
  await send([{ userId, event: "Push Received", properties }], "wk_app");
  await call("pipeline.settle", {});
  await call("clock.advance", { to: "idle" });
  await call("destinations.update", { id: expiring.id, sourceIds: [] });

  // For an hour nothing gets through to the one, and the other recovers.
  const invoices = await to("Invoices", [app], [down.url, gone.url, steady.tlsUrl], "in s3cret");
  const billing = await to(destination, [web], [flaky.url], "s3cret");
  await send([{ userId, event, properties }], "wk_app");
  await send([
    { userId, event, properties, messageId: "twice" },
    ...calls(userId, event, properties, 3),
  ]);
  await call("pipeline.settle", {});
  await call("clock.advance", { byMs: 50 * 60_000 });
  await call("destinations.update", { id: invoices.id, sourceIds: [] });

  for (let wave = 0; wave < 6; wave += 1) {
    await send(calls(userId, event, properties, 4, wave));
    await call("pipeline.settle", {});
    await call("clock.advance", { byMs: 7_300 });
  }
  await send([
    { userId, event, properties, messageId: "twice" },
    { userId: "u_2" },
    { type: "identify" },
  ]);
  await call("clock.advance", { byMs: 2_100 });
  await to("Ledger", [app], [gone.url]);
  await send(
    [
      { userId, event: "App Opened", integrations: { All: false } },
      { userId, event, properties },
    ],
    "wk_app",
  );
  const toCancel = await call("deliveries.list", {
    state: "waiting",
    destinationId: billing.id,
    limit: 1,
  });
  for (const { id } of toCancel.items) await call("deliveries.cancel", { id });
  await call("clock.advance", { byMs: 1_200 });
  await to("Audit", [app], [hanging.url]);
  await send([{ userId, event: "Shipment Created", properties }], "wk_app");
  await call("pipeline.settle", {});
  await send(
    [
      { userId, event },
      { userId, event },
    ],
    "wk_unknown",
  );
  await sendRefused(inspector, event);

  const messages: FilledWorkspace["messages"] = {};
  for (const state of [
    "rejected",
    "duplicate",
    "filtered",
    "sending",
    "delivered",
    "failed",
    "expired",
    "cancelled",
    "waiting",
  ] as const) {
    const { items } = await call("messages.list", { state, limit: 50 });
    const [most] = items.toSorted((a, b) => b.attempts - a.attempts);
    if (most !== undefined) messages[state] = await call("messages.get", { id: most.id });
  }
  const people = await fillPeople(inspector, {
    name: words.destination ?? "Big spenders",
    event,
    userId,
    property: Object.keys(properties)[0] ?? "total",
    text: words.answerBody ?? "Łódź",
  });
  const behind = await putFault(call, steady.url);
  return {
    sourceId: web.id,
    destinationId: billing.id,
    endpointId: flaky.id,
    behind,
    messages,
    people,
  };
}

/** A wrong path, twice; no key; and a page's settings with an unknown key. */
async function sendRefused({ ingestUrl }: RunningInspector, event: string): Promise<void> {
  const context = { library: { name: event.slice(0, 20), version: "1.0" } };
  const body = JSON.stringify({ event, context });
  const python = { "User-Agent": "analytics-python/2.3.4" };
  for (const [path, init] of [
    ["/t", { method: "POST", headers: python, body }],
    ["/t", { method: "POST", headers: python, body }],
    ["/v1/track", { method: "POST", body }],
    ["/v1/projects/wk_page/settings", { headers: { "User-Agent": "Mozilla/5.0 (X11)" } }],
  ] as const)
    await (await fetch(`${ingestUrl}${path}`, init)).arrayBuffer();
}

/** Of several types and users, others in each wave. */
function calls(
  userId: string,
  event: string,
  properties: Record<string, unknown>,
  count: number,
  wave = 0,
) {
  return Array.from({ length: count }, (_, place) => {
    const nth = wave * 5 + place;
    const user = nth % 4 === 0 ? userId : `u_${1000 + ((nth * 37) % 240)}`;
    if (nth % 7 === 3)
      return {
        type: "identify" as const,
        userId: user,
        traits: { email: `${user}@example.com`, ...properties },
      };
    if (nth % 7 === 5) return { type: "page" as const, userId: user, name: "Shop", properties };
    return {
      userId: user,
      event: nth % 3 === 0 ? event : (["Cart Viewed", "Product Viewed"][nth % 2] ?? ""),
      properties: { ...properties, nth },
    };
  });
}

async function putFault(
  call: RunningInspector["call"],
  url: string,
): Promise<FilledWorkspace["behind"]> {
  const { id, webhooks } = await call("destinations.create", {
    name: "Orders",
    sourceIds: [],
    webhooks: [{ url }],
  });
  await call("destinations.putFault", {
    id,
    webhookId: webhooks[0]?.id ?? "",
    lose: "answer",
    copies: 2,
    times: 1,
  });
  const endpoint = (await call("endpoints.list", {})).items.find(
    ({ inFrontOf }) => inFrontOf?.destinationId === id,
  );
  for (const userId of ["ada", "bob"])
    await fetch(endpoint?.url ?? "", {
      method: "POST",
      body: JSON.stringify({ type: "identify", userId }),
    }).catch(() => undefined);
  return { destinationId: id, endpointId: endpoint?.id ?? "" };
}
