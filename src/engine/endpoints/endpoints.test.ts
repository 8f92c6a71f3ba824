import { createHmac } from "node:crypto";
import { Agent, request } from "undici";
import { describe, expect, onTestFinished, test } from "vitest";
import { askWithNode } from "../../../test/support/foreign-clients.ts";
import { startRawReceiver } from "../../../test/support/raw-receiver.ts";
import { until } from "../../../test/support/running-app.ts";
import {
  createEndpointStore,
  startEndpoints,
  unwrap,
} from "../../../test/support/running-endpoints.ts";
import type { Step } from "../../domain/configuration.ts";
import type { DestinationId, EndpointId } from "../../domain/ids.ts";
import type { EndpointDraft } from "../endpoint-pipeline.ts";
import { presets } from "./endpoint-draft.ts";

const track = (number: number): string =>
  JSON.stringify({
    type: "track",
    event: "Signed Up",
    userId: `u${number}`,
    messageId: `m${number}`,
  });
const identify = (number: number): string =>
  JSON.stringify({ type: "identify", userId: `u${number}` });

/** The statuses that so many connections at once are answered with. */
async function flood(url: string, bodies: string[], connections = 64): Promise<number[]> {
  const dispatcher = new Agent({ connections, pipelining: 1 });
  try {
    return await Promise.all(
      bodies.map(async (body) => {
        const answer = await request(url, { method: "POST", body, dispatcher });
        await answer.body.dump();
        return answer.statusCode;
      }),
    );
  } finally {
    await dispatcher.destroy();
  }
}
const count = (statuses: number[], status: number): number =>
  statuses.filter((each) => each === status).length;

/** Whatever kind of array the bytes are in. */
const bytesAsText = (name: string, value: unknown): unknown =>
  name === "body" ? undefined : value;

