/**
 * Broken receivers and configurations, and a client that mends each of them from the answers alone:
 * it makes the calls that they suggest, in their order, and changes its receiver as a "Fix:" line
 * says. It knows only what a developer has: the receiver's URL, secret, log and source.
 */

import { createHmac } from "node:crypto";
import { test as base, expect } from "vitest";
import { starting, type RunningApp, type Start } from "../support/running-app.ts";
import { nextsOf, ownLines, startAgent, type Agent, type Next } from "./agent.ts";

const test = base.extend("start", starting);

/** More calls than a task needs; without an end, a client would follow suggestions in circles. */
const maxCalls = 20;

type Knowledge = {
  /** What stands for each `<…>` in a suggestion. */
  known?: Record<string, () => string>;
  /** Changes to the receiver's program, by the code of a fix. */
  fixes?: Record<string, () => void>;
  /** What the user reports, when it is not that something does not arrive. */
  first?: Next;
  isSolved: () => boolean | Promise<boolean>;
};

async function solve(
  { use }: Agent,
  { known = {}, fixes = {}, first, isSolved }: Knowledge,
): Promise<string[]> {
  const calls: string[] = [];
  const queue: Next[] = [first ?? { tool: "why_not_delivered", input: {} }];
  const made = new Map<string, string>();
  while (queue.length > 0 && calls.length < maxCalls) {
    const { tool, input } = queue.shift() as Next;
    const filled = JSON.stringify(input).replaceAll(/<([^>]+)>/g, (whole, what: string) =>
      JSON.stringify(known[what]?.() ?? whole).slice(1, -1),
    );
    const call = `${tool} ${filled}`;
    if (filled.includes("<")) continue;
    calls.push(call);
    const answered = await use(tool, JSON.parse(filled) as Record<string, unknown>);
    const text = answered.replaceAll(/^(--- .*data) \w{12}\b/gm, "$1 mark");
    // The same call with the same answer leads nowhere new.
    if (made.get(call) === text) continue;
    made.set(call, text);
    for (const [, code = ""] of ownLines(text)
      .join("\n")
      .matchAll(/Fix in the receiver: ([\w-]+)/g))
      fixes[code]?.();
    if (await isSolved()) return calls;
    queue.unshift(...nextsOf(text));
  }
  throw new Error(`not solved by\n${calls.join("\n")}`);
}

type Task = (start: Start, app: RunningApp) => Promise<Knowledge>;

const order = {
  userId: "u_1",
  event: "Order Completed",
  properties: { total: 10.5, note: "größer" },
};

const isDelivered = (app: RunningApp) => async (): Promise<boolean> =>
  (await app.call("messages.list", { filter: 'state:delivered event:"Order Completed"' })).total >
  0;

/** A receiver with a shared secret that computes digests in its own way, until it is mended. */
async function verifying(
  start: Start,
  app: RunningApp,
  wrong: Partial<{ key: string; over: (body: string) => string; algorithm: string }>,
  connect = (url: string): Promise<unknown> => app.destination([url], { sharedSecret: "s3cret" }),
): Promise<Pick<Knowledge, "known" | "isSolved"> & { program: typeof wrong }> {
  const program = { key: "s3cret", over: (body: string) => body, algorithm: "sha1", ...wrong };
  let digest = "";
  let over = "";
  const receiver = await start.receiver((response, { body, headers }) => {
    over = program.over(body);
    digest = createHmac(program.algorithm, program.key).update(over).digest("hex");
    const given = headers.find(([name]) => name.toLowerCase() === "x-signature")?.[1];
    response.writeHead(given === digest ? 200 : 401).end();
  });
  await connect(receiver.url);
  await app.send(order);
  await app.settle();
  return {
    program,
    known: {
      "the digest that your receiver computes": () => digest,
      "the body that your receiver computes it over": () => over,
    },
    isSolved: isDelivered(app),
  };
}

const receiverUrl = (url: string) => ({ "the URL of your receiver": () => url });

