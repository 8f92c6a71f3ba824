/** Faults that a source shows to its clients. */

import { once } from "node:events";
import { connect } from "node:net";
import { expect, test } from "vitest";
import type { InputOf } from "../../src/contract/contract.ts";
import { startIngestApp, writeKey, type IngestApp } from "../support/ingest-app.ts";
import { basic, post, talk } from "../support/ingest-client.ts";

type Faults = NonNullable<InputOf<"sources.create">["faults"]>;
const body = JSON.stringify({ type: "track", userId: "u", event: "e" });
const request = post("/v1/track", body, { Authorization: basic(writeKey) });

/** Statuses of requests one after the other; null for a connection that was cut. */
async function statuses(app: IngestApp, count: number): Promise<(number | null)[]> {
  const seen: (number | null)[] = [];
  for (let i = 0; i < count; i += 1) {
    const { answers, rest } = await talk(app.port, [request]);
    expect(rest).toBe("");
    seen.push(answers[0]?.status ?? null);
  }
  return seen;
}

const tables: [string, Faults, (number | null)[]][] = [
  ["answer 500 for the next two", [{ do: "answer", times: 2 }], [500, 500, 200, 200]],
  ["cut the next one", [{ do: "cut", times: 1 }], [null, 200]],
  [
    "one after the other",
    [
      { do: "answer", status: 503, times: 2 },
      { do: "answer", status: 429, times: 1 },
      { do: "cut", times: 1 },
      { do: "answer", status: 404, times: 1 },
    ],
    [503, 503, 429, null, 404, 200],
  ],
  ["answer for ever", [{ do: "answer", status: 502 }], [502, 502, 502]],
  ["are slow, and then take it in", [{ do: "delay", delayMs: 20, times: 1 }], [200, 200]],
  ["are off", [], [200, 200]],
];
test.each(tables)("%s", async (_, faults, expected) => {
  const app = await startIngestApp({ source: { faults } });
  expect(await statuses(app, expected.length)).toEqual(expected);
  expect(await app.messages()).toHaveLength(expected.filter((status) => status === 200).length);
});

test("an answer carries a code, a sentence and Retry-After", async () => {
  const app = await startIngestApp({
    source: { faults: [{ do: "answer", status: 429, retryAfter: 7, times: 1 }] },
  });
  const { status, headers, json } = await app.send("/v1/track", body);
  expect([status, headers.get("retry-after"), json]).toEqual([
    429,
    "7",
    { success: false, code: "fault", message: expect.stringContaining("Shop") },
  ]);
  expect((await app.send("/v1/track", body)).headers.get("retry-after")).toBeNull();
});

test("a delay lasts, goes with the other kinds, and adds up", async () => {
  const faults: Faults = [
    { do: "delay", delayMs: 40, times: 2 },
    { do: "answer", status: 503, delayMs: 40, times: 1 },
  ];
  const app = await startIngestApp({ source: { faults } });
  const took: number[] = [];
  for (const status of [503, 200, 200]) {
    const start = performance.now();
    expect(await app.send("/v1/track", body)).toMatchObject({ status });
    took.push(performance.now() - start);
  }
  expect(took[0]).toBeGreaterThanOrEqual(78);
  expect(took[1]).toBeGreaterThanOrEqual(38);
  // Others are not held up by it.
  await app.call("sources.update", {
    id: app.source.id,
    faults: [{ do: "delay", delayMs: 10_000 }],
  });
  await app.call("sources.create", { name: "Quick", writeKey: "quick" });
  const slow = talk(app.port, [request]);
  expect(await app.send("/v1/track", body, { key: "quick" })).toMatchObject({ status: 200 });
  await app.stop();
  expect((await slow).answers).toEqual([]);
});

test.each(["is deleted", "gives its id to another after a reset"])(
  "a request is not accepted when its source %s during its delay",
  async (change) => {
    const app = await startIngestApp({
      source: { faults: [{ do: "delay", delayMs: 600_000, times: 1 }] },
    });
    const clients = [0, 1].map(() => connect(app.port, "127.0.0.1").on("error", () => {}));
    for (const client of clients) client.write(request);
    // One of them has its answer, so the other waits.
    await Promise.race(clients.map((client) => once(client, "data")));
    if (change === "is deleted") await app.call("sources.delete", { id: app.source.id });
    else {
      await app.call("pipeline.reset", { what: "everything" });
      const other = await app.call("sources.create", { name: "Other", writeKey: "other" });
      expect(other.id).toBe(app.source.id);
    }
    const before = await app.messages();
    // A delay ends when its connection is reset.
    for (const client of clients) client.resetAndDestroy();
    await expect
      .poll(async () => (await app.call("unknownKeys.list", {})).items)
      .toMatchObject([{ writeKey, requests: 1 }]);
    expect(await app.messages()).toEqual(before);
  },
);

test("a share is drawn from the seed: the same again with the same seed, another with another", async () => {
  const draw = async (seed: number): Promise<(number | null)[]> => {
    const app = await startIngestApp({
      source: { faults: [{ do: "answer", status: 503, chance: 0.3 }] },
    });
    await app.call("settings.update", { seed });
    return statuses(app, 60);
  };
  const [first, again, other] = await Promise.all([draw(1), draw(1), draw(2)]);
  expect(again).toEqual(first);
  expect(other).not.toEqual(first);
  const share = first.filter((status) => status === 503).length;
  expect(share).toBeGreaterThan(8);
  expect(share).toBeLessThan(30);
});

