import { expect, test as base } from "vitest";
import type { DestinationId, WebhookId } from "../../domain/ids.ts";
import { createFaults } from "./faults.ts";
import { outcomeOf, starting, type RunningApp } from "../../../test/support/running-app.ts";

const test = base.extend("start", starting);

async function webhookOf(app: RunningApp) {
  const [destination] = (await app.call("destinations.list", {})).items;
  const webhook = destination?.webhooks[0];
  if (destination === undefined || webhook === undefined) throw new Error("There is no webhook.");
  return { id: destination.id, webhookId: webhook.id, webhook };
}

async function placeOf(app: RunningApp) {
  const { id, webhookId } = await webhookOf(app);
  return { id, webhookId };
}

test("a fault is put in front of a webhook, does its work, and is undone", async ({ start }) => {
  const app = await start.app({ clock: "paused" });
  const receiver = await start.receiver();
  await app.destination([{ url: receiver.url, headers: { "X-Team": "a" } }, "http://127.0.0.1:9/"]);
  const { id, webhookId } = await webhookOf(app);
  const put = await app.call("destinations.putFault", { id, webhookId, lose: "answer", times: 1 });
  const [endpoint] = (await app.call("endpoints.list", {})).items;
  expect(put.webhooks).toMatchObject([
    {
      id: webhookId,
      url: endpoint?.url,
      headers: { "X-Team": "a" },
      behind: { endpointId: endpoint?.id, url: receiver.url },
    },
    { url: "http://127.0.0.1:9/" },
  ]);
  expect(endpoint).toMatchObject({
    name: `In front of ${new URL(receiver.url).host}`,
    steps: [
      { do: "forward", to: receiver.url, lose: "answer", times: 1 },
      { do: "forward", to: receiver.url },
    ],
    inFrontOf: { destinationId: id, webhookId, url: receiver.url },
  });
  const message = await app.send();
  await app.call("clock.advance", { to: "next-due" });
  const attempts = (await app.delivery(message)).attempts.filter(
    (attempt) => attempt.webhookId === webhookId,
  );
  expect(attempts.map(outcomeOf)).toEqual(["1: connection_error", "2: success"]);
  expect(
    receiver.requests.map(({ headers }) => headers.find(([name]) => name === "X-Team")?.[1]),
  ).toEqual(["a", "a"]);

  const undone = await app.call("destinations.undoFault", { id, webhookId });
  expect(undone.webhooks[0]).toEqual({
    id: webhookId,
    url: receiver.url,
    headers: { "X-Team": "a" },
  });
  expect((await app.call("endpoints.list", {})).items).toEqual([]);
});

test("a fault is put in front of a webhook with the longest host name", async ({ start }) => {
  const app = await start.app({ clock: "paused" });
  const host = `${`${"a".repeat(60)}.`.repeat(4)}test`;
  await app.destination([`http://${host}/`]);
  await app.call("destinations.putFault", { ...(await placeOf(app)), lose: "answer" });
  const [endpoint] = (await app.call("endpoints.list", {})).items;
  expect(endpoint?.name).toBe(`In front of ${host.slice(0, 180)}`);
});

test("an undo works after a restart on other ports, and until then the webhook follows its endpoint", async ({
  start,
}) => {
  const data = await start.directory();
  const receiver = await start.receiver();
  const before = await start.app({ data });
  await before.destination([receiver.url]);
  await before.call("destinations.putFault", await placeOf(before));
  await before.stop();
  const app = await start.app({ data });
  const { id, webhookId, webhook } = await webhookOf(app);
  expect(webhook.url).toBe((await app.call("endpoints.list", {})).items[0]?.url);
  await app.send();
  await app.settle();
  expect(receiver.requests).toHaveLength(1);
  expect(await app.call("destinations.undoFault", { id, webhookId })).toMatchObject({
    webhooks: [{ id: webhookId, url: receiver.url }],
  });
});