const tasks: Record<string, Task> = {
  "a program that sends with a key that no source has": async (start, app) => {
    const receiver = await start.receiver();
    await fetch(`${app.ingestUrl}/v1/track`, {
      method: "POST",
      headers: { Authorization: `Basic ${btoa("wk_other:")}` },
      body: JSON.stringify(order),
    });
    return { known: receiverUrl(receiver.url), isSolved: isDelivered(app) };
  },

  "a destination that somebody disabled": async (start, app) => {
    const receiver = await start.receiver();
    await app.destination([receiver.url], { enabled: false });
    await app.send(order);
    return { isSolved: isDelivered(app) };
  },

  "a source without a destination": async (start, app) => {
    const receiver = await start.receiver();
    await app.source();
    await app.send(order);
    return { known: receiverUrl(receiver.url), isSolved: isDelivered(app) };
  },

  "a message whose integrations leave webhooks out": async (start, app) => {
    const receiver = await start.receiver();
    await app.destination([receiver.url]);
    await app.send({ ...order, integrations: { All: false, webhooks: true } });
    return {
      known: { "the event": () => order.event, "the user": () => order.userId },
      isSolved: isDelivered(app),
    };
  },

  "a message without a user": async (start, app) => {
    const receiver = await start.receiver();
    await app.destination([receiver.url]);
    await app.ingest("/v1/batch", { batch: [{ type: "track", event: order.event }] });
    return {
      known: { "the event": () => order.event, "the user": () => order.userId },
      isSolved: isDelivered(app),
    };
  },

  "a webhook's URL with a port where nothing listens": async (start, app) => {
    const receiver = await start.receiver();
    await app.destination(["http://127.0.0.1:1/hook"]);
    await app.send(order);
    await app.settle();
    return { known: receiverUrl(receiver.url), isSolved: isDelivered(app) };
  },

  "a webhook's URL with a path that the receiver does not have": async (start, app) => {
    const receiver = await start.receiver((response, { url }) =>
      response.writeHead(url === "/hook" ? 200 : 404).end(),
    );
    await app.destination([receiver.url.replace("/hook", "/hooks")]);
    await app.send(order);
    await app.settle();
    return { known: receiverUrl(receiver.url), isSolved: isDelivered(app) };
  },

  "a receiver whose secret has quotation marks around it": async (start, app) => {
    const { program, ...task } = await verifying(start, app, { key: '"s3cret"' });
    return { ...task, fixes: { secret: () => (program.key = "s3cret") } };
  },

  "a receiver that signs what it serialised again": async (start, app) => {
    const spaced = (body: string): string =>
      JSON.stringify(JSON.parse(body), null, 1).replaceAll(/\n */g, " ");
    const { program, ...task } = await verifying(start, app, { over: spaced });
    return { ...task, fixes: { "raw-body": () => (program.over = (body) => body) } };
  },

  "a receiver that computes SHA-256": async (start, app) => {
    const { program, ...task } = await verifying(start, app, { algorithm: "sha256" });
    return { ...task, fixes: { sha1: () => (program.algorithm = "sha1") } };
  },

  "a receiver that verifies all of a batch": async (start, app) => {
    const batch = { enabled: true, size: 1 };
    const { id } = await app.source();
    const connect = (url: string) =>
      app.call("destinations.create", {
        ...{ kind: "webhooks-actions", name: "Batches", sourceIds: [id], sharedSecret: "s3cret" },
        mappings: [{ name: "All", url, batch }],
      });
    const { program, ...task } = await verifying(start, app, {}, connect);
    const first = (body: string): string => JSON.stringify((JSON.parse(body) as unknown[])[0]);
    return { ...task, fixes: { "first-element": () => (program.over = first) } };
  },

  "a receiver that verifies all of a batch that no answer has room for": async (start, app) => {
    // Full with the order, however long it takes to send them.
    const batch = { enabled: true, size: 1000, waitMs: 3_600_000 };
    const { id } = await app.source();
    const connect = async (url: string): Promise<void> => {
      await app.call("destinations.create", {
        ...{ kind: "webhooks-actions", name: "Batches", sourceIds: [id], sharedSecret: "s3cret" },
        mappings: [{ name: "All", url, batch }],
      });
      const view = {
        type: "track",
        userId: "u",
        event: "View",
        properties: { x: "é".repeat(300) },
      };
      for (const count of [500, 499])
        await app.ingest("/v1/batch", { batch: Array.from({ length: count }, () => view) });
    };
    const { program, ...task } = await verifying(start, app, {}, connect);
    const first = (body: string): string => JSON.stringify((JSON.parse(body) as unknown[])[0]);
    return { ...task, fixes: { "first-element": () => (program.over = first) } };
  },

  "a receiver that moved, and redirects": async (start, app) => {
    const receiver = await start.receiver((response, { url }) =>
      response.writeHead(url === "/hook" ? 200 : 308, { location: "/hook" }).end(),
    );
    await app.destination([receiver.url.replace("/hook", "/old")]);
    await app.send(order);
    await app.settle();
    return { known: receiverUrl(receiver.url), isSolved: isDelivered(app) };
  },

  "a test endpoint that answers 410": async (_start, app) => {
    const steps = [{ do: "answer" as const, status: 410 }];
    const { url } = await app.call("endpoints.create", { name: "Gone", steps });
    await app.destination([url]);
    await app.send(order);
    await app.settle();
    return { isSolved: isDelivered(app) };
  },

  "a fault in front of a receiver": async (start, app) => {
    const receiver = await start.receiver();
    const { id, webhooks } = await app.destination([receiver.url]);
    const webhookId = webhooks[0]?.id ?? "";
    await app.call("destinations.putFault", { id, webhookId, status: 401, times: 100 });
    await app.send(order);
    await app.settle();
    return { isSolved: isDelivered(app) };
  },

  "a filter that drops too much": async (start, app) => {
    const receiver = await start.receiver();
    const filters = [{ name: "No tests", if: 'type = "track"', action: "drop" as const }];
    await app.destination([receiver.url], { filters });
    await app.send(order);
    return { isSolved: isDelivered(app) };
  },

  "a filter that samples": async (start, app) => {
    const receiver = await start.receiver();
    const filters = [{ name: "Some", action: "sample" as const, share: 0 }];
    await app.destination([receiver.url], { filters });
    await app.send(order);
    return { isSolved: isDelivered(app) };
  },

  "a plan that blocks the message": async (start, app) => {
    const receiver = await start.receiver();
    const rule = { properties: { total: { type: "string" } } };
    await app.source({ plan: { schemas: { [order.event]: rule }, onViolation: "block" } });
    await app.destination([receiver.url]);
    await app.send(order);
    return { isSolved: isDelivered(app) };
  },

  "a plan that does not know the event": async (start, app) => {
    const receiver = await start.receiver();
    await app.source({ plan: { schemas: { Other: {} }, unplannedEvents: "block" } });
    await app.destination([receiver.url]);
    await app.send(order);
    return { isSolved: isDelivered(app) };
  },

  "a destination that is connected to another source": async (start, app) => {
    const receiver = await start.receiver();
    const other = await app.call("sources.create", { name: "Other" });
    await app.call("sources.create", { name: "Shop", writeKey: "key" });
    await app.destination([receiver.url], { sourceIds: [other.id] });
    await app.send(order);
    return { isSolved: isDelivered(app) };
  },

  "retries that are over when the receiver works again": async (start, app) => {
    const receiver = await start.receiver(503);
    await app.destination([receiver.url]);
    await app.call("clock.set", { mode: "paused" });
    await app.send(order);
    await app.advance({ to: "idle" });
    receiver.answer = 200;
    return { isSolved: isDelivered(app) };
  },

  "retries that wait for a clock that somebody paused": async (start, app) => {
    const receiver = await start.receiver(503);
    await app.destination([receiver.url]);
    await app.call("clock.set", { mode: "paused" });
    await app.send(order);
    await app.settle();
    receiver.answer = 200;
    return { isSolved: isDelivered(app) };
  },

  "a fault of a source that refuses every request": async (start, app) => {
    const receiver = await start.receiver();
    await app.destination([receiver.url]);
    const source = await app.source();
    await app.call("sources.update", { id: source.id, faults: [{ do: "answer", status: 500 }] });
    await expect(app.ingest("/v1/track", order)).rejects.toThrow("500");
    return { isSolved: () => receiver.requests.length > 0 };
  },

  "a receiver that works before it answers": async (start, app) => {
    const program = { answersFirst: false };
    const receiver = await start.receiver((response) => {
      if (program.answersFirst) response.writeHead(202).end();
    });
    await app.call("retryProfiles.create", { name: "quick", timeoutMs: 100 });
    await app.destination([receiver.url], { retryProfile: "quick" });
    await app.send(order);
    await app.settle();
    return {
      fixes: { "answer-first": () => (program.answersFirst = true) },
      isSolved: isDelivered(app),
    };
  },

  "a receiver that books an order twice": async (start, _app) => {
    const program = { remembers: false };
    const seen = new Set<string>();
    const booked: string[] = [];
    const receiver = await start.receiver((response, { method, body }) => {
      if (method === "GET") return void response.end(JSON.stringify(booked));
      const { messageId, userId } = JSON.parse(body) as { messageId: string; userId: string };
      if (!program.remembers || !seen.has(messageId)) booked.push(userId);
      seen.add(messageId);
      response.end();
    });
    const check = { url: receiver.url, effects: receiver.url, only: ["duplicate"] };
    return {
      first: { tool: "check_receiver", input: check },
      fixes: { idempotency: () => (program.remembers = true) },
      isSolved: () => program.remembers,
    };
  },
};