test("they meet whatever the source's clients send, however they name it, and nobody else's", async () => {
  const app = await startIngestApp({ source: { faults: [{ do: "answer", status: 503 }] } });
  await app.call("sources.create", { name: "Other", writeKey: "other" });
  expect(await app.send("/v1/batch", `{"batch":[${body}]}`)).toMatchObject({ status: 503 });
  expect(
    await app.send("/v1/track", JSON.stringify({ userId: "u", event: "e", writeKey }), {
      key: null,
    }),
  ).toMatchObject({ status: 503 });
  expect(await app.send(`/v1/track?writeKey=${writeKey}`, body, { key: null })).toMatchObject({
    status: 503,
  });
  expect(await app.send("/v1/track", "no JSON")).toMatchObject({ status: 503 });
  expect(await app.send("/v1/track", body, { key: "other" })).toMatchObject({ status: 200 });
  expect(await app.messages()).toHaveLength(1);
});

test("setting them again arms them again; changing something else does not", async () => {
  const faults: Faults = [{ do: "answer", status: 503, times: 2 }];
  const app = await startIngestApp({ source: { faults } });
  expect(await statuses(app, 3)).toEqual([503, 503, 200]);
  await app.call("sources.update", { id: app.source.id, faults });
  expect(await statuses(app, 1)).toEqual([503]);
  await app.call("sources.update", { id: app.source.id, name: "Renamed" });
  await app.call("settings.update", { seed: 5 });
  await app.call("sources.create", { name: "Another" });
  expect(await statuses(app, 3)).toEqual([503, 200, 200]);
});

/** The bytes of an answer, and how the connection ended. */
async function answered(port: number, bytes: Uint8Array): Promise<{ text: string; end: string }> {
  const socket = connect(port, "127.0.0.1");
  let text = "";
  socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
  socket.write(bytes);
  const end = await new Promise<string>((resolve) =>
    socket
      .on("end", () => resolve("end"))
      .on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message)),
  );
  socket.destroy();
  return { text, end };
}

test("a lost answer: the message is accepted, the client sees a reset, and its retry is a duplicate", async () => {
  const app = await startIngestApp({ source: { faults: [{ do: "lose-answer", times: 1 }] } });
  const bytes = post("/v1/track", JSON.stringify({ ...JSON.parse(body), messageId: "m" }), {
    Authorization: basic(writeKey),
  });
  expect(await answered(app.port, bytes)).toEqual({ text: "", end: "ECONNRESET" });
  expect((await app.messages()).map(({ state }) => state)).toEqual(["filtered"]);
  expect((await talk(app.port, [bytes])).answers).toMatchObject([{ status: 200 }]);
  expect((await app.messages()).map(({ state }) => state)).toEqual(["filtered", "duplicate"]);

  await app.call("sources.update", { id: app.source.id, faults: [{ do: "lose-answer" }] });
  expect(await app.api("sources.send", { id: app.source.id, type: "track", body })).toMatchObject({
    status: 502,
    body: { code: "no_answer" },
  });
});

test("a late answer: the message is there before it, at the time of its arrival", async () => {
  const app = await startIngestApp({
    source: { faults: [{ do: "delay-answer", delayMs: 600_000, times: 1 }] },
  });
  let isAnswered = false;
  const late = talk(app.port, [request]).then((end) => {
    isAnswered = true;
    return end;
  });
  await expect.poll(async () => (await app.messages()).length).toBe(1);
  // Others are not held up by it.
  expect(await app.send("/v1/track", body)).toMatchObject({ status: 200 });
  expect(isAnswered).toBe(false);
  await app.stop();
  expect((await late).answers).toEqual([]);
});

test("a late answer comes, after its time", async () => {
  const app = await startIngestApp({ source: { faults: [{ do: "delay-answer", delayMs: 40 }] } });
  const start = performance.now();
  expect(await app.send("/v1/track", body)).toMatchObject({
    status: 200,
    text: `{"success":true}`,
  });
  expect(performance.now() - start).toBeGreaterThanOrEqual(38);
});

test("a limit answers 429 with both headers above so many requests a second of the clock", async () => {
  const app = await startIngestApp({ source: { faults: [{ do: "limit", perSecond: 2 }] } });
  await app.call("clock.set", { mode: "paused" });
  const headers = { Origin: "http://shop.example" };
  for (const status of [200, 200, 429, 429])
    expect(await app.send("/v1/track", body, { headers })).toMatchObject({ status });
  const refused = await app.send("/v1/track", body, { headers });
  expect([
    refused.headers.get("retry-after"),
    refused.headers.get("x-ratelimit-reset"),
    refused.headers.get("access-control-expose-headers"),
    refused.json,
  ]).toEqual([
    "1",
    "1",
    "Retry-After, X-RateLimit-Reset",
    {
      success: false,
      code: "rate_limited",
      message: expect.stringContaining("2 requests a second"),
    },
  ]);
  await app.call("clock.advance", { byMs: 1000 });
  expect(await statuses(app, 3)).toEqual([200, 200, 429]);
  expect((await app.call("refused.list", {})).items).toMatchObject([
    { code: "rate_limited", status: 429, count: 1, library: { name: "unknown" } },
    { code: "rate_limited", status: 429, count: 3, library: { name: "node" } },
  ]);
});

test("an answer that blames the client is in the list of refused requests, and no other", async () => {
  const answers = [399, 400, 499, 500].map((status) => ({
    ...{ do: "answer" as const, status, times: 1 },
  }));
  const app = await startIngestApp({ source: { faults: answers } });
  expect(await statuses(app, 5)).toEqual([399, 400, 499, 500, 200]);
  const { items } = await app.call("refused.list", {});
  expect(items.map(({ status }) => status)).toEqual([499, 400]);
});