test("a second fault, an undo of nothing, and a wrong fault are refused", async ({ start }) => {
  const app = await start.app();
  await app.destination(["http://127.0.0.1:9/"]);
  const { id, webhookId } = await webhookOf(app);
  await expect(app.call("destinations.undoFault", { id, webhookId })).rejects.toThrow(
    "No test endpoint is in front of this webhook.",
  );
  const missing = { id: "dst_000000099", webhookId };
  for (const call of ["putFault", "undoFault"] as const)
    await expect(app.call(`destinations.${call}`, missing)).rejects.toThrow("no destination dst_");
  const mapped = await app.destination([], {
    ...{ name: "Mapped", kind: "webhooks-actions" },
    mappings: [{ name: "All", url: "http://127.0.0.1:9/" }],
  });
  const lane = { id: mapped.id, webhookId: mapped.webhooks[0]?.id ?? "" };
  await expect(app.call("destinations.putFault", lane)).rejects.toThrow("mapped_url");
  await expect(app.call("destinations.putFault", { id, webhookId, copies: 11 })).rejects.toThrow(
    "a whole number from 1 to 10",
  );
  expect((await app.call("endpoints.list", {})).items).toEqual([]);
  await app.call("destinations.putFault", { id, webhookId });
  await expect(app.call("destinations.putFault", { id, webhookId })).rejects.toThrow(
    "is behind the test endpoint In front of 127.0.0.1:9 already",
  );
});

test("deleting the endpoint undoes the fault, and a new path is followed", async ({ start }) => {
  const app = await start.app();
  await app.destination(["http://127.0.0.1:9/"]);
  await app.call("destinations.putFault", await placeOf(app));
  const [endpoint] = (await app.call("endpoints.list", {})).items;
  const moved = await app.call("endpoints.update", { id: endpoint?.id ?? "", path: "moved" });
  expect((await webhookOf(app)).webhook.url).toBe(moved.url);
  await app.call("endpoints.delete", { id: moved.id });
  expect((await webhookOf(app)).webhook).toMatchObject({ url: "http://127.0.0.1:9/" });
});

test("an export has the fault, its credentials left out, and an import restores it", async ({
  start,
}) => {
  const app = await start.app();
  const url = "http://ada:secret@127.0.0.1:9/hook?token=abc";
  await app.destination([url]);
  await app.call("destinations.putFault", await placeOf(app));
  const plain = await app.call("configuration.export", {});
  expect(JSON.stringify(plain)).not.toMatch(/secret@|abc/);
  const whole = await app.call("configuration.export", { secrets: true });
  const other = await start.app();
  expect(await other.call("configuration.import", whole)).not.toHaveProperty("missing");
  const { id, webhookId, webhook } = await webhookOf(other);
  expect(webhook).toMatchObject({
    url: (await other.call("endpoints.list", {})).items[0]?.url,
    behind: { url },
  });
  await other.call("configuration.import", plain);
  expect(await other.call("destinations.undoFault", { id, webhookId })).toMatchObject({
    webhooks: [{ url }],
  });
});

test("an endpoint that another webhook uses too stays after an undo, in front of nobody", async ({
  start,
}) => {
  const app = await start.app();
  await app.destination(["http://127.0.0.1:9/"]);
  const place = await placeOf(app);
  await app.call("destinations.putFault", place);
  const [endpoint] = (await app.call("endpoints.list", {})).items;
  await app.destination(["http://127.0.0.1:9/", endpoint?.tlsUrl ?? ""], { name: "Other" });
  await app.call("destinations.undoFault", place);
  expect((await app.call("endpoints.list", {})).items).toMatchObject([
    { id: endpoint?.id, inFrontOf: null },
  ]);
  await expect(app.call("destinations.undoFault", place)).rejects.toThrow(
    "No test endpoint is in front of this webhook.",
  );
});