test.for(Object.entries(tasks))("%s is mended", async ([, task], { start, onTestFinished }) => {
  const agent = await startAgent(start);
  onTestFinished(() => agent.stop());
  const knowledge = await task(start, agent.app);
  const calls = await solve(agent, knowledge);
  expect(calls.length).toBeLessThanOrEqual(maxCalls);
});

test("an agent sets up a plan, a filter, mappings, an audience and a computed trait, and sees what they do", async ({
  start,
  onTestFinished,
}) => {
  const agent = await startAgent(start);
  onTestFinished(() => agent.stop());
  const receiver = await start.receiver();
  const idIn = (text: string): string => /(?:Created|Changed) (\w+)\./.exec(text)?.[1] ?? text;
  const configure = async (kind: string, changes: object, id?: string): Promise<string> =>
    idIn(await agent.use("configure", { kind, changes, ...(id === undefined ? {} : { id }) }));
  const sourceId = await configure("source", { name: "App" });
  const rule = { type: "object", properties: { total: { type: "number" } } };
  const planned = await agent.use("configure", {
    kind: "source",
    id: sourceId,
    changes: { plan: { schemas: { "Order Completed": rule }, onViolation: "block" } },
  });
  expect(planned).toContain("Its tracking plan: block; rules: 1.");
  const webhooks = [{ url: receiver.url }];
  const filters = [{ name: "No tests", if: 'event = "Test"', action: "drop" }];
  const filtered = await configure("destination", {
    name: "Filtered",
    sourceIds: [sourceId],
    webhooks,
    filters,
  });
  const data = { who: { "@path": "$.userId" } };
  const trigger = 'event = "Order Completed"';
  const mappings = [
    { name: "Orders", trigger, data, url: receiver.url },
    { name: "Totals", trigger, data: { "@path": "$.properties.total" }, url: receiver.url },
  ];
  const mapped = await configure("destination", {
    kind: "webhooks-actions",
    name: "Mapped",
    sourceIds: [sourceId],
    mappings,
  });
  const send = (event: string, total: unknown) =>
    agent.use("send_and_wait", { event, userId: "u_1", properties: { total } });
  expect(await send("Order Completed", "ten")).toMatch(/Cause: plan_\w+/);
  const test = await send("Test", 1);
  expect(test).toMatch(/Not routed to dst_\w+\. Cause: filter/);
  expect(test).toContain("Cause: trigger_not_met");
  const sent = await send("Order Completed", 10);
  expect(sent).toContain("is delivered");
  expect(sent).toContain(`Some mappings of ${mapped} cannot send it. Cause: payload_error`);
  expect(sent).toContain("The data must be an object.");
  const only = { event: "Order Completed", userId: "u_1", integrations: { All: false } };
  expect(await agent.use("send_and_wait", only)).toContain(
    'Send it with `"Actions Webhook": true`',
  );
  expect(receiver.requests.map(({ body }) => JSON.parse(body))).toContainEqual({ who: "u_1" });

  const audience = await configure("audience", {
    name: "Buyers",
    rule: { event: "Order Completed", atLeast: 1 },
    destinationIds: [filtered],
  });
  expect(await agent.use("show", { id: audience })).toContain("is an audience of 1 users.");
  const trait = await configure("computed_trait", {
    name: "Orders",
    computation: { aggregate: "count", event: "Order Completed" },
  });
  expect(await agent.use("show", { id: trait })).toContain("is a computed trait.");
  const seen = await agent.use("overview");
  expect(seen).toContain(`${audience} 1 users`);
  for (const [kind, id] of [
    ["audience", audience],
    ["computed_trait", trait],
  ] as const)
    expect(await agent.use("configure", { kind, id, remove: true })).toBe("Deleted.");
});
