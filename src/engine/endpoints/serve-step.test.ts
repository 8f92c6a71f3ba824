import { connect } from "node:net";
import { connect as connectTls } from "node:tls";
import { describe, expect, test } from "vitest";
import {
  askWithNode,
  askWithUndici,
  curl,
  hasCurl,
} from "../../../test/support/foreign-clients.ts";
import type { Seen } from "../../../test/support/foreign-clients.ts";
import { until } from "../../../test/support/running-app.ts";
import { startEndpoints, testAuthority } from "../../../test/support/running-endpoints.ts";
import { type Step, stepActions, stepBehaviours } from "../../domain/configuration.ts";

type Case = {
  name: string;
  step: Step;
  node: Partial<Seen>;
  undici: Partial<Seen>;
  curlExit: number;
  status: number | null;
};

const cases: Case[] = [
  {
    name: "an answer",
    step: { do: "answer", status: 418, headers: { "X-Pot": "tea" }, body: '{"short":true}' },
    node: {
      status: 418,
      body: '{"short":true}',
      headers: expect.objectContaining({ "x-pot": "tea", "content-type": "application/json" }),
    },
    undici: { status: 418, body: '{"short":true}' },
    curlExit: 0,
    status: 418,
  },
  {
    name: "an empty answer",
    step: { do: "answer" },
    node: { status: 200, body: "" },
    undici: { status: 200, body: "" },
    curlExit: 0,
    status: 200,
  },
  {
    name: "a 204",
    step: { do: "answer", status: 204, body: "unsent" },
    node: { status: 204, body: "" },
    undici: { status: 204, body: "" },
    curlExit: 0,
    status: 204,
  },
  {
    name: "a hang",
    step: { do: "hang" },
    node: { failed: "CLIENT_TIMEOUT" },
    undici: { failed: expect.any(String) },
    curlExit: 28,
    status: null,
  },
  {
    name: "a reset",
    step: { do: "reset" },
    node: { failed: "ECONNRESET" },
    undici: { failed: "ECONNRESET" },
    curlExit: 56,
    status: null,
  },
  {
    name: "a close",
    step: { do: "close" },
    node: { failed: "ECONNRESET" },
    undici: { failed: "UND_ERR_SOCKET" },
    curlExit: 52,
    status: null,
  },
  {
    name: "a truncated answer",
    step: { do: "truncate", body: "0123456789" },
    node: { failed: "ECONNRESET" },
    undici: { failed: "UND_ERR_SOCKET" },
    curlExit: 18,
    status: 200,
  },
  {
    name: "garbage",
    step: { do: "garbage" },
    node: { failed: "HPE_INVALID_CONSTANT" },
    undici: { failed: "HTTPParserError" },
    curlExit: 1,
    status: null,
  },
  {
    name: "a redirect",
    step: { do: "redirect" },
    node: { status: 302, headers: expect.objectContaining({ location: "/under-test?redirected" }) },
    undici: { status: 302 },
    curlExit: 0,
    status: 302,
  },
  {
    name: "a redirect elsewhere",
    step: { do: "redirect", status: 307, headers: { location: "http://127.0.0.1:9/" } },
    node: { status: 307, headers: expect.objectContaining({ location: "http://127.0.0.1:9/" }) },
    undici: { status: 307 },
    curlExit: 0,
    status: 307,
  },
  {
    name: "a drip over no time",
    step: { do: "drip", forMs: 0, body: "all" },
    node: { status: 200, body: "all" },
    undici: { status: 200 },
    curlExit: 0,
    status: 200,
  },
];

