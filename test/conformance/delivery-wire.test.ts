/** What a webhook gets, byte for byte, and that the record says the same. */

import { describe, expect, test as base } from "vitest";
import { starting } from "../support/running-app.ts";
import type { Message, RunningApp, Start } from "../support/running-app.ts";

const test = base.extend("start", starting);

const noContent = "HTTP/1.1 204 Nothing to  say\r\nServer: raw\r\nX-Odd:  spaced \r\n\r\n";

describe("the request", () => {
  test("has the line, the headers and the body of the documents, in bytes", async ({ start }) => {
    const app = await start.app();
    const raw = await start.rawReceiver({ onRequest: (socket) => socket.write(noContent) });
    const url = `http://127.0.0.1:${raw.port}/some/path%20here?q=1&r=%C3%BC&empty=#fragment`;
    await app.destination(
      [
        {
          url,
          headers: { "X-Team": "growth; a=b", Authorization: "Bearer t0ken", "x-lower": "Grüße" },
        },
      ],
      {
        sharedSecret: "s3cr3t",
      },
    );
    const id = await app.send({ event: "Größe gewählt" });
    await app.settle();
    const delivery = await app.delivery(id);
    const [attempt] = delivery.attempts;
    const bytes = Buffer.from(raw.received[0] ?? "", "latin1");
    const end = bytes.indexOf("\r\n\r\n");
    const lines = bytes.subarray(0, end).toString("latin1").split("\r\n");
    const body = bytes.subarray(end + 4).toString("utf8");

    expect(lines[0]).toBe("POST /some/path%20here?q=1&r=%C3%BC&empty= HTTP/1.1");
    expect(lines.slice(1)).toEqual([
      `Host: 127.0.0.1:${raw.port}`,
      "User-Agent: Hookyard/1.0",
      "Content-Type: application/json",
      expect.stringMatching(/^X-Signature: [0-9a-f]{40}$/),
      "X-Team: growth; a=b",
      "Authorization: Bearer t0ken",
      "x-lower: Grüße",
      `Content-Length: ${Buffer.byteLength(body)}`,
      "Connection: keep-alive",
    ]);
    expect(body).toBe(delivery.payload);
    expect(attempt?.request).toEqual({
      sent: true,
      method: "POST",
      url,
      startLine: lines[0],
      headers: lines
        .slice(1)
        .map((line) => [line.slice(0, line.indexOf(": ")), line.slice(line.indexOf(": ") + 2)]),
      body,
    });
    expect(attempt?.response).toEqual({
      status: 204,
      startLine: "HTTP/1.1 204 Nothing to  say",
      headers: [
        ["Server", "raw"],
        ["X-Odd", "spaced"],
      ],
      body: "",
      bodyLength: 0,
    });
  });

  test("has no signature without a secret, and the vendor that is set", async ({ start }) => {
    const app = await start.app();
    await app.call("settings.update", { vendor: "Acme-Corp" });
    const receiver = await start.receiver(200);
    await app.destination([receiver.url]);
    await app.send();
    await app.settle();
    expect(receiver.requests[0]?.headers.map(([name]) => name)).toEqual([
      "Host",
      "User-Agent",
      "Content-Type",
      "Content-Length",
      "Connection",
    ]);
    expect(receiver.requests[0]?.headers).toContainEqual(["User-Agent", "Acme-Corp/1.0"]);
  });

  test("is the same on every attempt and to every webhook but for its headers", async ({
    start,
  }) => {
    const app = await start.app({ clock: "paused" });
    const [one, other] = [await start.receiver(503), await start.receiver(503)];
    await app.destination([one.url, other.url]);
    const id = await app.send();
    await app.advance({ byMs: 3_600_000 });
    const bodies = [...one.requests, ...other.requests].map(({ body }) => body);
    expect(bodies.length).toBeGreaterThan(10);
    expect(new Set(bodies)).toEqual(new Set([(await app.delivery(id)).payload]));
  });

  test("goes to names below localhost on loopback", async ({ start }) => {
    const app = await start.app();
    const receiver = await start.receiver(200);
    await app.destination([receiver.url.replace("127.0.0.1", "shop.hooks.localhost")]);
    const id = await app.send();
    await app.settle();
    expect((await app.delivery(id)).state).toBe("delivered");
    expect(receiver.requests[0]?.headers[0]?.[1]).toMatch(/^shop\.hooks\.localhost:\d+$/);
  });
});

const common = {
  messageId: "m1",
  timestamp: "2026-11-21T03:16:19.987654Z",
  context: { locale: "de" },
};
const context = { locale: "de", ip: "127.0.0.1", library: { name: "unit", version: "1" } };
const delivered = { version: 1, messageId: "m1", timestamp: "2026-11-21T03:16:19.987Z", context };

const device = {
  device: { model: "m", type: "ios" },
  os: { name: "iOS", version: "20" },
  app: { build: "1", name: "Shop", version: "2" },
};
const page = { path: "/p", referrer: "", title: "P", url: "https://shop.example/p", extra: [1] };

