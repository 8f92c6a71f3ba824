import { createHmac } from "node:crypto";
import { once } from "node:events";
import type { Socket } from "node:net";
import { Worker } from "node:worker_threads";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { certificate, type RawReceiver } from "../../../test/support/raw-receiver.ts";
import { until } from "../../../test/support/running-app.ts";
import {
  answering,
  closed,
  ok,
  post,
  receiver,
  sender,
  stopAll,
  type Sent,
} from "../../../test/support/sending.ts";
import { nextTurn } from "../real-time.ts";
import { DeliveryThread } from "./delivery-thread.ts";
import { createTrust } from "./dial.ts";
import { connectionError, type RequestHeaders } from "./exchange.ts";
import { eachResult, inColumns, type Ended, type ToThread } from "./thread-messages.ts";

afterEach(stopAll);

function startThread({
  ownPorts = [],
  connections,
  waitMs,
}: { ownPorts?: number[]; connections?: () => number; waitMs?: number } = {}) {
  const reported: unknown[] = [];
  const troubles: (string | null)[] = [];
  const seen = { authorities: 0 };
  const trust = createTrust({
    localAuthority() {
      seen.authorities += 1;
      return certificate("authority").cert;
    },
  });
  const thread: DeliveryThread = new DeliveryThread({
    trust,
    ownPorts,
    // As of `sender()`.
    idleMs: 3_600_000,
    waitMs,
    onTrouble: () => troubles.push(thread.trouble),
    report: (error) => reported.push(error),
  });
  onTestFinished(() => thread.stop());
  return { thread, from: sender({ trust, thread, connections }), reported, troubles, seen };
}

/** The next one that starts. */
async function nextWorker(): Promise<Worker> {
  const [worker] = (await once(process, "worker")) as [Worker];
  return worker;
}

test("what crosses is the results as they were, in no more bytes than they have", () => {
  const response = { status: 200, head: "HTTP/1.1 200 OK\r\n\r\n", body: Buffer.from("first") };
  const answered = { outcome: "answered", error: null, requestHead: "POST" } as const;
  const results: Ended["result"][] = [
    { ...answered, response: { ...response, bodyLength: 70_000 } },
    { ...connectionError("ECONNREFUSED", "Refused."), requestHead: "", response: null },
    { ...answered, response: { ...response, body: Buffer.from("other"), bodyLength: 5 } },
    { ...connectionError("ECONNRESET", "Reset."), requestHead: "POST", response: null },
  ];
  const ended = results.map((result, id) => ({ id, result, times: [0, 1, -1, 3, 4, 5, id + 0.5] }));
  const message = inColumns(ended);
  expect(message.bodies.length).toBe(10);
  const crossed: Ended["result"][] = [];
  eachResult(message, (id, result) => {
    expect(id).toBe(crossed.length);
    crossed.push(result);
  });
  expect(crossed.length).toBe(results.length);
  const phases = { dns: 0, connect: 1, sent: 3, firstByte: 4, done: 5 };
  for (const [id, { response: came, ...rest }] of crossed.entries()) {
    const { response: sent, ...expected } = results[id] as Ended["result"];
    expect(rest).toEqual({ ...expected, phases, durationMs: id + 0.5 });
    expect(came && { ...came, body: Buffer.from(came.body) }).toEqual(sent);
  }
});

const urlOf = ({ port }: RawReceiver): string => `http://127.0.0.1:${port}/`;

test("a request has the same result as in process", async () => {
  const { from } = startThread();
  const body = Buffer.alloc(100_000, "x");
  for (const answer of [
    ok,
    "HTTP/1.1 503 No\r\nContent-Length: 5\r\n\r\nwrong",
    `HTTP/1.1 200 OK\r\nContent-Length: 70000\r\n\r\n${"y".repeat(70_000)}`,
    "not HTTP\r\n\r\n",
  ]) {
    const there = await answering(answer);
    const [here, far] = [
      post(sender(), urlOf(there), { body }),
      post(from, urlOf(there), { body }),
    ];
    const { durationMs, phases: _, ...result } = await far.done;
    expect(result).toEqual(await here.done);
    expect(durationMs).toBeGreaterThan(0);
    expect(far.phases.toSorted()).toEqual(here.phases.toSorted());
    expect(there.received[0]?.length).toBe(there.received[1]?.length);
  }
});