describe.each(cases)("$name, as clients see it", ({ step, node, undici, curlExit, status }) => {
  // Only the client ends a hang.
  const asking = step.do === "hang" ? (heard: Promise<void>) => ({ givesUp: heard }) : () => ({});
  const recorded = { did: step.do, step: 0, status, method: "POST" };

  test("Node over HTTP", async () => {
    const { endpoints, create, whenReceived } = await startEndpoints();
    const { id, url } = create({ steps: [step] });
    expect(await askWithNode(url, asking(whenReceived(1)))).toMatchObject(node);
    expect(endpoints.received(id, 10, null)).toMatchObject({
      items: [{ ...recorded, tls: false }],
    });
  });

  test("Node over HTTPS", async () => {
    const { endpoints, create, whenReceived, tlsUrl } = await startEndpoints();
    const { id, path } = create({ steps: [step] });
    const url = `${tlsUrl.replace("self-signed.", "valid.")}/${path}`;
    const options = { ...asking(whenReceived(1)), ca: testAuthority.authorityPem() };
    expect(await askWithNode(url, options)).toMatchObject(node);
    expect(endpoints.received(id, 10, null)).toMatchObject({ items: [{ ...recorded, tls: true }] });
  });

  test("undici", async () => {
    const { create, whenReceived } = await startEndpoints();
    const { url } = create({ steps: [step] });
    expect(await askWithUndici(url, asking(whenReceived(1)))).toMatchObject(undici);
  });

  test.skipIf(!hasCurl)("curl", async () => {
    const { create } = await startEndpoints();
    const { url } = create({ steps: [step] });
    expect(
      await curl("--data", "{}", "--max-time", step.do === "hang" ? "0.2" : "10", url),
    ).toMatchObject({ exit: curlExit });
  });
});

/** All that comes until the other side ends, and whether it ended in order. */
const exchange = (url: string): Promise<{ bytes: string; ended: boolean; error: string | null }> =>
  new Promise((resolve) => {
    const { port, pathname } = new URL(url);
    let bytes = "";
    let ended = false;
    let error: string | null = null;
    const socket = connect(Number(port), "127.0.0.1", () =>
      socket.write(`POST ${pathname} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}`),
    );
    socket.on("data", (chunk) => (bytes += chunk.toString("latin1")));
    socket.on("end", () => (ended = true));
    socket.on("error", (failure: NodeJS.ErrnoException) => (error = failure.code ?? null));
    socket.on("close", () => resolve({ bytes, ended, error }));
  });

describe("on the wire", () => {
  test.each<[Step, { bytes: string; ended: boolean; error: string | null }]>([
    [{ do: "close" }, { bytes: "", ended: true, error: null }],
    [
      { do: "hang", forMs: 0 },
      { bytes: "", ended: true, error: null },
    ],
    [{ do: "reset" }, { bytes: "", ended: false, error: "ECONNRESET" }],
    [
      { do: "garbage", body: "SSH-2.0-not-http\r\n" },
      { bytes: "SSH-2.0-not-http\r\n", ended: true, error: null },
    ],
  ])("%j leaves exactly this", async (step, expected) => {
    const { create } = await startEndpoints();
    expect(await exchange(create({ steps: [step] }).url)).toEqual(expected);
  });

  test("a truncated answer promises its whole length and sends half", async () => {
    const { create } = await startEndpoints();
    const { bytes, ended } = await exchange(
      create({ steps: [{ do: "truncate", body: "0123456789" }] }).url,
    );
    expect(bytes).toMatch(
      /^HTTP\/1\.1 200 OK\r\n(.+\r\n)*Content-Length: 10\r\n(.+\r\n)*\r\n01234$/,
    );
    expect(ended).toBe(true);
  });

  test("an answer is dated by the clock, so that the same run gives the same bytes", async () => {
    const { create, clock } = await startEndpoints();
    const seen = await askWithNode(create({ steps: [{ do: "answer" }] }).url);
    expect(seen).toMatchObject({ headers: { date: new Date(clock.now()).toUTCString() } });
  });
});

