import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { Agent } from "node:https";
import { gzipSync } from "node:zlib";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { lastingPort } from "../../test/support/free-ports.ts";
import { answering, closed, receiver, stopAll } from "../../test/support/sending.ts";
import { createSender } from "./send.ts";
import type { Outcome, Sender, SenderOptions } from "./send.ts";

afterEach(stopAll);

function senderTo(port: number, options: Partial<SenderOptions> = {}): Sender {
  const headers = (host: string, length: number) => ({
    Host: host,
    "Content-Length": String(length),
  });
  return createSender({
    url: new URL(`http://127.0.0.1:${port}/v1/batch`),
    headers,
    timeoutMs: 5000,
    ...options,
  });
}

async function outcomeOf(answer: string, options?: Partial<SenderOptions>): Promise<Outcome> {
  const sender = senderTo((await answering(answer)).port, options);
  const outcome = await sender.send(Buffer.from("{}")).done;
  sender.close();
  return outcome;
}

test("an answer, with as much of its body as matters", async () => {
  const answer = "HTTP/1.1 429 Too Many\r\nRetry-After: 7\r\nContent-Length: 4\r\n\r\nslow";
  expect(await outcomeOf(answer)).toEqual({
    answer: { status: 429, retryAfter: "7", body: "slow" },
  });
  const long = `HTTP/1.1 500 Broken\r\nContent-Length: 200000\r\n\r\n${"x".repeat(200_000)}`;
  expect(await outcomeOf(long)).toEqual({
    answer: { status: 500, retryAfter: null, body: "x".repeat(65_536) },
  });
});

test("an answer that is compressed, as the request allows", async () => {
  const body = gzipSync('{"success":true}');
  const head = `HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${body.length}\r\n\r\n`;
  expect(await outcomeOf(head + body.toString("latin1"))).toMatchObject({
    answer: { status: 200, body: '{"success":true}' },
  });
  const broken = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc";
  expect(await outcomeOf(broken)).toMatchObject({ answer: { status: 200, body: "" } });
});

test("what the status says counts, also when the body is cut short or never ends", async () => {
  const cut = await receiver({
    onRequest: (socket) => socket.end("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"),
  });
  expect(await senderTo(cut.port).send(Buffer.from("{}")).done).toMatchObject({
    answer: { status: 200, body: "half" },
  });
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const begun = Promise.withResolvers<void>();
  const atHead = (): void => void setImmediate(begun.resolve);
  subscribe("http.client.response.finish", atHead);
  onTestFinished(() => void unsubscribe("http.client.response.finish", atHead));
  const endless = outcomeOf("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
  await begun.promise;
  vi.advanceTimersByTime(5000);
  expect(await endless).toMatchObject({ answer: { status: 200, body: "half" } });
});

test("no answer is an error that says why", async () => {
  const silent = await receiver({});
  const slow = senderTo(silent.port, { timeoutMs: 50 });
  expect(await slow.send(Buffer.from("{}")).done).toMatchObject({
    error: { message: "no answer within 50 ms" },
  });
  const exchange = senderTo(silent.port).send(Buffer.from("{}"));
  exchange.abort("no longer wanted");
  expect(await exchange.done).toMatchObject({ error: { message: "no longer wanted" } });
  const cutting = await receiver({ onRequest: (socket) => socket.destroy() });
  expect(await senderTo(cutting.port).send(Buffer.from("{}")).done).toMatchObject({
    error: { code: "ECONNRESET" },
  });
  expect(await outcomeOf("not HTTP\r\n\r\n")).toMatchObject({
    error: { code: expect.stringMatching(/^HPE_/) },
  });
  const upgrade = "HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n";
  expect(await outcomeOf(upgrade)).toMatchObject({
    error: { message: "the connection ended without an answer" },
  });
  expect(await senderTo(await lastingPort()).send(Buffer.from("{}")).done).toMatchObject({
    error: { code: "ECONNREFUSED" },
  });
  const wrongAgent = senderTo(cutting.port, { agent: new Agent() });
  expect(await wrongAgent.send(Buffer.from("{}")).done).toMatchObject({
    error: { code: "ERR_INVALID_PROTOCOL" },
  });
});

test("the connection is kept from one request to the next, and let go at the end", async () => {
  const server = await answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  const sender = senderTo(server.port);
  for (let request = 0; request < 3; request += 1)
    await sender.send(Buffer.from(`{"n":${request}}`)).done;
  expect(server.received).toEqual([
    [0, 1, 2]
      .map(
        (request) =>
          `POST /v1/batch HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\nContent-Length: 7\r\n\r\n{"n":${request}}`,
      )
      .join(""),
  ]);
  const gone = closed(server.sockets[0]);
  sender.close();
  await gone;
});