test.for([{ times: 2 }, { match: { userId: "u" } }, { chance: 0.5 }])(
  "a fault with %j is for some requests, and the others pass unchanged",
  async (some, { start }) => {
    const app = await start.app();
    await app.destination(["http://127.0.0.1:9/"]);
    const place = await placeOf(app);
    const stepsWith = async (fault: object): Promise<unknown> => {
      await app.call("destinations.putFault", { ...place, ...fault });
      const [endpoint] = (await app.call("endpoints.list", {})).items;
      await app.call("destinations.undoFault", place);
      return endpoint?.steps;
    };
    const passOn = { do: "forward", to: "http://127.0.0.1:9/" };
    expect(await stepsWith({ copies: 2 })).toEqual([{ ...passOn, copies: 2 }]);
    expect(await stepsWith({ copies: 2, ...some })).toEqual([
      { ...passOn, copies: 2, ...some },
      passOn,
    ]);
  },
);

test("an endpoint whose webhook is gone is in front of nobody, and can be deleted", async ({
  start,
}) => {
  const app = await start.app();
  const { id: own } = await app.destination(["http://127.0.0.1:9/", "http://127.0.0.1:8/"]);
  const place = await placeOf(app);
  const unknown = { id: own, webhookId: "whk_000000099" };
  for (const call of ["putFault", "undoFault"] as const)
    await expect(app.call(`destinations.${call}`, unknown)).rejects.toThrow("no webhook whk_");
  await app.call("destinations.putFault", place);
  const [endpoint] = (await app.call("endpoints.list", {})).items;
  const id = endpoint?.id ?? "";
  await app.call("destinations.update", { id: own, webhooks: [{ url: "http://127.0.0.1:8/" }] });
  await app.call("endpoints.update", { id, path: "moved" });
  const urls = async (): Promise<(string | undefined)[]> =>
    (await app.call("destinations.list", {})).items.flatMap(({ webhooks }) =>
      webhooks.map(({ url }) => url),
    );
  expect(await urls()).toEqual(["http://127.0.0.1:8/"]);
  await app.call("endpoints.delete", { id });
  expect([await urls(), (await app.call("endpoints.list", {})).items]).toEqual([
    ["http://127.0.0.1:8/"],
    [],
  ]);
  await expect(app.call("endpoints.delete", { id })).rejects.toThrow("no test endpoint");
});

test("what the store refuses leaves the webhook and the endpoints as they were", () => {
  const reloaded: string[] = [];
  const full = new Error("disk full");
  const webhook = { id: 2, url: "http://127.0.0.1:9/" };
  const { put } = createFaults({
    store: {
      atomically: (write: () => unknown) => {
        write();
        throw full;
      },
    },
    configuration: {
      destination: () => ({ id: 1, kind: "webhooks", webhooks: [webhook] }),
      destinations: () => [],
      pointWebhook: () => reloaded.push("pointed"),
      reload: () => reloaded.push("configuration"),
    },
    endpoints: {
      list: () => [],
      create: () => ({ url: "http://127.0.0.1:4702/a" }),
      reload: () => reloaded.push("endpoints"),
    },
  } as unknown as Parameters<typeof createFaults>[0]);
  expect(() => put(1 as DestinationId, 2 as WebhookId, {})).toThrow(full);
  expect(reloaded).toEqual(["pointed", "configuration", "endpoints"]);
});

test("where there is no room for an endpoint, the webhook is not pointed at one", async ({
  start,
}) => {
  const app = await start.app();
  await app.destination(["http://127.0.0.1:9/"]);
  const steps = [{ do: "answer" as const, body: "x".repeat(449_000) }];
  for (const name of ["One", "Two"]) await app.call("endpoints.create", { name, steps });
  await app.call("endpoints.create", {
    name: "Three",
    steps: [{ do: "answer", body: "x".repeat(900) }],
  });
  await expect(app.call("destinations.putFault", await placeOf(app))).rejects.toThrow("list_full");
  expect((await webhookOf(app)).webhook.url).toBe("http://127.0.0.1:9/");
});
