/** Right receivers that are easily taken for wrong ones, and wrong ones that hide it. */

import { createHmac } from "node:crypto";
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import {
  accept,
  receiver,
  tell,
  verdicts,
  type Answer,
  type Message,
} from "../../test/support/checked-receiver.ts";
import { runCheck } from "./run-check.ts";

const secret = "s3cret";
const isSigned = (message: Message, response: ServerResponse): boolean =>
  isSignedWith(secret, message, response);
const isSignedWith = (key: string, message: Message, { req }: ServerResponse): boolean =>
  req.headers["x-signature"] ===
  createHmac("sha1", key).update(JSON.stringify(message)).digest("hex");

/** It answers first, and does one message after the other. */
function queue(jobMs: number): Answer {
  const seen = new Set<string>();
  let last = Promise.resolve();
  return (message, response, done) => {
    const key = message.messageId ?? `delete ${message.userId}`;
    if (!seen.has(key))
      last = last.then(async () => {
        await wait(jobMs);
        done.push(message);
      });
    seen.add(key);
    response.writeHead(202).end();
  };
}

test("a receiver that does its work one after the other, after its answers, fails nothing", async () => {
  const { url } = await receiver({ onMessage: queue(25) });
  const found = await verdicts(url, {
    only: [
      ...["types", "duplicate", "duplicate-together", "retry-after-timeout", "order"],
      ...["in-time-under-load", "many-connections", "replayed-late", "alive-after"],
    ],
  });
  expect(Object.entries(found).filter(([, { verdict }]) => verdict === "fail")).toEqual([]);
});

test("messages that are answered 2xx under load, and dropped, are lost", async () => {
  let atWork = 0;
  const { url } = await receiver({
    async onMessage(message, response, done) {
      atWork += 1;
      const isTooMuch = atWork > 8;
      await wait(20);
      atWork -= 1;
      if (isTooMuch) response.writeHead(202).end();
      else accept(message, response, done);
    },
  });
  expect(await verdicts(url, { only: ["in-time-under-load"] })).toMatchObject({
    "in-time-under-load": { verdict: "fail", detail: expect.stringContaining("took no effect") },
  });
});

test("a forged message that is refused, and done later by a worker, is found", async () => {
  const { url } = await receiver({
    onMessage(message, response, done) {
      const isValid = isSigned(message, response);
      void wait(800).then(() => done.push(message));
      response.writeHead(isValid ? 202 : 401).end();
    },
  });
  expect(await verdicts(url, { secret, only: ["signature-wrong"] })).toMatchObject({
    "signature-wrong": { verdict: "fail", detail: expect.stringContaining("took effect anyway") },
  });
});

test("a receiver that refuses a copy of a message in progress serves a hundred connections", async () => {
  const working = new Set<string>();
  const { url } = await receiver({
    async onMessage(message, response, done) {
      const { messageId = "" } = message;
      if (working.has(messageId)) return void response.writeHead(503).end();
      working.add(messageId);
      await wait(20);
      accept(message, response, done);
    },
  });
  expect(await verdicts(url, { only: ["many-connections"] })).toMatchObject({
    "many-connections": { verdict: "pass" },
  });
});

test("a receiver that ends each connection after its answer, without saying so, answers again and again", async () => {
  const { url } = await receiver({
    onMessage(message, response, done) {
      const { socket } = response.req;
      response.once("finish", () => socket.end());
      accept(message, response, done);
    },
  });
  expect(await verdicts(url, { only: ["keep-alive"] })).toMatchObject({
    "keep-alive": { verdict: "pass" },
  });
});

test("a content type among the user's headers is no other header than that of a check", async () => {
  const { url } = await receiver({
    onMessage(message, response, done) {
      const { headersDistinct: headers } = response.req;
      const types = headers["content-type"]?.join() ?? "";
      if (types.startsWith("application/json")) accept(message, response, done);
      else response.writeHead(types === "text/plain" ? 500 : 415).end();
    },
  });
  const { checks } = await runCheck({
    url,
    seed: 7,
    headers: { "content-type": "application/json; charset=utf-8" },
    only: ["wrong-content-type"],
  });
  expect(checks.at(-1)).toMatchObject({
    verdict: "fail",
    detail: expect.stringContaining("answered 500"),
    scenario: expect.stringContaining("Content-Type: text/plain"),
  });
});