test("the body that is signed is the body that is sent, as bytes and as a text, here and there", async () => {
  const { from } = startThread();
  const there = await answering(ok);
  const text = '{"name":"Zoë 🎈"}';
  const signature = createHmac("sha1", "secret").update(text).digest("hex");
  const headers: RequestHeaders = [
    ["X-Signature", { secret: "secret" }],
    ["X-After", "1"],
  ];
  const heads: string[] = [];
  for (const sending of [sender(), from])
    for (const body of [text, Buffer.from(text)])
      heads.push((await post(sending, urlOf(there), { headers, body }).done).requestHead);
  const head = `POST / HTTP/1.1\r\nHost: 127.0.0.1:${there.port}\r\nX-Signature: ${signature}\r\nX-After: 1\r\nContent-Length: ${Buffer.byteLength(text)}\r\nConnection: keep-alive\r\n\r\n`;
  expect(heads).toEqual([head, head, head, head]);
  const sent = `${head}${Buffer.from(text).toString("latin1")}`;
  expect(there.received.join("")).toBe(sent.repeat(4));
});

test("a request has the headers, the address and the deadline of its own, whatever came before it", async () => {
  const { from } = startThread();
  const [one, other] = [await answering(ok), await answering(ok)];
  const a: RequestHeaders = [["X-Is", "a"]];
  const b: RequestHeaders = [["X-Is", "b"]];
  const heads = [
    post(from, urlOf(one), { headers: a }),
    post(from, urlOf(one), { headers: a }),
    post(from, urlOf(one), { headers: b }),
    post(from, urlOf(other), { headers: b }),
    post(from, urlOf(one), { headers: b, method: "PUT" }),
  ].map(async ({ done }) => (await done).requestHead.match(/^\w+|:\d+|(?<=Is: )\w/g));
  expect(await Promise.all(heads)).toEqual([
    ["POST", `:${one.port}`, "a"],
    ["POST", `:${one.port}`, "a"],
    ["POST", `:${one.port}`, "b"],
    ["POST", `:${other.port}`, "b"],
    ["PUT", `:${one.port}`, "b"],
  ]);
  const silent = await receiver({});
  const open = post(from, urlOf(silent), { headers: b, timeoutMs: 3_600_000 });
  const late = post(from, urlOf(silent), { headers: b, timeoutMs: 20 });
  expect(await late.done).toMatchObject({ outcome: "timeout" });
  open.abort("stopped");
  expect(await open.done).toMatchObject({ isInterrupted: true });
});

test("requests of one turn cross in one message, each for its own sender, and say once what they have in common", async () => {
  const messages = vi.spyOn(Worker.prototype, "postMessage");
  onTestFinished(() => messages.mockRestore());
  const { thread, from } = startThread();
  const other = sender({ thread });
  const [a, b] = [await answering(ok), await answering(ok)];
  const headers: RequestHeaders = [];
  const otherHeaders: RequestHeaders = [];
  const both = async (): Promise<unknown> => {
    messages.mockClear();
    const sent = [
      post(from, urlOf(a), { headers }),
      post(other, urlOf(b), { headers: otherHeaders }),
      post(from, urlOf(a), { headers }),
    ];
    for (const { done } of sent) expect(await done).toMatchObject({ outcome: "answered" });
    return messages.mock.calls.map(([message]) =>
      (message as ToThread).sends.common.map((common) => common !== null),
    );
  };
  expect(await both()).toEqual([[true, true, false]]);
  expect(await both()).toEqual([[false, false, false]]);
  const counts = [a, b].map(({ received }) => received.join("").split("POST ").length - 1);
  expect(counts).toEqual([4, 2]);
});

test("one that has ended is not ended again by a stop", async () => {
  const { from } = startThread();
  const there = await answering(ok);
  const ends: unknown[] = [];
  const exchange = post(from, urlOf(there), { onEnd: ({ outcome }) => void ends.push(outcome) });
  await until(() => ends.length === 1);
  exchange.abort("stopped");
  expect(ends).toEqual(["answered"]);
});

test("requests to the ports of the test endpoints are sent from this thread", async () => {
  const [own, other] = [await answering(ok), await answering(ok)];
  const { from } = startThread({ ownPorts: [own.port] });
  const [here, far] = [post(from, urlOf(own)), post(from, urlOf(other))];
  expect([await here.done, await far.done]).toMatchObject([
    { outcome: "answered" },
    { outcome: "answered" },
  ]);
  expect([here.sockets.length, far.sockets.length]).toEqual([1, 0]);
});