describe("a test endpoint", () => {
  test("is made with a path of its name, a place on both ports and a program at its first step", async () => {
    const { endpoints, url, tlsUrl } = await startEndpoints();
    const made = unwrap(endpoints.create({ name: " Flaky 30 % ", steps: [] }));
    expect(made).toMatchObject({
      name: "Flaky 30 %",
      path: "flaky-30",
      steps: [{ do: "answer", status: 200 }],
      after: "repeat-last",
      url: `${url}/flaky-30`,
      tlsUrl: `${tlsUrl}/flaky-30`,
      position: { step: 0, served: 0, received: 0 },
    });
    expect(tlsUrl).toMatch(/^https:\/\/self-signed\.localhost:\d+$/);
    expect(endpoints.get(made.id)).toEqual(made);
    expect(endpoints.list()).toEqual([made]);
  });

  test("gets a path of its own when the name's is taken, and one made up when the name has no letters", async () => {
    const { endpoints } = await startEndpoints();
    const names = ["Übung", "ubung", "übung", "日本", "--"];
    expect(names.map((name) => unwrap(endpoints.create({ name, steps: [] })).path)).toEqual([
      "ubung",
      "ubung-2",
      "ubung-3",
      "endpoint",
      "endpoint-2",
    ]);
  });

  test("is still there after a restart, at its step, with what it received", async () => {
    const store = createEndpointStore();
    const first = await startEndpoints({ store });
    const { id, url } = first.create({ steps: [{ do: "answer", status: 503 }, { do: "answer" }] });
    await askWithNode(url);
    const before = unwrap(first.endpoints.received(id, 10, null));
    await first.endpoints.stop();
    const second = await startEndpoints({ store });
    const endpoint = second.endpoints.get(id);
    expect(endpoint).toMatchObject({ name: "Under test", position: { step: 1, received: 1 } });
    const kept = unwrap(second.endpoints.received(id, 10, null));
    expect(JSON.parse(JSON.stringify(kept, bytesAsText))).toEqual(
      JSON.parse(JSON.stringify(before, bytesAsText)),
    );
    expect(kept.items[0]?.answeredAt).toBe(kept.items[0]?.receivedAt);
    await askWithNode(endpoint?.url ?? "");
    const after = unwrap(second.endpoints.received(id, 10, null)).items;
    expect(after.map(({ status }) => status)).toEqual([200, 503]);
    expect(new Set(after.map((request) => request.id)).size).toBe(2);
  });

  test("can count for each message, which then meets its first step first", async () => {
    const { create, endpoints } = await startEndpoints();
    const { id, url } = create({
      steps: [{ do: "answer", status: 503, times: 2 }, { do: "answer" }],
      perMessage: true,
    });
    const send = async (messageId?: string): Promise<number> => {
      const body = JSON.stringify(messageId === undefined ? {} : { messageId });
      return (await fetch(url, { method: "POST", body })).status;
    };
    const statuses = [];
    for (const message of ["a", "b", "a", "b", "a", "c", "b", undefined, undefined, undefined])
      statuses.push(await send(message));
    expect(statuses).toEqual([503, 503, 503, 503, 200, 503, 200, 503, 503, 200]);
    unwrap(endpoints.rewind(id));
    expect(await send("a")).toBe(503);
    expect(unwrap(endpoints.update(id, { name: "Other" })).perMessage).toBe(true);
    unwrap(endpoints.update(id, { perMessage: false }));
    expect([await send("x"), await send("y"), await send("z")]).toEqual([503, 503, 200]);
  });

  test("has a path that follows its name until a webhook or a request uses it, or a user chose one", async () => {
    let urls: string[] = [];
    const { create, endpoints, url: base } = await startEndpoints({ webhookUrls: () => urls });
    const rename = (id: EndpointId, name: string) => unwrap(endpoints.update(id, { name })).path;
    const one = create({ name: "endpoint", steps: [] });
    expect(rename(one.id, "Flaky billing")).toBe("flaky-billing");
    urls = [`${base}/flaky-billing`];
    expect(rename(one.id, "Other")).toBe("flaky-billing");
    const two = create({ name: "endpoint", steps: [] });
    await askWithNode(two.url);
    expect(rename(two.id, "Other")).toBe("endpoint");
    const three = create({ name: "Mine", path: "hooks/in", steps: [] });
    expect(rename(three.id, "Other")).toBe("hooks/in");
  });

  test("shows its position as requests come, and goes back when it is rewound", async () => {
    const { endpoints, create } = await startEndpoints();
    const { id, url } = create({
      steps: [{ do: "answer", status: 503, times: 3 }, { do: "answer" }],
    });
    expect(await flood(url, [track(1), track(2)], 1)).toEqual([503, 503]);
    expect(endpoints.get(id)?.position).toEqual({ step: 0, served: 2, received: 2 });
    expect(unwrap(endpoints.rewind(id)).position).toEqual({ step: 0, served: 0, received: 0 });
    expect(await flood(url, [1, 2, 3, 4].map(track), 1)).toEqual([503, 503, 503, 200]);
  });

  test("answers 200 and says so when no step takes a request", async () => {
    const { endpoints, create } = await startEndpoints();
    const { id, url } = create({ steps: [{ do: "reset", match: { type: "delete" } }] });
    expect(await askWithNode(url, { body: track(1) })).toMatchObject({ status: 200, body: "" });
    expect(endpoints.received(id, 1, null)).toMatchObject({
      items: [{ step: null, did: "default", status: 200 }],
    });
  });

  test("moves on only by requests that match, also when 64 come at once", async () => {
    const { endpoints, create } = await startEndpoints();
    const { id, url } = create({
      steps: [
        { do: "answer", status: 503, times: 100, match: { type: "track", event: "Signed Up" } },
        { do: "answer", status: 500, times: 50, match: { type: "identify" } },
        { do: "answer", status: 202 },
      ],
    });
    const bodies = Array.from({ length: 600 }, (_, number) =>
      number % 2 === 0 ? track(number) : identify(number),
    );
    const statuses = await flood(url, bodies);
    const ofTracks = statuses.filter((_, number) => number % 2 === 0);
    const ofIdentifies = statuses.filter((_, number) => number % 2 === 1);
    expect([count(ofTracks, 503), count(ofTracks, 202)]).toEqual([100, 200]);
    expect([count(ofIdentifies, 500), count(ofIdentifies, 202)]).toEqual([50, 250]);
    expect(endpoints.get(id)?.position).toEqual({ step: 2, served: 450, received: 600 });
  });

  test("loses no request when its program changes while 64 are in flight", async () => {
    const { endpoints, create, clock, whenReceived } = await startEndpoints();
    const { id, url } = create({
      steps: [{ do: "answer", status: 201, delayMs: 1_000, times: 1_000 }, { do: "answer" }],
    });
    const held = flood(
      url,
      Array.from({ length: 64 }, (_, number) => track(number)),
    );
    await whenReceived(64);
    const later: Promise<number[]>[] = [];
    for (let change = 0; change < 20; change += 1) {
      const steps: Step[] = [{ do: "answer", status: 300 + change, times: 1_000 }];
      unwrap(
        endpoints.update(
          id,
          change % 2 === 0 ? { steps } : { steps, name: `Change ${change}`, after: "start-over" },
        ),
      );
      later.push(
        flood(
          url,
          Array.from({ length: 32 }, (_, number) => track(1_000 + change * 32 + number)),
          16,
        ),
      );
      if (change % 5 === 0) await whenReceived(64 + change * 32 + 8);
    }
    const statuses = (await Promise.all(later)).flat();
    expect(statuses).toHaveLength(640);
    expect(statuses.every((status) => status >= 300 && status < 320)).toBe(true);
    clock.advanceBy(1_000);
    expect(count(await held, 201)).toBe(64);
    expect(endpoints.get(id)?.position.received).toBe(704);
    expect(endpoints.received(id, 1, null)).toMatchObject({ total: 704, dropped: 0 });
  });

  test("moves to a new path and leaves the old one", async () => {
    const { endpoints, create, url } = await startEndpoints();
    const { id } = create({ steps: [{ do: "redirect" }] });
    expect(await askWithNode(`${url}/under-test`)).toMatchObject({
      headers: { location: "/under-test?redirected" },
    });
    expect(unwrap(endpoints.update(id, { path: "/hooks/new_one" })).url).toBe(
      `${url}/hooks/new_one`,
    );
    expect(await askWithNode(`${url}/under-test`)).toMatchObject({ status: 404 });
    expect(await askWithNode(`${url}/hooks/new_one`)).toMatchObject({
      headers: { location: "/hooks/new_one?redirected" },
    });
  });

  test("is gone when it is deleted, and its path is free", async () => {
    const { endpoints, create } = await startEndpoints();
    const { id, url } = create({ path: "one", steps: [] });
    expect(endpoints.delete(id)).toBeNull();
    expect([endpoints.list(), endpoints.get(id)]).toEqual([[], undefined]);
    expect(await askWithNode(url)).toMatchObject({ status: 404 });
    const other = create({ path: "one", steps: [{ do: "answer", status: 202 }] });
    expect(other.id).not.toBe(id);
    expect(await askWithNode(url)).toMatchObject({ status: 202 });
  });

  test("has room for itself in a list of 900 KB, and may shrink when there is none", async () => {
    const { endpoints, create } = await startEndpoints();
    const stepsOf = (length: number): Step[] => [{ do: "answer", body: "x".repeat(length) }];
    const large = create({ name: "Large", steps: stepsOf(500_000) });
    const small = create({ name: "Small", steps: stepsOf(390_000) });
    const full = { problem: true, status: 409, code: "list_full" };
    expect(endpoints.create({ name: "Other", steps: stepsOf(20_000) })).toMatchObject(full);
    expect(endpoints.update(small.id, { steps: stepsOf(400_000) })).toMatchObject(full);
    expect(endpoints.list().map(({ steps: [step] }) => step?.body?.length)).toEqual([
      500_000, 390_000,
    ]);
    expect(endpoints.update(large.id, { steps: stepsOf(10) })).toMatchObject({ id: large.id });
    expect(endpoints.update(small.id, { steps: stepsOf(400_000) })).toMatchObject({ id: small.id });
  });

  test("keeps its place when something other than its steps changes", async () => {
    const { endpoints, create } = await startEndpoints();
    const { id, url } = create({
      steps: [
        { do: "answer", status: 503 },
        { do: "answer", times: 5 },
      ],
    });
    await askWithNode(url);
    expect(unwrap(endpoints.update(id, { name: "Another" })).position).toEqual({
      step: 1,
      served: 0,
      received: 1,
    });
  });

  test("says of each request whether its signature verifies", async () => {
    const secrets = [{ destinationId: 3 as DestinationId, name: "Hooks", secret: "hush" }];
    const { endpoints, create } = await startEndpoints({ secrets: () => secrets });
    const { id, url } = create({ steps: [{ do: "answer" }] });
    const signature = createHmac("sha1", "hush").update(track(1)).digest("hex");
    const answer = await request(url, {
      method: "POST",
      body: track(1),
      headers: { "X-Signature": signature },
    });
    await answer.body.dump();
    expect(endpoints.received(id, 1, null)).toMatchObject({
      items: [
        {
          message: { type: "track", event: "Signed Up", userId: "u1", messageId: "m1" },
          signature: {
            value: signature,
            verifies: [{ destinationId: 3, name: "Hooks", valid: true }],
          },
        },
      ],
    });
  });

  test("forgets what it received when that is cleared", async () => {
    const { endpoints, create } = await startEndpoints();
    const { id, url } = create({ steps: [{ do: "answer" }] });
    await askWithNode(url);
    expect(endpoints.clearReceived(id)).toBeNull();
    expect(endpoints.received(id, 10, null)).toEqual({
      items: [],
      nextCursor: null,
      total: 0,
      dropped: 0,
    });
  });
});