test("a limit of messages a second is no fault of connections", async () => {
  const second = (): number => Math.floor(Date.now() / 1000);
  let [now, count] = [second(), 0];
  const { url } = await receiver({
    onMessage(message, response, done) {
      if (second() !== now) [now, count] = [second(), 0];
      count += 1;
      if (count > 30) response.writeHead(429, { "Retry-After": "1" }).end();
      else accept(message, response, done);
    },
  });
  const only = ["keep-alive", "connection-per-request", "slow-request", "many-connections"];
  expect(await verdicts(url, { only })).toMatchObject({
    "keep-alive": { verdict: "pass" },
    "connection-per-request": { verdict: "pass" },
    "slow-request": { verdict: "pass" },
    "many-connections": { verdict: "warn", detail: expect.stringContaining("a limit of messages") },
  });
});

test.for([
  ["0", 0],
  ["1", 0],
  ["30", 20],
] as const)(
  "a limit of connections is a fault of them, also with Retry-After: %s",
  async ([asked, workMs]) => {
    // The check tells the two apart within a second; a machine with other work has longer for that.
    const real = performance.now.bind(performance);
    const slower = vi.spyOn(performance, "now").mockImplementation(() => real() / 20);
    onTestFinished(() => slower.mockRestore());
    const open = new Set<Socket>();
    const { url } = await receiver({
      async onMessage(message, response, done) {
        const { socket } = response.req;
        if (!open.has(socket)) socket.once("close", () => open.delete(socket));
        open.add(socket);
        const isTooMuch = open.size > 50;
        await wait(workMs);
        if (isTooMuch) response.writeHead(503, { "Retry-After": asked }).end();
        else accept(message, response, done);
      },
    });
    expect(await verdicts(url, { only: ["many-connections"] })).toMatchObject({
      "many-connections": { verdict: "fail", detail: expect.stringContaining("up to 64") },
    });
  },
);

test.for([
  ["kept connections only", "did not find out"],
  ["all connections", "no fault of the connections"],
] as const)("a limit on %s: keep-alive says %s", async ([on, sentence]) => {
  let count = 0;
  const { url } = await receiver({
    onMessage(message, response, done) {
      count += 1;
      const isLimited = on === "all connections" || response.req.headers.connection !== "close";
      if (isLimited && count > 3) response.writeHead(429, { "Retry-After": "6" }).end();
      else accept(message, response, done);
    },
  });
  expect(await verdicts(url, { only: ["keep-alive"] })).toMatchObject({
    "keep-alive": { verdict: "warn", detail: expect.stringContaining(sentence) },
  });
});

/** Shows its users; a worker applies every 400 ms what came. */
function profiles(applies: (message: Message, users: Message[]) => void): {
  onMessage: Answer;
  onAsked: (response: ServerResponse) => void;
} {
  const shown: Message[] = [];
  const inbox: Message[] = [];
  const timer = setInterval(() => {
    for (const message of inbox.splice(0)) applies(message, shown);
  }, 400);
  onTestFinished(() => clearInterval(timer));
  return {
    onMessage(message, response) {
      inbox.push(message);
      response.writeHead(202).end();
    },
    onAsked: (response) => tell(response, shown),
  };
}

function applyTo(message: Message, users: Message[], ignored?: string): void {
  const { type } = message;
  const { "Previous ID": previous, "User ID": next } = message as Record<string, unknown>;
  if (type === ignored) return;
  if (type === "delete") {
    const at = users.findIndex(({ userId }) => userId === message.userId);
    if (at >= 0) users.splice(at, 1);
  } else if (type === "alias") {
    for (const user of users) if (user.userId === previous) user.userId = next as string;
  } else users.push({ ...message });
}

test.for([undefined, "delete", "alias"])(
  "a worker that deletes and renames users is right, and one that does not is found: %s",
  async (ignored) => {
    const { url } = await receiver(profiles((message, users) => applyTo(message, users, ignored)));
    const { types } = await verdicts(url, { only: ["types"] });
    expect(types).toEqual(
      ignored === undefined
        ? { verdict: "pass", detail: "" }
        : { verdict: "fail", detail: expect.stringContaining(`2xx to ${ignored},`) },
    );
  },
);