test("the local authority is trusted there too, and crosses once, before it is needed", async () => {
  const { from, seen } = startThread();
  await post(from, urlOf(await answering(ok))).done;
  expect(seen.authorities).toBe(0);
  const there = await answering(ok, { tls: certificate("valid") });
  const url = `https://valid.localhost:${there.port}/`;
  expect(await post(from, url).done).toMatchObject({ outcome: "answered" });
  const stranger = await answering(ok, { tls: certificate("self-signed") });
  expect(await post(from, `https://localhost:${stranger.port}/`).done).toMatchObject({
    outcome: "tls_error",
    requestHead: "",
  });
  expect(seen.authorities).toBe(1);
});

test("the deadline is the thread's", async () => {
  const { from } = startThread();
  const silent = await receiver({});
  const { outcome, error } = await post(from, urlOf(silent), { timeoutMs: 20 }).done;
  expect([outcome, error?.message]).toEqual([
    "timeout",
    expect.stringContaining("No complete response within 0.02 s"),
  ]);
});

test("an attempt that is stopped ends at once, and its connection is closed", async () => {
  const { from } = startThread();
  const silent = await receiver({});
  const exchange = post(from, urlOf(silent));
  await until(() => silent.received[0]?.endsWith("}"));
  exchange.abort("stopped");
  expect(await exchange.done).toMatchObject({ isInterrupted: true });
  await closed(silent.sockets[0]);
});

test("a connection is used again, not by another sender, and closed with its own", async () => {
  const { thread, from } = startThread();
  const there = await answering(ok);
  const other = sender({ thread });
  for (const each of [from, other, from, other]) await post(each, urlOf(there)).done;
  expect(there.received.map((text) => text.split("POST ").length - 1)).toEqual([2, 2]);
  const [first, second] = there.sockets.map(closed);
  from.close();
  await first;
  expect(await post(other, urlOf(there)).done).toMatchObject({ outcome: "answered" });
  other.close();
  await second;
  expect(there.sockets).toHaveLength(2);
});

test("requests beyond the connections wait in their order, and can be stopped", async () => {
  const settings = { connections: 2 };
  const { from } = startThread({ connections: () => settings.connections, waitMs: 3_600_000 });
  const waiting: Socket[] = [];
  const there = await receiver({ onRequest: (socket) => waiting.push(socket) });
  const [a, b, c, d, e] = ["a", "b", "c", "d", "e"].map((name) =>
    post(from, urlOf(there), { body: Buffer.from(name) }),
  ) as [Sent, Sent, Sent, Sent, Sent];
  await until(() => waiting.length === 2);
  d.abort("stopped");
  expect(await d.done).toMatchObject({ isInterrupted: true });
  const answerNext = (): unknown => waiting.shift()?.write(ok);
  answerNext();
  await Promise.race([a.done, b.done]);
  await until(() => waiting.length === 2);
  settings.connections = 1;
  const f = post(from, urlOf(there), { body: Buffer.from("f") });
  answerNext();
  answerNext();
  await Promise.all([a.done, b.done, c.done]);
  await until(() => waiting.length === 1);
  answerNext();
  await e.done;
  await until(() => waiting.length === 1);
  answerNext();
  expect(await f.done).toMatchObject({ outcome: "answered" });
  expect(there.sockets).toHaveLength(2);
  const bodies = there.received.join("").match(/(?<=\r\n\r\n)[a-f]/g);
  expect(bodies?.toSorted()).toEqual(["a", "b", "c", "e", "f"]);
});

test("a request that has waited for too long comes back unsent, the newest first", async () => {
  const { from } = startThread({ connections: () => 1, waitMs: 1 });
  const silent = await receiver({});
  const first = post(from, urlOf(silent));
  const back: string[] = [];
  const waiting = ["b", "c"].map(async (name) => {
    const result = await post(from, urlOf(silent), { body: Buffer.from(name) }).done;
    back.push(name);
    return result;
  });
  expect(await Promise.all(waiting)).toMatchObject([{ isUnsent: true }, { isUnsent: true }]);
  expect(back).toEqual(["c", "b"]);
  await until(() => silent.received[0]?.endsWith("}"));
  first.abort("stopped");
  await first.done;
  await closed(silent.sockets[0]);
  expect(silent.received).toHaveLength(1);
});

