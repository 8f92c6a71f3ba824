/** Right receivers that are easily taken for wrong ones, and wrong ones that hide it. */

import { createHmac } from "node:crypto";
import type { ServerResponse } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import { expect, test } from "vitest";
import {
  accept,
  receiver,
  verdicts,
  type Answer,
  type Message,
} from "../../test/support/checked-receiver.ts";

const secret = "s3cret";
const isSigned = (message: Message, { req }: ServerResponse): boolean =>
  req.headers["x-signature"] ===
  createHmac("sha1", secret).update(JSON.stringify(message)).digest("hex");

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