/** `Order Completed` only, with text of two bytes a letter at most. */
const onlyOrders =
  (failure: number): Answer =>
  (message, response, done) => {
    if ((message as { event?: string }).event !== "Order Completed") response.writeHead(200).end();
    else if (/[\ud800-\udfff]/.test(JSON.stringify(message))) response.writeHead(failure).end();
    else accept(message, response, done);
  };

test.for([
  [200, "took no effect"],
  [500, "answered 500"],
] as const)("an order with emoji that fails with %i is lost", async ([status, sentence]) => {
  const { url } = await receiver({ onMessage: onlyOrders(status) });
  expect(await verdicts(url, { only: ["unicode", "big", "deep", "numbers"] })).toMatchObject({
    unicode: { verdict: "fail", detail: expect.stringContaining(sentence) },
    big: { verdict: "pass" },
    deep: { verdict: "pass" },
    numbers: { verdict: "pass" },
  });
});

test.for<[what: string, keyOf: (message: Message) => string]>([
  ["its user", ({ userId = "" }) => userId],
  [
    "its user and time",
    ({ userId, ...message }) => `${userId} ${(message as { timestamp?: string }).timestamp}`,
  ],
])("a receiver that knows a message by %s is found", async ([, keyOf]) => {
  const seen = new Set<string>();
  const { url } = await receiver({
    onMessage(message, response, done) {
      const key = keyOf(message);
      if (!seen.has(key)) done.push(message);
      seen.add(key);
      response.writeHead(204).end();
    },
  });
  expect(await verdicts(url, { only: ["duplicate"] })).toMatchObject({
    duplicate: { verdict: "fail", detail: expect.stringContaining("second message of a user") },
  });
});

const sumOf = ([user, messages = []]: [string, Message[]?]) => ({
  user,
  total: messages.length * 49.9,
});

test.for<[what: string, onMessage: Answer, shown: (done: readonly Message[]) => unknown]>([
  ["of a right receiver", queue(0), (done) => [...new Set(done.map(({ userId }) => userId))]],
  [
    "of one that does every copy",
    accept,
    (done) => Object.entries(Object.groupBy(done, ({ userId = "" }) => userId)).map(sumOf),
  ],
  [
    "with the newest message, of one that does every copy",
    accept,
    (done) => [...new Map(done.map((message) => [message.userId, message])).values()],
  ],
])("effects with one line for each user, %s, count no copies, and say so", async (receives) => {
  const [, onMessage, shown] = receives;
  const { url } = await receiver({
    onMessage,
    onAsked: (response, done) => response.end(JSON.stringify(shown(done))),
  });
  const detail = expect.stringContaining("a second message of the same user");
  const found = await verdicts(url, { only: ["duplicate", "retry-after-timeout"] });
  expect(found).toMatchObject({
    duplicate: { verdict: "warn", detail },
    "retry-after-timeout": { verdict: "skipped", detail },
  });
});

test("a receiver that remembers a message before it checks the signature is found", async () => {
  const seen = new Set<string | undefined>();
  const { url } = await receiver({
    onMessage(message, response, done) {
      const { messageId } = message;
      const isNew = !seen.has(messageId);
      seen.add(messageId);
      if (!isSigned(message, response)) response.writeHead(401).end();
      else if (isNew) accept(message, response, done);
      else response.writeHead(200).end();
    },
  });
  expect(await verdicts(url, { secret, only: ["signature-wrong"] })).toMatchObject({
    "signature-wrong": { verdict: "fail", detail: expect.stringContaining("before it checks") },
  });
});

test("a receiver that refuses copies, and the newer of two identifies, is told nothing of their age", async () => {
  const seen = new Set<string | undefined>();
  let identifies = 0;
  const { url } = await receiver({
    onMessage(message, response, done) {
      const { type, messageId } = message;
      if (type === "identify") identifies += 1;
      if (type === "identify" && identifies === 1) response.writeHead(400).end();
      else if (seen.has(messageId)) response.writeHead(409).end();
      else accept(message, response, done);
      seen.add(messageId);
    },
  });
  expect(await verdicts(url, { only: ["replayed-late", "order"] })).toMatchObject({
    "replayed-late": { verdict: "pass" },
    order: { verdict: "skipped", detail: expect.stringContaining("400 to the newer of two") },
  });
});