test("when the thread is killed, its requests are interrupted, and later ones wait for the next thread", async () => {
  const { thread, from, reported, troubles } = startThread();
  const silent = await receiver({});
  const there = await answering(ok);
  const starting = nextWorker();
  const lost = post(from, urlOf(silent));
  const worker = await starting;
  await until(() => silent.received[0]?.endsWith("}"));
  await worker.terminate();
  expect(await lost.done).toMatchObject({ isInterrupted: true });
  expect(thread.trouble).toContain("has ended");
  expect(reported).toMatchObject([
    { message: "The delivery thread has ended.", cause: { message: "exit code 1" } },
  ]);

  expect(await post(from, urlOf(there)).done).toMatchObject({ outcome: "answered" });
  expect(thread.trouble).toBe(null);
  expect(troubles).toEqual([expect.stringContaining("has ended"), null]);
});

test("requests that wait for the next thread can be stopped", async () => {
  const { thread, from } = startThread();
  const there = await answering(ok);
  const starting = nextWorker();
  const first = post(from, urlOf(there));
  const worker = await starting;
  await first.done;
  await worker.terminate();
  const waiting = post(from, urlOf(there));
  waiting.abort("stopped");
  expect(await waiting.done).toMatchObject({ isInterrupted: true });
  await thread.stop();
  expect(there.received.join().split("POST")).toHaveLength(2);
});

test("the next thread trusts the local authority too, and knows what requests have in common", async () => {
  const { from } = startThread();
  const there = await answering(ok, { tls: certificate("valid") });
  const url = `https://valid.localhost:${there.port}/`;
  const headers: RequestHeaders = [["X-Is", "a"]];
  const starting = nextWorker();
  const first = post(from, url, { headers });
  const worker = await starting;
  const { requestHead } = await first.done;
  await worker.terminate();
  const next = await post(from, url, { headers }).done;
  expect(next).toMatchObject({ outcome: "answered", requestHead });
});

/** How many threads have started since, up to the end of the test. */
function countWorkers(): () => number {
  let started = 0;
  const count = (): void => void (started += 1);
  process.on("worker", count);
  onTestFinished(() => void process.off("worker", count));
  return () => started;
}

test("a thread that fails is reported with its failure, and a stop waits until it has ended", async () => {
  const { thread, from, reported } = startThread();
  const there = await answering(ok);
  const starting = nextWorker();
  const first = post(from, urlOf(there));
  const worker = await starting;
  await first.done;
  worker.emit("error", new Error("out of memory"));
  await worker.terminate();
  expect(reported).toMatchObject([{ cause: { message: "out of memory" } }]);
  const next = nextWorker();
  const second = post(from, urlOf(there));
  const another = await next;
  await second.done;
  let isOver = false;
  another.on("exit", () => (isOver = true));
  await thread.stop();
  expect([isOver, reported.length, thread.trouble]).toEqual([true, 1, null]);
});

test("a sender that has sent nothing starts no thread when it is closed", async () => {
  const { from } = startThread();
  const started = countWorkers();
  from.close();
  await nextTurn();
  expect(started()).toBe(0);
});

test("after a stop no thread starts, also when the next one was about to", async () => {
  onTestFinished(() => void vi.useRealTimers());
  const { thread, from } = startThread();
  const starting = nextWorker();
  const first = post(from, urlOf(await answering(ok)));
  const worker = await starting;
  await first.done;
  const started = countWorkers();
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  await worker.terminate();
  while (thread.trouble === null) await nextTurn();
  expect(vi.getTimerCount()).toBe(1);
  await thread.stop();
  vi.advanceTimersByTime(1_000);
  await nextTurn();
  expect(started()).toBe(0);
});

test("without a thread that starts, requests are sent from this one", async () => {
  const { thread, from, reported } = startThread();
  const there = await answering(ok);
  process.once("worker", (worker) => {
    // It may have said that it runs before it ends.
    worker.removeAllListeners("message");
    void worker.terminate();
  });
  const first = post(from, urlOf(there));
  expect(await first.done).toMatchObject({ isInterrupted: true });
  expect(thread.trouble).toContain("cannot be started");
  expect(reported).toHaveLength(1);
  const second = post(from, urlOf(there));
  expect(await second.done).toMatchObject({ outcome: "answered" });
  expect(second.sockets).toHaveLength(1);
});
