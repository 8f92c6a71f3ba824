/** Receivers that do right what comes alone, and wrong what comes at the same time. */

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
import { readScenario } from "../scenarios/file/read-scenario.ts";
import { runRead } from "../scenarios/run/run-scenario.ts";
import { startPipeline } from "../testing/start.ts";
import { runCheck } from "./run-check.ts";

const keyOf = ({ messageId, type, userId }: Message): string => messageId ?? `${type} ${userId}`;

/** Each message once. */
function doOnce(): Answer {
  const seen = new Set<string>();
  return (message, response, done) => {
    if (seen.has(keyOf(message))) response.writeHead(204).end();
    else accept(message, response, done);
    seen.add(keyOf(message));
  };
}

/** The message is in a variable that all requests share. */
function mixUp(): Answer {
  const once = doOnce();
  let current: Message;
  return async (message, response, done) => {
    current = message;
    await wait(50);
    once(current, response, done);
  };
}

async function stateOf(scenario: string | null | undefined): Promise<string> {
  const report = await runRead({ read: readScenario(scenario ?? ""), start: startPipeline });
  return report.state;
}

const only = ["types", "duplicate", "retry-after-lost-answer", "in-time-under-load"];

test("a receiver that mixes up messages at the same time fails for that and for nothing else, and its scenario shows it", async () => {
  const { url } = await receiver({ onMessage: mixUp() });
  const { checks } = await runCheck({ url, effects: { url: `${url}/effects` }, seed: 7, only });
  const failed = checks.filter(({ verdict }) => verdict !== "pass");
  expect(failed).toMatchObject([
    {
      id: "in-time-under-load",
      verdict: "fail",
      detail: expect.stringMatching(
        /^Of 10 different messages at the same time, [1-9] took no effect/,
      ),
    },
  ]);
  expect(await stateOf(failed[0]?.scenario)).toBe("failed");
  const { url: right } = await receiver({ onMessage: doOnce() });
  expect(await stateOf(failed[0]?.scenario?.replaceAll(url, right))).toBe("passed");
});

test("a receiver that refuses messages because others come at the same time is told so", async () => {
  let atWork = 0;
  const once = doOnce();
  const { url } = await receiver({
    async onMessage(message, response, done) {
      atWork += 1;
      const isShared = atWork > 1;
      await wait(50);
      atWork -= 1;
      if (isShared) response.writeHead(401).end();
      else once(message, response, done);
    },
  });
  expect(await verdicts(url, { only })).toMatchObject({
    types: { verdict: "pass" },
    duplicate: { verdict: "pass" },
    "in-time-under-load": {
      verdict: "fail",
      detail: expect.stringMatching(/answered 401 to [1-9] of 10 different messages/),
    },
  });
});

test("a receiver whose requests write over what others have written is told so", async () => {
  let file: Message[] = [];
  let atWork = 0;
  const { url } = await receiver({
    async onMessage(message, response) {
      atWork += 1;
      // While another writes, the file is empty.
      const read = atWork > 1 ? [] : file;
      await wait(50);
      file = [...read, message];
      atWork -= 1;
      response.writeHead(204).end();
    },
    onAsked: (response) => response.end(JSON.stringify(file)),
  });
  expect(await verdicts(url, { only: ["in-time-under-load"] })).toMatchObject({
    "in-time-under-load": { verdict: "fail", detail: expect.stringContaining("earlier one") },
  });
});

test("a receiver that messages at the same time have broken for good is told so", async () => {
  let atWork = 0;
  let isBroken = false;
  const { url } = await receiver({
    async onMessage(message, response, done) {
      atWork += 1;
      isBroken ||= atWork > 4;
      await wait(50);
      atWork -= 1;
      if (isBroken) response.writeHead(500).end();
      else accept(message, response, done);
    },
  });
  expect(await verdicts(url, { only: [...only, "unknown-type"] })).toMatchObject({
    types: { verdict: "skipped" },
    "unknown-type": { verdict: "skipped" },
    "in-time-under-load": {
      verdict: "fail",
      detail: expect.stringContaining("answered 500 to every message, also to one alone"),
    },
  });
});

test("a queue that drops what is too much, and also the next message, is found, and its scenario shows it", async () => {
  let waiting = 0;
  let last = Promise.resolve();
  const { url } = await receiver({
    onMessage(message, response, done) {
      response.writeHead(202).end();
      if (waiting >= 40) return;
      waiting += 1;
      last = last.then(async () => {
        await wait(15);
        waiting -= 1;
        done.push(message);
      });
    },
  });
  const { checks } = await runCheck({
    ...{ url, effects: { url: `${url}/effects` }, seed: 7, only: ["in-time-under-load"] },
  });
  const load = checks.find(({ id }) => id === "in-time-under-load");
  expect(load).toMatchObject({
    verdict: "fail",
    detail: expect.stringContaining("of 200 messages, 20 at a time, that took no effect"),
  });
  expect(await stateOf(load?.scenario)).toBe("failed");
});

const secret = "s3cret";
const isSigned = (message: Message, { req }: ServerResponse): boolean =>
  req.headers["x-signature"] ===
  createHmac("sha1", secret).update(JSON.stringify(message)).digest("hex");

test.for([
  ["a message without a signature", "signature-missing"],
  ["a message with a signature that does not match its bytes", "signature-truncated"],
  ["a copy of an earlier message", "duplicate"],
] as const)(
  "a receiver that ends at %s is told so, with others in progress",
  async ([what, check]) => {
    const seen = new Set<string>();
    const identified = Promise.withResolvers<void>();
    const { url, close } = await receiver({
      async onMessage(message, response, done) {
        const isCopy = seen.has(keyOf(message));
        seen.add(keyOf(message));
        // One is in progress when it ends.
        if (message.type === "identify") identified.resolve();
        else if (isCopy || !isSigned(message, response)) await identified.promise.then(close);
        else accept(message, response, done);
      },
    });
    expect(await verdicts(url, { secret, only: ["types", check] })).toMatchObject({
      [check]: {
        verdict: "fail",
        detail: expect.stringContaining(`without an answer at ${what},`),
      },
    });
  },
);

test("a request that was cut while the receiver lived on is not why it ended", async () => {
  const next = Promise.withResolvers<void>();
  let isRefused = false;
  const { url, close } = await receiver({
    async onMessage(message, response, done) {
      if (!isSigned(message, response)) {
        isRefused = true;
        response.destroy();
      } else if (message.type === "track" && isRefused) next.resolve();
      else if (message.type === "alias") close();
      else {
        if (message.type !== "track") await next.promise;
        accept(message, response, done);
      }
    },
  });
  expect(await verdicts(url, { secret, only: ["types", "keep-alive"] })).toMatchObject({
    types: { verdict: "fail", detail: expect.stringContaining('of the type "alias"') },
    "keep-alive": { verdict: "skipped", detail: expect.stringContaining("because of types.") },
  });
});

test("a receiver with a limit of requests in progress confuses nothing, and only warns", async () => {
  let atWork = 0;
  const once = doOnce();
  const { url } = await receiver({
    async onMessage(message, response, done) {
      atWork += 1;
      const isTooMuch = atWork > 6;
      await wait(20);
      atWork -= 1;
      if (isTooMuch) response.writeHead(429).end();
      else once(message, response, done);
    },
  });
  expect(await verdicts(url, { only: ["types", "in-time-under-load"] })).toMatchObject({
    types: { verdict: "pass" },
    "in-time-under-load": {
      verdict: "warn",
      detail: expect.stringContaining("Answer 503 to what is too much."),
    },
  });
});