async function flakyStatuses(seed: number): Promise<number[]> {
  const { create } = await startEndpoints({ seed: () => seed });
  const flaky = presets.find((preset) => preset.name === "flaky-30");
  const { url } = create({ steps: flaky?.steps ?? [] });
  return flood(
    url,
    Array.from({ length: 300 }, (_, number) => track(number)),
    1,
  );
}

describe("chance", () => {
  test("is the same for the same seed, another for another, and keeps its share", async () => {
    const [first, again, other] = await Promise.all([
      flakyStatuses(5),
      flakyStatuses(5),
      flakyStatuses(6),
    ]);
    expect(again).toEqual(first);
    expect(other).not.toEqual(first);
    expect(count(first, 503) / 300).toBeGreaterThan(0.22);
    expect(count(first, 503) / 300).toBeLessThan(0.38);
  });
});

describe("a draft", () => {
  const refused: [string, Partial<EndpointDraft>][] = [
    ["a name", { name: "  " }],
    ["capitals", { path: "Hook" }],
    ["path", { path: "" }],
    ["path", { path: "a//b" }],
    ["path", { path: "../etc" }],
    ["times", { steps: [{ do: "answer", times: 0 }] }],
    ["times", { steps: [{ do: "answer", times: 1.5 }] }],
    ["chance", { steps: [{ do: "answer", chance: 1.1 }] }],
    ["chance", { steps: [{ do: "answer", chance: Number.NaN }] }],
    ["status", { steps: [{ do: "answer", status: 199 }] }],
    ["status", { steps: [{ do: "answer", status: 1000 }] }],
    ["status", { steps: [{ do: "redirect", status: 200 }] }],
    ["delayMs", { steps: [{ do: "answer", delayMs: -1 }] }],
    ["delayMs", { steps: [{ do: "answer", delayMs: 86_400_001 }] }],
    ["forMs", { steps: [{ do: "hang", forMs: Number.POSITIVE_INFINITY }] }],
    ["header", { steps: [{ do: "answer", headers: { "X-A": "1\r\nX-B: 2" } }] }],
    ["header", { steps: [{ do: "answer", headers: { "X A": "1" } }] }],
    ["header", { steps: [{ do: "answer", headers: { "X-A": "€" } }] }],
  ];

  test.each(refused)("with a wrong %s is refused: %j", async (_, wrong) => {
    const { endpoints, create } = await startEndpoints();
    const { id } = create({ steps: [] });
    const before = endpoints.list();
    expect(endpoints.create({ name: "Other", steps: [], ...wrong })).toMatchObject({
      problem: true,
      status: 400,
      code: "invalid",
    });
    expect(endpoints.update(id, wrong)).toMatchObject({ problem: true, status: 400 });
    expect(endpoints.list()).toEqual(before);
  });

  test("names the step that is wrong", async () => {
    const { endpoints } = await startEndpoints();
    const steps: Step[] = [{ do: "hang" }, { do: "answer", status: 99 }];
    expect(endpoints.create({ name: "Other", steps })).toMatchObject({
      message: expect.stringMatching(/^Step 2: /),
      data: { step: 1 },
    });
  });

  test("with a path that another has is refused", async () => {
    const { endpoints, create } = await startEndpoints();
    const { id } = create({ path: "one", steps: [] });
    create({ path: "two", steps: [] });
    expect(endpoints.create({ name: "Other", path: "one", steps: [] })).toMatchObject({
      status: 409,
      code: "path_taken",
    });
    expect(endpoints.update(id, { path: "two" })).toMatchObject({
      status: 409,
      code: "path_taken",
    });
    expect(endpoints.update(id, { path: "one" })).toMatchObject({ path: "one" });
  });

  test("of every preset is accepted", async () => {
    const { endpoints } = await startEndpoints();
    const made = presets.map(({ name, steps, after }) =>
      unwrap(endpoints.create({ name, steps, after })),
    );
    expect(made.map((endpoint) => endpoint.path)).toEqual(presets.map((preset) => preset.name));
    expect(endpoints.presets()).toBe(presets);
  });
});