describe("waiting goes by the clock", () => {
  test("an answer with a delay comes when the clock is there", async () => {
    const { create, clock, whenReceived } = await startEndpoints();
    const { url } = create({ steps: [{ do: "answer", status: 201, delayMs: 4_500 }] });
    const seen = askWithNode(url);
    await whenReceived(1);
    expect(clock.scheduled()).toEqual([clock.now() + 4_500]);
    clock.advanceBy(4_499);
    expect(clock.scheduled()).toHaveLength(1);
    clock.advanceBy(1);
    expect(await seen).toMatchObject({ status: 201 });
  });

  test("a hang with a duration closes when it is over", async () => {
    const { create, clock, whenReceived } = await startEndpoints();
    const seen = askWithNode(create({ steps: [{ do: "hang", forMs: 3_600_000 }] }).url);
    await whenReceived(1);
    clock.advanceBy(3_600_000);
    expect(await seen).toEqual({ failed: "ECONNRESET" });
  });

  test("a drip sends its bytes one by one, evenly, and the last one at its end", async () => {
    const { create, clock, whenReceived } = await startEndpoints();
    const { port, pathname } = new URL(
      create({ steps: [{ do: "drip", body: "abcd", forMs: 1_000 }] }).url,
    );
    let bytes = "";
    const socket = connect(Number(port), "127.0.0.1", () =>
      socket.write(`GET ${pathname} HTTP/1.1\r\nConnection: close\r\n\r\n`),
    );
    socket.on("data", (chunk) => (bytes += chunk.toString()));
    const body = () => bytes.split("\r\n\r\n")[1];
    await whenReceived(1);
    await until(() => body() === "");
    for (const arrived of ["a", "ab", "abc", "abcd"]) {
      clock.advanceBy(249);
      expect(body()).toBe(arrived.slice(0, -1));
      clock.advanceBy(1);
      await until(() => body() === arrived);
    }
    await until(() => socket.readableEnded);
    expect(clock.scheduled()).toEqual([]);
  });

  test("a drip without a duration takes ten seconds", async () => {
    const { create, clock, whenReceived } = await startEndpoints();
    const seen = askWithNode(create({ steps: [{ do: "drip" }] }).url);
    await whenReceived(1);
    clock.advanceBy(9_999);
    expect(clock.scheduled()).toEqual([clock.now() + 1]);
    clock.advanceBy(1);
    expect(await seen).toMatchObject({ status: 200, headers: { "content-length": "10" } });
  });

  test.each(stepActions.filter((action) => stepBehaviours[action].lasts))(
    "a %s lasts as long as it says",
    async (action) => {
      const { create, clock, whenReceived } = await startEndpoints();
      const seen = askWithNode(create({ steps: [{ do: action, body: "a", forMs: 60_000 }] }).url);
      await whenReceived(1);
      expect(clock.scheduled()).toEqual([clock.now() + 60_000]);
      clock.advanceBy(60_000);
      await seen;
    },
  );

  test("nothing stays scheduled when the client has gone", async () => {
    const { create, clock, whenReceived } = await startEndpoints();
    for (const [index, step] of (["drip", "hang", "answer"] as const).entries()) {
      const { url } = create({ steps: [{ do: step, delayMs: 50, forMs: 60_000 }] });
      const { port, pathname } = new URL(url);
      const socket = connect(Number(port), "127.0.0.1", () =>
        socket.write(`GET ${pathname} HTTP/1.1\r\n\r\n`),
      );
      await whenReceived(index + 1);
      if (step !== "answer") clock.advanceBy(50);
      expect(clock.scheduled()).toHaveLength(1);
      socket.destroy();
      await until(() => clock.scheduled().length === 0);
    }
  });

  test("nothing stays scheduled when the endpoint is gone, and its clients are let go", async () => {
    const { create, clock, endpoints, whenReceived } = await startEndpoints();
    const { id, url } = create({
      steps: [
        { do: "hang", forMs: 60_000, times: 2 },
        { do: "answer", delayMs: 60_000 },
      ],
    });
    const all = [askWithNode(url), askWithNode(url), askWithNode(url)];
    await whenReceived(3);
    expect(clock.scheduled()).toHaveLength(3);
    expect(endpoints.delete(id)).toBeNull();
    expect(clock.scheduled()).toEqual([]);
    expect(await Promise.all(all)).toEqual(all.map(() => ({ failed: "ECONNRESET" })));
  });

  test("nothing stays scheduled after the stop, which waits for no client", async () => {
    const { create, clock, endpoints, whenReceived } = await startEndpoints();
    const seen = askWithNode(create({ steps: [{ do: "hang", forMs: 60_000 }] }).url);
    await whenReceived(1);
    await endpoints.stop();
    expect(clock.scheduled()).toEqual([]);
    expect(await seen).toEqual({ failed: "ECONNRESET" });
  });
});