/** What comes in, and exactly what goes out. */
const shapes: { name: string; sent: Message; body: Message }[] = [
  {
    name: "page",
    sent: { type: "page", userId: "u1", name: "Home", category: "Docs", properties: page },
    body: {
      ...delivered,
      type: "page",
      userId: "u1",
      name: "Home",
      category: "Docs",
      properties: page,
    },
  },
  {
    name: "page without properties",
    sent: { type: "page", anonymousId: "a1" },
    body: { ...delivered, type: "page", anonymousId: "a1", properties: {} },
  },
  {
    name: "screen",
    sent: { type: "screen", userId: "u1", name: "Cart", context: { ...common.context, ...device } },
    body: {
      ...delivered,
      type: "screen",
      userId: "u1",
      name: "Cart",
      properties: {},
      context: { ...context, ...device },
    },
  },
  {
    name: "identify",
    sent: { type: "identify", userId: "u1", anonymousId: "a1", traits: { plan: "pro", seats: 3 } },
    body: {
      ...delivered,
      type: "identify",
      userId: "u1",
      anonymousId: "a1",
      traits: { plan: "pro", seats: 3 },
    },
  },
  {
    name: "identify without traits",
    sent: { type: "identify", userId: "u1", traits: null },
    body: { ...delivered, type: "identify", userId: "u1", traits: {} },
  },
  {
    name: "track",
    sent: { type: "track", userId: "u1", event: "Bought", properties: { total: 9.5 } },
    body: {
      ...delivered,
      type: "track",
      userId: "u1",
      event: "Bought",
      properties: { total: 9.5 },
    },
  },
  {
    name: "anonymous track",
    sent: { type: "track", anonymousId: "a1", event: "Bought" },
    body: { ...delivered, type: "track", anonymousId: "a1", event: "Bought", properties: {} },
  },
  {
    name: "alias",
    sent: { type: "alias", userId: "new", previousId: "old" },
    body: { ...delivered, type: "alias", "Previous ID": "old", "User ID": "new" },
  },
  {
    name: "group",
    sent: { type: "group", userId: "u1", groupId: "g1", traits: { name: "Acme" } },
    body: { ...delivered, type: "group", userId: "u1", groupId: "g1", traits: { name: "Acme" } },
  },
  {
    name: "delete",
    sent: { type: "delete", userId: "u1" },
    body: { type: "delete", userId: "u1", timestamp: delivered.timestamp },
  },
];

async function deliveredBody(
  start: Start,
  sent: Message,
  payload?: "full",
): Promise<{ body: Message; app: RunningApp; id: string }> {
  const app = await start.app({ clock: "paused" });
  const receiver = await start.receiver(200);
  await app.destination([receiver.url], payload === undefined ? {} : { payload });
  await app.ingest("/v1/batch", {
    batch: [{ ...common, ...sent }],
    context: { library: context.library },
  });
  await app.settle();
  const { items } = await app.call("messages.list", {});
  return {
    app,
    body: JSON.parse(receiver.requests[0]?.body ?? "") as Message,
    id: items[0]?.id ?? "",
  };
}

describe("the documented payload", () => {
  test.for(shapes)(
    "of $name has exactly the members of its type",
    async ({ sent, body }, { start }) => {
      expect((await deliveredBody(start, sent)).body).toEqual(body);
    },
  );

  test("takes nothing along that only Hookyard has a use for", async ({ start }) => {
    const sent = {
      type: "track",
      userId: "u1",
      event: "Bought",
      sentAt: common.timestamp,
      integrations: { Other: true },
      channel: "server",
      odd: 1,
    };
    const { body, app, id } = await deliveredBody(start, sent);
    expect(body).toEqual({
      ...delivered,
      type: "track",
      userId: "u1",
      event: "Bought",
      properties: {},
    });
    expect((await app.message(id)).raw).toContain('"odd":1');
  });
});

describe("the full payload", () => {
  test.for(shapes)(
    "of $name adds five members, and to a delete none",
    async ({ sent, body }, { start }) => {
      const more = {
        sentAt: "2026-11-21T03:16:20Z",
        integrations: { Other: false },
        channel: "server",
      };
      const { body: full, app, id } = await deliveredBody(start, { ...sent, ...more }, "full");
      const { receivedAt } = await app.message(id);
      const added = {
        receivedAt,
        sentAt: "2026-11-21T03:16:20.000Z",
        originalTimestamp: delivered.timestamp,
        integrations: { Other: false },
        channel: "server",
      };
      expect(full).toEqual(sent["type"] === "delete" ? body : { ...body, ...added });
    },
  );
});

test("a path is sent as it is written, and the user of a URL as Basic authorization", async ({
  start,
}) => {
  const app = await start.app();
  const receiver = await start.receiver(200);
  const { host } = new URL(receiver.url);
  const targets = ["/a/../b/./c", "/%7Eada/%2E%2E/x", "/{id}|x?q=a/../b&r='\"", "/"];
  await app.destination(targets.map((target) => `http://us%65r:p|w%@${host}${target}`));
  await app.send();
  await app.settle();
  expect(receiver.requests.map(({ url }) => url).toSorted()).toEqual(targets.toSorted());
  const basic = `Basic ${Buffer.from("user:p|w%").toString("base64")}`;
  for (const { headers } of receiver.requests)
    expect(headers).toContainEqual(["Authorization", basic]);
  const foreign = await app.answer("destinations.create", {
    name: "Foreign",
    sourceIds: [],
    webhooks: [{ url: `http://${host}/grün` }],
  });
  expect(foreign).toMatchObject({
    status: 400,
    body: { message: expect.stringContaining("Write %C3%BC instead of ü") },
  });
});