test("what is asked of an endpoint that is not there is answered with 404", async () => {
  const { endpoints } = await startEndpoints();
  const id = 99 as EndpointId;
  expect(endpoints.get(id)).toBeUndefined();
  const answers = [
    endpoints.update(id, {}),
    endpoints.delete(id),
    endpoints.rewind(id),
    endpoints.received(id, 1, null),
    endpoints.clearReceived(id),
  ];
  expect(answers).toEqual(
    answers.map(() => expect.objectContaining({ problem: true, status: 404 })),
  );
});

test("a stop closes both ports, and the connections to receivers", async () => {
  const real = await startRawReceiver({
    onRequest: (socket) => socket.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
  });
  onTestFinished(() => real.stop());
  const { endpoints, create, url, tlsUrl } = await startEndpoints();
  const to = `http://127.0.0.1:${real.port}/`;
  expect(await askWithNode(create({ steps: [{ do: "forward", to }] }).url)).toMatchObject({
    status: 200,
  });
  expect(real.sockets.map(({ closed }) => closed)).toEqual([false]);
  await endpoints.stop();
  for (const target of [url, tlsUrl])
    expect(await askWithNode(target)).toEqual({ failed: "ECONNREFUSED" });
  await until(() => real.sockets.every(({ closed }) => closed));
});