test("a memory of the last three messages says nothing of four hours", async () => {
  let known: (string | undefined)[] = [];
  const { url } = await receiver({
    onMessage(message, response, done) {
      const { messageId } = message;
      if (known.includes(messageId)) return response.writeHead(200).end();
      known = [...known.slice(-2), messageId];
      return accept(message, response, done);
    },
  });
  const { "replayed-late": late } = await verdicts(url, { only: ["replayed-late"] });
  expect(late).toMatchObject({ verdict: "warn" });
  expect(late?.detail).toMatch(
    /^A copy of one of the first messages of this run took effect again/,
  );
});

test("effects that list a message in two places count no copies, and say so", async () => {
  const { url } = await receiver({
    onMessage: queue(0),
    onAsked: (response, done) => response.end(JSON.stringify({ orders: done, mails: done })),
  });
  const why = "sent once, twice";
  expect(await verdicts(url, { only: ["duplicate", "duplicate-together", "types"] })).toMatchObject(
    {
      duplicate: { verdict: "warn", detail: expect.stringContaining(why) },
      "duplicate-together": { verdict: "skipped", detail: expect.stringContaining(why) },
      types: { verdict: "pass" },
    },
  );
});

test("a page of effects that messages drop off cannot be counted", async () => {
  const { url } = await receiver({
    onMessage: queue(260),
    onAsked: (response, done) => response.end(JSON.stringify(done.slice(-1))),
  });
  const part = { verdict: "skipped", detail: expect.stringContaining("a part of what") };
  const found = await verdicts(url, { only: ["duplicate-together", "retry-after-lost-answer"] });
  expect(found).toMatchObject({ "duplicate-together": part, "retry-after-lost-answer": part });
});

test("a receiver that accepts the signature of an old secret that is not set is found", async () => {
  const { url } = await receiver({
    onMessage(message, response, done) {
      const isValid = [secret, ""].some((key) => isSignedWith(key, message, response));
      if (isValid) accept(message, response, done);
      else response.writeHead(401).end();
    },
  });
  expect(await verdicts(url, { secret, only: ["signature-wrong"] })).toMatchObject({
    "signature-wrong": {
      verdict: "fail",
      detail: expect.stringContaining("a message with the signature of an empty secret"),
    },
  });
});

test("a receiver that writes numbers otherwise before it verifies is told what it verifies", async () => {
  const { url } = await receiver({
    onMessage(message, response, done) {
      if (JSON.stringify(message).includes("e+308")) response.writeHead(401).end();
      else accept(message, response, done);
    },
  });
  expect(await verdicts(url, { secret, only: ["numbers"] })).toMatchObject({
    numbers: { verdict: "fail", detail: expect.stringContaining("Its signature is right.") },
  });
});

test("a second message of a user that fails is no copy of the first", async () => {
  const users = new Map<string, string>();
  const { url } = await receiver({
    onMessage(message, response, done) {
      const { userId = "", messageId = "" } = message;
      if ((users.get(userId) ?? messageId) !== messageId) response.writeHead(500).end();
      else if (users.has(userId)) response.writeHead(204).end();
      else accept(message, response, done);
      users.set(userId, users.get(userId) ?? messageId);
    },
  });
  expect(await verdicts(url, { only: ["duplicate"] })).toMatchObject({
    duplicate: {
      verdict: "fail",
      detail: expect.stringContaining("A user has more than one message."),
    },
  });
});

test("a receiver that ignores everything after a copy is not told that it confuses messages of a user", async () => {
  const seen = new Set<string | undefined>();
  let hadCopy = false;
  const { url } = await receiver({
    onMessage(message, response, done) {
      hadCopy ||= seen.has(message.messageId);
      seen.add(message.messageId);
      if (hadCopy) response.writeHead(204).end();
      else accept(message, response, done);
    },
  });
  expect(await verdicts(url, { only: ["duplicate"] })).toMatchObject({
    duplicate: { verdict: "pass" },
  });
});

test("a receiver that is too slow for four messages at once is checked, one after the other", async () => {
  let isBusy = false;
  const { url } = await receiver({
    async onMessage(message, response, done) {
      // What comes meanwhile is not answered in time.
      if (isBusy) return;
      isBusy = true;
      await wait(50);
      isBusy = false;
      accept(message, response, done);
    },
  });
  const only = ["types", "unicode", "unknown-type"];
  expect(await verdicts(url, { timeoutMs: 3_000, only })).toMatchObject({
    types: { verdict: "pass" },
    unicode: { verdict: "pass" },
    "unknown-type": { verdict: "pass" },
  });
});
