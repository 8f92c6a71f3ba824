import { spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import type { RawReceiver } from "../../../test/support/raw-receiver.ts";
import {
  answering,
  closed,
  ok,
  post,
  receiver,
  sender,
  stopAll,
} from "../../../test/support/sending.ts";
import { nextTurn } from "../real-time.ts";
import type { Exchange, ExchangeResult } from "./exchange.ts";

afterEach(stopAll);

describe("connections", () => {
  test("are reused, the one used last first, and start at sent", async () => {
    const there = await receiver({ onRequest: (socket, index) => index > 0 && socket.write(ok) });
    const from = sender();
    const url = `http://127.0.0.1:${there.port}/`;
    const exchanges = [post(from, url), post(from, url), post(from, url)];
    await Promise.all([0, 1, 2].map((index) => there.connection(index)));
    const order = [1, 2, 0].map((index) => there.sockets[index]);
    for (const socket of order) {
      const ours = exchanges.find(
        (exchange) => exchange.sockets[0] === `127.0.0.1 ${socket?.remotePort}`,
      );
      socket?.write(ok);
      await ours?.done;
    }
    const next = [post(from, url), post(from, url)];
    await Promise.all(next.map((exchange) => exchange.done));
    expect(next.map((exchange) => exchange.sockets)).toEqual([
      [`127.0.0.1 ${order[2]?.remotePort}`],
      [`127.0.0.1 ${order[1]?.remotePort}`],
    ]);
    expect(next.map((exchange) => exchange.phases)).toEqual(
      Array(2).fill(["sent", "firstByte", "done"]),
    );
    expect(there.sockets).toHaveLength(3);
  });

  test.each([
    [
      "the receiver says close",
      "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
    ],
    ["the receiver speaks HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"],
    ["more came than was announced", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nmore"],
    [
      "the receiver keeps idle ones too short",
      "HTTP/1.1 200 OK\r\nKeep-Alive: timeout=0\r\nContent-Length: 0\r\n\r\n",
    ],
  ])("are ended when %s", async (_, answer) => {
    const there = await answering(answer);
    const from = sender();
    const url = `http://127.0.0.1:${there.port}/`;
    const first = post(from, url);
    const ended = closed(await there.connection(0));
    expect(await first.done).toMatchObject({
      outcome: "answered",
      response: { status: 200, bodyLength: 0 },
    });
    await ended;
    await post(from, url).done;
    expect(there.sockets).toHaveLength(2);
  });

  test.each([
    ["sends a byte", (there: RawReceiver) => there.sockets[0]?.write("x")],
    ["ends it", (there: RawReceiver) => there.sockets[0]?.end()],
    ["resets it", (there: RawReceiver) => there.sockets[0]?.resetAndDestroy()],
  ])("an idle one is given up when the receiver %s", async (_, disturb) => {
    const there = await answering(ok);
    const from = sender();
    const url = `http://127.0.0.1:${there.port}/`;
    await post(from, url).done;
    const gone = closed(there.sockets[0]);
    disturb(there);
    await gone;
    // By the time of a round trip elsewhere, the news has come here.
    await post(sender(), `http://127.0.0.1:${(await answering(ok)).port}/`).done;
    expect(await post(from, url).done).toMatchObject({ outcome: "answered" });
    expect(there.sockets).toHaveLength(2);
  });

  test("an idle one is closed after the time given, or half a second before the receiver would", async () => {
    const [limited, usual] = [
      await answering("HTTP/1.1 204 No Content\r\nKeep-Alive: timeout=1\r\n\r\n"),
      await answering(ok),
    ];
    const from = sender({ idleMs: 750 });
    const start = performance.now();
    const order: string[] = [];
    const closes = [limited, usual].map(async (there) => {
      await closed(await there.connection(0));
      order.push(
        `${there === limited ? "limited" : "usual"} after ${performance.now() - start < 500 ? "less than" : "at least"} 500 ms`,
      );
    });
    await post(from, `http://127.0.0.1:${limited.port}/`).done;
    await post(from, `http://127.0.0.1:${usual.port}/`).done;
    await Promise.all(closes);
    expect(order).toEqual(["limited after at least 500 ms", "usual after at least 500 ms"]);
    expect(performance.now() - start).toBeGreaterThanOrEqual(749);
  });

  test("an idle one does not keep the process alive, neither here nor in the delivery thread", async () => {
    const there = await answering(ok);
    const fileOf = (name: string) => JSON.stringify(new URL(name, import.meta.url).href);
    const program = `
      import { createSender } from ${fileOf("./sender.ts")};
      import { createTrust } from ${fileOf("./dial.ts")};
      import { DeliveryThread } from ${fileOf("./delivery-thread.ts")};
      const request = { url: "http://127.0.0.1:${there.port}/", headers: [], body: new Uint8Array(0), onPhase() {}, onSocket() {} };
      const sending = (sender) => new Promise((onEnd) => sender.send({ ...request, onEnd }));
      const shared = { trust: createTrust(), idleMs: 3_600_000 };
      const thread = new DeliveryThread({ ...shared, ownPorts: [], onTrouble() {}, report() {} });
      await sending(createSender(shared));
      const sent = sending(createSender({ ...shared, thread }));
      const alive = setInterval(() => {}, 1000);
      await sent;
      clearInterval(alive);`;
    const child = spawn(process.execPath, ["--input-type=module", "--eval", program], {
      stdio: ["ignore", "inherit", "inherit"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    const sockets = [await there.connection(0), await there.connection(1)];
    expect(await once(child, "exit")).toEqual([0, null]);
    expect(sockets.map(({ bytesWritten }) => bytesWritten)).toEqual([ok.length, ok.length]);
  });

  test("no more are kept than asked for, and none after close", async () => {
    const there = await answering(ok);
    const from = sender({ maxIdle: 1 });
    const url = `http://127.0.0.1:${there.port}/`;
    await Promise.all([post(from, url).done, post(from, url).done]);
    await Promise.race(there.sockets.map(closed));
    const last = post(from, url);
    const closes = there.sockets.filter((socket) => !socket.destroyed).map(closed);
    expect(closes).toHaveLength(1);
    from.close();
    expect(await last.done).toMatchObject({ outcome: "answered" });
    await Promise.all(closes);
    expect(there.sockets).toHaveLength(2);
  });

  test("an answer before the request was sent in full counts, and ends the connection", async () => {
    const there = await receiver({
      onConnection: (socket) => {
        socket.once("data", () => {
          socket.pause();
          socket.write("HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n");
        });
      },
    });
    const from = sender();
    const url = `http://127.0.0.1:${there.port}/`;
    const exchange = post(from, url, { body: Buffer.alloc(20_000_000) });
    expect(await exchange.done).toMatchObject({ outcome: "answered", response: { status: 413 } });
    expect(exchange.phases).toEqual(["connect", "firstByte", "done"]);
    const next = post(from, url);
    expect(next.sockets).toEqual([]);
    await there.connection(1);
    const gone = closed(there.sockets[0]);
    there.sockets[0]?.resume();
    await gone;
  });
});

describe("abort", () => {
  test.each([
    ["timeout", "timeout", { timeoutMs: 5000 }],
    ["connection_error", "stopped", "stopped"],
  ] as const)("ends a hanging exchange as %s, with the code %s", async (outcome, code, reason) => {
    const there = await receiver({});
    const exchange = post(sender(), `http://127.0.0.1:${there.port}/`);
    const socket = await there.connection(0);
    const asked = new Promise((resolve) => socket.once("data", resolve));
    await asked;
    const gone = closed(socket);
    exchange.abort(reason);
    expect(await exchange.done).toMatchObject({ outcome, error: { code }, response: null });
    await gone;
  });

  test("keeps what has arrived of the response", async () => {
    const there = await receiver({
      onRequest: (socket) => socket.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"),
    });
    const exchange: Exchange & { done: Promise<ExchangeResult> } = post(
      sender(),
      `http://127.0.0.1:${there.port}/`,
      {
        onPhase: (phase) =>
          phase === "firstByte" && setImmediate(() => exchange.abort({ timeoutMs: 5000 })),
      },
    );
    const result = await exchange.done;
    expect(result).toMatchObject({
      outcome: "timeout",
      response: { status: 200, body: new Uint8Array(Buffer.from("abc")), bodyLength: 3 },
    });
    expect(result.error?.message).toContain("after 3 of 9 bytes");
  });

  test("while a kept connection is looked at sends nothing, and closes it", async () => {
    const there = await answering(ok);
    const from = sender();
    const url = `http://127.0.0.1:${there.port}/`;
    await post(from, url).done;
    const end = closed(there.sockets[0]);
    const second = post(from, url);
    second.abort("stopped");
    expect(await second.done).toMatchObject({ error: { code: "stopped" }, requestHead: "" });
    await end;
    expect([second.sockets, second.phases]).toEqual([[], []]);
    expect(there.received.join("").split("POST")).toHaveLength(2);
    expect(await post(from, url).done).toMatchObject({ outcome: "answered" });
    expect(there.sockets).toHaveLength(2);
  });

  test("by the deadline comes after its time, which can be cancelled and set again", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const there = await receiver({});
    const exchange = post(sender(), `http://127.0.0.1:${there.port}/`, { timeoutMs: 1000 });
    let isOver = false;
    void exchange.done.then(() => (isOver = true));
    const after = async (ms: number): Promise<boolean> => {
      vi.advanceTimersByTime(ms);
      await nextTurn();
      return isOver;
    };
    expect(await after(999)).toBe(false);
    exchange.limit(null);
    expect([await after(5000), vi.getTimerCount()]).toEqual([false, 0]);
    exchange.limit(700);
    exchange.limit(500);
    expect([await after(499), await after(1)]).toEqual([false, true]);
    expect(await exchange.done).toMatchObject({
      ...{ outcome: "timeout", response: null },
      error: { message: expect.stringContaining("within 1 s") as string },
    });
    const endless = post(sender(), `http://127.0.0.1:${there.port}/`);
    endless.limit(10);
    expect(vi.getTimerCount()).toBe(0);
    endless.abort("stopped");
    const quick = await answering(ok);
    await post(sender(), `http://127.0.0.1:${quick.port}/`, { timeoutMs: 1000 }).done;
    // That of the connection that is kept.
    expect(vi.getTimerCount()).toBe(1);
  });

  test("before the connection is there sends nothing", async () => {
    const there = await answering(ok);
    for (const [host, where] of [
      ["127.0.0.1", "while connecting to 127.0.0.1"],
      ["localhost", "while connecting to localhost"],
      ["no-such-host.invalid", "while the address of no-such-host.invalid was being looked up"],
    ]) {
      const exchange = post(sender(), `http://${host}:${there.port}/`);
      exchange.abort({ timeoutMs: 5000 });
      expect(await exchange.done).toMatchObject({
        outcome: "timeout",
        error: { message: expect.stringContaining(where as string) as string },
        requestHead: "",
        response: null,
      });
    }
    expect(there.received.join("")).toBe("");
  });

  test("after the end changes nothing, not even for the next exchange on the connection", async () => {
    const there = await answering(ok);
    const from = sender();
    const url = `http://127.0.0.1:${there.port}/`;
    const first = post(from, url);
    await first.done;
    const second = post(from, url);
    first.abort({ timeoutMs: 5000 });
    expect(await second.done).toMatchObject({ outcome: "answered" });
    second.abort("stopped");
    await post(from, url).done;
    expect(there.sockets).toHaveLength(1);
  });
});

test("many exchanges at once over few connections each get their own answer", async () => {
  const there = await receiver({
    onRequest: (socket, _, request) => {
      const body = request.slice(request.indexOf("\r\n\r\n") + 4);
      socket.write(
        `HTTP/1.1 200 OK\r\nKeep-Alive: timeout=60\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      );
    },
  });
  const from = sender();
  const worker = async (name: number) => {
    for (let index = 0; index < 50; index += 1) {
      const body = `${name}-${index}`;
      const { response } = await post(from, `http://127.0.0.1:${there.port}/`, {
        body: Buffer.from(body),
      }).done;
      expect(Buffer.from(response?.body ?? []).toString()).toBe(body);
    }
  };
  await Promise.all(Array.from({ length: 16 }, (_, name) => worker(name)));
  expect(there.sockets).toHaveLength(16);
});