async function heldRequest(step: Step) {
  const running = await startEndpoints();
  const { id, url } = running.create({ steps: [step] });
  const { port, pathname } = new URL(url);
  const told: string[] = [];
  const socket = connect(Number(port), "127.0.0.1", () => {
    running.holds.register(socket.localAddress ?? "", socket.localPort ?? 0, Number(port), {
      hold: () => void told.push(`held at ${running.clock.now()}`),
      release: () => void told.push(`released at ${running.clock.now()}`),
    });
    socket.write(`GET ${pathname} HTTP/1.1\r\n\r\n`);
  });
  socket.on("error", () => {});
  socket.resume();
  await running.whenReceived(1);
  return { ...running, id, socket, told, start: running.clock.now() };
}

describe("an attempt of ours at the other end", () => {
  test("is told while its request waits, and let go just before it goes on", async () => {
    const { clock, told, start } = await heldRequest({ do: "answer", delayMs: 4_500 });
    await until(() => told.length === 1);
    clock.advanceBy(4_500);
    expect(told).toEqual([`held at ${start}`, `released at ${start + 4_500}`]);
  });

  test("is told over HTTPS too", async () => {
    const { create, holds, tlsUrl, clock } = await startEndpoints();
    const port = Number(new URL(tlsUrl).port);
    const { path } = create({ steps: [{ do: "hang" }] });
    const told: string[] = [];
    const socket = connectTls({ port, host: "127.0.0.1", rejectUnauthorized: false }, () => {
      holds.register(socket.localAddress ?? "", socket.localPort ?? 0, port, {
        hold: () => void told.push("held"),
        release: () => {},
      });
      socket.write(`GET /${path} HTTP/1.1\r\n\r\n`);
    });
    socket.on("error", () => {});
    await until(() => told.length === 1);
    expect(told).toEqual(["held"]);
    expect(clock.scheduled()).toEqual([]);
    socket.destroy();
  });

  test("is held for every byte of a drip", async () => {
    const { clock, told, start } = await heldRequest({ do: "drip", body: "ab", forMs: 100 });
    await until(() => told.length === 1);
    clock.advanceBy(50);
    await until(() => told.length === 3);
    clock.advanceBy(50);
    expect(told).toEqual([
      `held at ${start}`,
      `released at ${start + 50}`,
      `held at ${start + 50}`,
      `released at ${start + 100}`,
    ]);
  });

  test("is held by a hang that has no end, which schedules nothing", async () => {
    const { clock, told, start } = await heldRequest({ do: "hang" });
    await until(() => told.length === 1);
    expect(told).toEqual([`held at ${start}`]);
    expect(clock.scheduled()).toEqual([]);
  });

  test("is let go when the endpoint is deleted", async () => {
    const { told, endpoints, id, start } = await heldRequest({ do: "hang" });
    await until(() => told.length === 1);
    endpoints.delete(id);
    expect(told).toEqual([`held at ${start}`, `released at ${start}`]);
  });

  test("is not held by a delay of nothing", async () => {
    const { told, socket } = await heldRequest({
      do: "answer",
      delayMs: 0,
      headers: { Connection: "close" },
    });
    await until(() => socket.readableEnded);
    expect(told).toEqual([]);
  });
});