test("a stop that cannot save what was received reports why, and ends", async () => {
  const reported: unknown[] = [];
  const full = new Error("disk full");
  const store = createEndpointStore();
  store.saveEndpointStates = () => {
    throw full;
  };
  const { endpoints } = await startEndpoints({ store, report: (error) => reported.push(error) });
  await endpoints.stop();
  expect(reported).toEqual([full]);
  store.saveEndpointStates = () => {};
});

test("an endpoint that is deleted ends no request of another on a connection that it has served", async () => {
  const { endpoints, create, clock, whenReceived } = await startEndpoints();
  const one = create({ path: "one", steps: [{ do: "answer", delayMs: 10 }] });
  const two = create({ path: "two", steps: [{ do: "answer", delayMs: 10, status: 202 }] });
  const dispatcher = new Agent({ connections: 1 });
  onTestFinished(() => dispatcher.destroy());
  const send = async (url: string): Promise<number> => {
    const answer = await request(url, { method: "POST", dispatcher });
    await answer.body.dump();
    return answer.statusCode;
  };
  const first = send(one.url);
  await whenReceived(1);
  clock.advanceBy(10);
  await first;
  const second = send(two.url);
  await whenReceived(2);
  endpoints.delete(one.id);
  clock.advanceBy(10);
  expect(await second).toBe(202);
});

test("every change of an endpoint is told, and of all when they are read again", async () => {
  const noted: string[] = [];
  const changes = {
    note: (area: string, id: string | null) => void noted.push(`${area} ${id}`),
    noteMany: () => {},
    noteGone: () => {},
  };
  const { endpoints, create } = await startEndpoints({ changes });
  const { id } = create({ steps: [{ do: "answer" }] });
  endpoints.update(id, { name: "Other" });
  endpoints.rewind(id);
  endpoints.clearReceived(id);
  endpoints.delete(id);
  endpoints.reload();
  const name = "ept_000000001";
  const own = Array.from({ length: 3 }, () => `endpoints ${name}`);
  expect(noted).toEqual([...own, `received ${name}`, `endpoints ${name}`, "endpoints null"]);
});
