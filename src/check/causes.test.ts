/** Receivers whose mistake looks like another one: the check names the right one. */

import { createHmac } from "node:crypto";
import type { ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { accept, receiver, verdicts, type Message } from "../../test/support/checked-receiver.ts";

const secret = "s3cret";
const digestOf = (text: string): Buffer => createHmac("sha1", secret).update(text).digest();
const signatureIn = ({ req }: ServerResponse): string => String(req.headers["x-signature"]);

/** The ids of the checks that failed. */
const failedOf = (found: Awaited<ReturnType<typeof verdicts>>): string[] =>
  Object.keys(found).filter((id) => found[id]?.verdict === "fail");

test("a receiver that knows messages by their timestamp is told so, and shares nothing between requests", async () => {
  const seen = new Set<string>();
  const { url } = await receiver({
    onMessage(message, response, done) {
      const { timestamp } = message as { timestamp?: string };
      if (timestamp !== undefined && seen.has(timestamp)) return response.writeHead(204).end();
      if (timestamp !== undefined) seen.add(timestamp);
      return accept(message, response, done);
    },
  });
  const found = await verdicts(url, { only: ["types", "duplicate", "in-time-under-load"] });
  expect(failedOf(found)).toEqual(["duplicate"]);
  expect(found).toMatchObject({
    duplicate: { detail: expect.stringContaining("recognises copies by the timestamp") },
  });
});

/** Accepts what `isSigned` takes for signed. */
const signed =
  (isSigned: (text: string, response: ServerResponse) => boolean) =>
  (message: Message, response: ServerResponse, done: Message[]): void => {
    if (isSigned(JSON.stringify(message), response)) accept(message, response, done);
    else response.writeHead(401).end();
  };

test("a receiver that writes a byte of the digest with one digit is told so every time", async () => {
  const oneDigit = (text: string): string =>
    [...digestOf(text)].map((byte) => byte.toString(16)).join("");
  const { url } = await receiver({
    onMessage: signed((text, response) => signatureIn(response) === oneDigit(text)),
  });
  const wanted = { verdict: "fail", detail: expect.stringContaining("with one digit") };
  for (let nth = 0; nth < 5; nth += 1)
    expect(await verdicts(url, { secret, only: ["answers"] })).toMatchObject({ answers: wanted });
});

test("a receiver that verifies the beginning of a long body only is told so", async () => {
  const { url } = await receiver({
    onMessage: signed(
      (text, response) => signatureIn(response) === digestOf(text.slice(0, 4_096)).toString("hex"),
    ),
  });
  expect(await verdicts(url, { secret, only: ["big"] })).toMatchObject({
    big: { verdict: "fail", detail: expect.stringContaining("only the beginning of a long body") },
  });
});

test("a receiver whose answers have no end is told so, and not that it takes long", async () => {
  const { url } = await receiver({
    onMessage(_, response) {
      response.socket?.write("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nok");
    },
  });
  const found = await verdicts(url, { timeoutMs: 1_500, only: ["answers", "in-time"] });
  const detail = expect.stringContaining("give every answer a Content-Length");
  expect(found).toMatchObject({ answers: { detail }, "in-time": { detail } });
  expect(found["in-time"]?.detail).not.toContain("do the work afterwards");
});

test("a receiver that fails some messages at random is not told that its connections are why", async () => {
  let nth = 0;
  const seen = new Set<string>();
  const { url } = await receiver({
    onMessage(message, response, done) {
      nth += 1;
      const key = message.messageId ?? `delete ${message.userId}`;
      if (nth % 7 === 0) response.writeHead(500).end();
      else if (seen.has(key)) response.writeHead(204).end();
      else {
        seen.add(key);
        accept(message, response, done);
      }
    },
  });
  const only = ["keep-alive", "connection-per-request", "many-connections"];
  const wanted = { verdict: "fail", detail: expect.stringContaining("connections are not why") };
  expect(await verdicts(url, { only })).toMatchObject(
    Object.fromEntries(only.map((id) => [id, wanted])),
  );
});

test("the connections that a check keeps are closed at its end", async () => {
  const open = new Set<unknown>();
  const { url } = await receiver({
    onMessage(message, response, done) {
      const { socket } = response;
      if (socket !== null && !open.has(socket)) {
        open.add(socket);
        // Not `close`: the server closes a connection too, after a while without a request.
        socket.once("end", () => open.delete(socket));
      }
      accept(message, response, done);
    },
  });
  expect(await verdicts(url, { only: ["keep-alive"] })).toMatchObject({
    "keep-alive": { verdict: "pass" },
  });
  await expect.poll(() => open.size).toBe(0);
});

test("a receiver that fails on a kept connection only is told so", async () => {
  const used = new WeakSet<object>();
  const { url } = await receiver({
    onMessage(message, response, done) {
      const { socket } = response.req;
      if (used.has(socket)) response.writeHead(500).end();
      else accept(message, response, done);
      used.add(socket);
    },
  });
  expect(await verdicts(url, { only: ["keep-alive", "connection-per-request"] })).toMatchObject({
    "keep-alive": { verdict: "fail", detail: expect.stringContaining("All of them were valid") },
    "connection-per-request": { verdict: "pass" },
  });
});

test("a receiver that leaves a long body unread is told so, and other checks do not meet its rest", async () => {
  const spoiled = new WeakSet<object>();
  const { url } = await receiver({
    onMessage(message, response, done) {
      const { socket, headers } = response.req;
      if (spoiled.has(socket)) return response.writeHead(400).end();
      if (Number(headers["content-length"]) <= 16_384) return accept(message, response, done);
      spoiled.add(socket);
      return response.writeHead(413).end();
    },
  });
  expect(await verdicts(url, { only: ["big", "unicode", "deep"] })).toMatchObject({
    big: { verdict: "fail", detail: expect.stringMatching(/413 .* on the same connection/) },
    unicode: { verdict: "pass" },
    deep: { verdict: "pass" },
  });
});

test("a receiver that finds a right signature wrong now and then shares what computes it", async () => {
  let nth = 0;
  const { url } = await receiver({
    onMessage: signed((text, response) => {
      nth += 1;
      return nth % 40 !== 0 && signatureIn(response) === digestOf(text).toString("hex");
    }),
  });
  expect(await verdicts(url, { secret, only: ["in-time-under-load"] })).toMatchObject({
    "in-time-under-load": {
      verdict: "fail",
      detail: expect.stringMatching(/Their signatures were right.*an object that computes/),
    },
  });
});

test("a right signature that is refused once, beside others, says nothing about its message", async () => {
  const seen = new Set<string>();
  const { url } = await receiver({
    onMessage(message, response, done) {
      const isFirst = message.type === "group" && !seen.has(message.messageId ?? "");
      if (isFirst) seen.add(message.messageId ?? "");
      if (isFirst) response.writeHead(401).end();
      else accept(message, response, done);
    },
  });
  expect(await verdicts(url, { secret, only: ["types", "in-time-under-load"] })).toMatchObject({
    types: { verdict: "pass" },
    "in-time-under-load": {
      verdict: "fail",
      detail: expect.stringMatching(/answered 401 to 1 of .* It probably shares/),
    },
  });
});
