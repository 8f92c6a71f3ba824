/** Runs against receivers that nobody would call right or wrong at first sight. */

import { createHmac } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { shellQuoted } from "../domain/shell-quoted.ts";
import { createTrust } from "../engine/deliver/dial.ts";
import { readScenario } from "../scenarios/file/read-scenario.ts";
import { runRead } from "../scenarios/run/run-scenario.ts";
import { startPipeline } from "../testing/start.ts";
import {
  accept,
  receiver,
  tell,
  verdicts,
  type Answer,
  type Message,
} from "../../test/support/checked-receiver.ts";
import { runCheck } from "./run-check.ts";

test("a receiver that goes down with its effects fails the check that brought it down", async () => {
  const { url, close } = await receiver({
    onMessage(message, response, done) {
      if (message.type === "alias") close();
      else accept(message, response, done);
    },
  });
  const found = await verdicts(url, { only: ["types", "alive-after"] });
  expect(found).toMatchObject({
    answers: { verdict: "pass" },
    types: { verdict: "fail", detail: expect.stringContaining('of the type "alias"') },
    "alive-after": { verdict: "fail" },
  });
});

/** The status and half of its body, then the end of the connection. */
const breakOff =
  (status: number): Answer =>
  (_, response) => {
    response.writeHead(status, { "Content-Length": "4" });
    response.write("do", () => response.destroy());
  };

test("an answer that breaks off is none, although its status says yes", async () => {
  const { url } = await receiver({
    onMessage(message, response, done) {
      const { length } = done.filter(({ type }) => type === "track");
      // The first tells the check that the receiver works.
      (length === 0 ? accept : breakOff(200))(message, response, done);
    },
  });
  const detail = expect.stringContaining("answered 200 and broke off");
  const brokeOff = { verdict: "fail", detail };
  expect(
    await verdicts(url, { only: ["slow-request", "keep-alive", "types", "alive-after"] }),
  ).toMatchObject({
    types: {
      detail: expect.stringMatching(/ identify, track, page, screen, group, delete, alias/),
    },
    "slow-request": brokeOff,
    "keep-alive": brokeOff,
    "alive-after": brokeOff,
  });

  const { url: never } = await receiver({ onMessage: breakOff(200) });
  expect(await verdicts(never, { only: ["answers"] })).toMatchObject({
    answers: { verdict: "fail", detail: expect.stringContaining("2 of 4 bytes") },
  });
});

test("a forged message whose answer 200 breaks off was accepted", async () => {
  const secret = "s3cret";
  const { url } = await receiver({
    onMessage(message, response, done) {
      // It answers nobody in full once it works.
      (done.length === 0 ? accept : breakOff(200))(message, response, done);
    },
  });
  expect(await verdicts(url, { secret, only: ["signature-wrong"] })).toMatchObject({
    "signature-wrong": { verdict: "fail", detail: expect.stringContaining("answered 200 ") },
  });
});

test("effects that cannot be asked once are asked again", async () => {
  const { url } = await receiver({
    onAsked: (response, done, nth) =>
      nth === 4 ? response.writeHead(503).end() : tell(response, done),
  });
  expect(await verdicts(url, { only: ["order", "duplicate"] })).toMatchObject({
    duplicate: { verdict: "fail" },
    order: { verdict: "skipped", detail: expect.stringContaining("list both identifies") },
  });
});

test("checks are skipped when the effects can no longer be asked, and say why", async () => {
  // From the first copy of a message on.
  let isBroken = false;
  const { url } = await receiver({
    onMessage(message, response, done) {
      isBroken ||= done.some(({ messageId }) => messageId === message.messageId);
      accept(message, response, done);
    },
    onAsked: (response, done) => (isBroken ? response.writeHead(500).end() : tell(response, done)),
  });
  const effects = { url: `${url}/effects?token=t0ken`.replace("//", "//user:p4ss@") };
  const found = await verdicts(url, { effects, only: ["duplicate", "no-user-id"] });
  expect(found).toMatchObject({
    duplicate: { verdict: "skipped", detail: expect.stringContaining(" answered 500") },
    "no-user-id": { verdict: "pass" },
  });
  expect(JSON.stringify(found)).not.toMatch(/p4ss|t0ken/);
});

test("a user who is identified and then deleted has not been done twice", async () => {
  const seen = new Set<string>();
  const failed = new Set<string>();
  const { url } = await receiver({
    onMessage(message, response, done) {
      const key = message.messageId ?? `delete ${message.userId}`;
      // The first time, nothing is done.
      if ((message.type === "delete" || message.type === "identify") && !failed.has(key)) {
        failed.add(key);
        return response.writeHead(500).end();
      }
      if (seen.has(key)) return response.writeHead(204).end();
      seen.add(key);
      return accept(message, response, done);
    },
  });
  const only = ["types", "order", "failed-means-not-done"];
  expect(await verdicts(url, { only })).toMatchObject({
    types: { verdict: "pass" },
    "failed-means-not-done": { verdict: "pass" },
  });
});

const secret = "s3cret";
const isSigned = (text: string, { req }: ServerResponse): boolean =>
  req.headers["x-signature"] === createHmac("sha1", secret).update(text).digest("hex");

test.for([
  [
    "as Python does",
    (message: Message) => JSON.stringify(message).replaceAll('":', '": ').replaceAll(',"', ', "'),
  ],
  ["as Go does", (message: Message) => JSON.stringify(message, alphabetically)],
] as const)("a receiver that writes the body again, %s, is told so", async ([how, write]) => {
  const { url } = await receiver({
    onMessage(message, response, done) {
      if (isSigned(write(message), response)) accept(message, response, done);
      else response.writeHead(401).end();
    },
  });
  const { answers } = await verdicts(url, { secret, only: ["answers"] });
  expect(answers).toEqual({ verdict: "fail", detail: expect.stringContaining(how) });
  expect(await verdicts(url, { secret: "another", only: ["answers"] })).toMatchObject({
    answers: { verdict: "fail", detail: expect.stringContaining("Is the shared secret") },
  });
});

function alphabetically(_: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

test("a message that fails, and is taken for a copy when it comes again, is lost", async () => {
  const seen = new Set<string | undefined>();
  const { url } = await receiver({
    onMessage(message, response, done) {
      if (seen.has(message.messageId)) return response.writeHead(200).end();
      seen.add(message.messageId);
      // Not the first, whose effect has to show.
      return (seen.size % 40 === 0 ? fail : accept)(message, response, done);
    },
  });
  expect(
    await verdicts(url, { only: ["in-time-under-load", "failed-means-not-done"] }),
  ).toMatchObject({
    "failed-means-not-done": { verdict: "fail", detail: expect.stringContaining("no effect") },
  });
});

/** The first time, a message gets 503 unless it is a track; of those that were accepted, only the last is known. */
function onceUnavailable(doesItAtOnce: boolean): Answer {
  const refused = new Set<string>();
  let last = "";
  return (message, response, done) => {
    const key = message.messageId ?? `delete ${message.userId}`;
    if (message.type !== "track" && !refused.has(key)) {
      refused.add(key);
      if (doesItAtOnce) done.push(message);
      return response.writeHead(503).end();
    }
    if (last === key) return response.writeHead(204).end();
    last = key;
    return accept(message, response, done);
  };
}
const unavailable = { only: ["types", "failed-means-not-done"] };

test("a receiver that forgets what it accepted at a retry has not done it at the 5xx", async () => {
  const { url } = await receiver({ onMessage: onceUnavailable(false) });
  expect(await verdicts(url, unavailable)).toMatchObject({
    types: { verdict: "pass" },
    "failed-means-not-done": { verdict: "pass" },
  });
});

test("a receiver that did the work, answered 5xx and did it again at the retry is found, and its scenario shows it", async () => {
  const file = join(mkdtempSync(join(tmpdir(), "hookyard-check-")), "effects.json");
  onTestFinished(() => rmSync(dirname(file), { recursive: true }));
  const work = onceUnavailable(true);
  const { url } = await receiver({
    onMessage(message, response, done) {
      work(message, response, done);
      writeFileSync(file, JSON.stringify(done));
    },
  });
  writeFileSync(file, "[]");
  const command = `PASSWORD=p4ss; cat ${shellQuoted(file)}`;
  const { checks } = await runCheck({ url, effects: { command }, seed: 7, ...unavailable });
  expect(JSON.stringify(checks)).not.toContain("p4ss");
  vi.stubEnv("HOOKYARD_EFFECTS_COMMAND", command);
  onTestFinished(() => void vi.unstubAllEnvs());
  const result = checks.find(({ id }) => id === "failed-means-not-done");
  expect(result).toMatchObject({ verdict: "fail", brief: "5xx, and took effect twice" });
  const report = await runRead({
    read: readScenario(result?.scenario ?? ""),
    start: startPipeline,
  });
  const last = report.steps.at(-1);
  expect(report.steps.map(({ state }) => state)).toEqual(["passed", "failed"]);
  expect(last?.expectations[0]?.actual).toMatch(/^2 effects/);
});

test("every message that was answered 5xx is sent again, also those of the load", async () => {
  const seen = new Map<string, number>();
  const { url } = await receiver({
    onMessage(message, response, done) {
      const key = message.messageId ?? "";
      const nth = (seen.get(key) ?? 0) + 1;
      seen.set(key, nth);
      const isFailed = nth === 1 && seen.size > 20 && seen.size <= 180;
      if (!isFailed) return accept(message, response, done);
      // One was done all the same.
      if (seen.size === 180) done.push(message);
      return response.writeHead(503).end();
    },
  });
  expect(
    await verdicts(url, { only: ["in-time-under-load", "failed-means-not-done"] }),
  ).toMatchObject({
    "failed-means-not-done": { verdict: "fail", detail: expect.stringContaining("twice in all") },
  });
  expect([...seen.values()].filter((count) => count > 1)).toHaveLength(160);
});

const fail: Answer = (_, response) => response.writeHead(500).end();

test.for([
  [403, "are lost"],
  [429, "are lost"],
  [503, "sends those again later"],
] as const)("a receiver that answers %i to some of many messages: %s", async ([status, under]) => {
  let nth = 0;
  const { url } = await receiver({
    onMessage(message, response, done) {
      nth += 1;
      if (nth % 20 === 0) response.writeHead(status).end();
      else accept(message, response, done);
    },
  });
  expect(await verdicts(url, { only: ["in-time-under-load", "many-connections"] })).toMatchObject({
    "in-time-under-load": { verdict: "warn", detail: expect.stringContaining(under) },
    "many-connections": { verdict: "fail", detail: expect.stringContaining(`answered ${status}`) },
  });
});

/** Each piece for itself, so that a character between two pieces is lost. */
async function decodedPieceByPiece(request: IncomingMessage): Promise<string> {
  let body = "";
  for await (const piece of request) body += String(piece);
  return body;
}

test("a receiver that breaks characters between two pieces of a body is found", async () => {
  const only = ["slow-request"];
  const { url } = await receiver({
    read: decodedPieceByPiece,
    onMessage(message, response, done) {
      if (isSigned(JSON.stringify(message), response)) accept(message, response, done);
      else response.writeHead(401).end();
    },
  });
  expect(await verdicts(url, { secret, only })).toMatchObject({
    "slow-request": { verdict: "fail", detail: expect.stringContaining("between two pieces") },
  });

  // For the check of such text, and no matter of pieces.
  const { url: ascii } = await receiver({
    onMessage(message, response, done) {
      if (/^[ -~]*$/.test(JSON.stringify(message))) accept(message, response, done);
      else response.writeHead(400).end();
    },
  });
  expect(await verdicts(ascii, { only })).toMatchObject({ "slow-request": { verdict: "pass" } });
});

test("an answer without an end is told from one that says 5xx", async () => {
  const { url } = await receiver({
    onMessage(message, response, done) {
      if (message.type !== "identify" && response.req.headers["content-type"] === "text/plain")
        breakOff(415)(message, response, done);
      else accept(message, response, done);
    },
  });
  expect(await verdicts(url, { only: ["wrong-content-type"] })).toMatchObject({
    "wrong-content-type": { verdict: "fail", detail: expect.stringContaining("end of its answer") },
  });
});

test("a receiver that cuts an event at so many bytes breaks a character of the check", async () => {
  const cut = (text: string, bytes: number): string =>
    Buffer.from(text).subarray(0, bytes).toString();
  for (const bytes of [12, 20, 32, 50, 64]) {
    const { url } = await receiver({
      onMessage(message, response, done) {
        const { event = "" } = message as { event?: string };
        (cut(event, bytes).endsWith("\ufffd") ? fail : accept)(message, response, done);
      },
    });
    expect(await verdicts(url, { only: ["unicode"] })).toMatchObject({
      unicode: { verdict: "fail" },
    });
  }
});

test("a check that breaks a receiver for good is named by those that are skipped after it", async () => {
  let isBroken = false;
  const { url } = await receiver({
    onMessage(message, response, done) {
      isBroken ||= (message as { event?: string }).event?.includes("🛒") === true;
      (isBroken ? fail : accept)(message, response, done);
    },
  });
  const found = await verdicts(url, {
    only: ["types", "unicode", "many-connections", "alive-after"],
  });
  expect(found).toMatchObject({
    types: { verdict: "pass" },
    unicode: { verdict: "fail" },
    "many-connections": {
      verdict: "skipped",
      detail: "The receiver answered 500 to a valid message after the check unicode.",
    },
    "alive-after": { verdict: "fail" },
  });
});

test("a receiver that takes every message for a copy of the first remembers the wrong thing", async () => {
  const seen = new Set<string | undefined>();
  const { url } = await receiver({
    onMessage(message, response, done) {
      const key = message.messageId?.slice(0, 8);
      if (seen.has(key)) return response.writeHead(200).end();
      seen.add(key);
      return accept(message, response, done);
    },
  });
  expect(await verdicts(url, { only: ["duplicate"] })).toMatchObject({
    duplicate: { verdict: "fail", detail: expect.stringContaining("the whole messageId") },
  });
});

test("effects that show identifies only say which of two counts", async () => {
  const { url } = await receiver({
    onMessage(message, response, done) {
      if (message.type !== "identify") return response.writeHead(200).end();
      const at = done.findIndex(({ userId }) => userId === message.userId);
      if (at >= 0) done.splice(at, 1);
      return accept(message, response, done);
    },
  });
  expect(await verdicts(url, { only: ["order", "duplicate", "types"] })).toMatchObject({
    types: { verdict: "pass" },
    duplicate: { verdict: "skipped", detail: expect.stringContaining("Order Completed") },
    order: { verdict: "warn", detail: expect.stringContaining("reverse order") },
  });
});

test("a receiver that takes a refused body for the next request is found on a kept connection", async () => {
  const spoiled = new WeakSet<object>();
  const { url } = await receiver({
    onMessage(message, response, done) {
      const { socket } = response.req;
      if (spoiled.has(socket)) return response.writeHead(400).end();
      if (isSigned(JSON.stringify(message), response)) return accept(message, response, done);
      spoiled.add(socket);
      return response.writeHead(401).end();
    },
  });
  const { checks } = await runCheck({ url, secret, seed: 7, only: ["keep-alive"] });
  expect(checks.find(({ id }) => id === "keep-alive")).toMatchObject({
    verdict: "fail",
    detail: expect.stringContaining("takes the body for the next request"),
    scenario: expect.stringMatching(/signature: missing[^]*?answers: refused[^]*?answers: 2xx/),
  });
});

/** Each message once. */
function doOnce(): Answer {
  const seen = new Set<string>();
  return (message, response, done) => {
    const key = message.messageId ?? `delete ${message.userId}`;
    if (seen.has(key)) return response.writeHead(204).end();
    seen.add(key);
    return accept(message, response, done);
  };
}

test("over https, a sender leaves without an answer too", async () => {
  const done: Message[] = [];
  const once = doOnce();
  const certificates = new URL("../../test/support/certificates/", import.meta.url);
  const pem = (name: string): string => readFileSync(new URL(`${name}.pem`, certificates), "utf8");
  const { url } = await receiver({
    onMessage: (message, response) => once(message, response, done),
    tls: { key: pem("valid-key"), cert: pem("valid") },
  });
  const effects = await receiver({ onAsked: (response) => tell(response, done) });
  expect(
    await verdicts(url, {
      effects: { url: `${effects.url}/effects` },
      trust: createTrust({ localAuthority: () => pem("authority") }),
      only: ["retry-after-lost-answer"],
    }),
  ).toMatchObject({ "retry-after-lost-answer": { verdict: "pass", detail: "" } });
});

test("a receiver that does not answer has not answered in time", async () => {
  const { url, close } = await receiver({});
  close();
  const report = await runCheck({ url, seed: 7, only: ["answers"] });
  expect(report.checks.map(({ id, verdict }) => [id, verdict])).toEqual([
    ["answers", "fail"],
    ["in-time", "skipped"],
  ]);
  expect(report.score).toBe(0);
});

test("a receiver that refuses everything passes no other check, also without the one of its answers", async () => {
  const { url } = await receiver({
    onMessage: (_, response) => void response.writeHead(401).end(),
  });
  const of = { secret: "s3cret", skip: ["answers"] };
  const found = await verdicts(url, of);
  expect(found["alive-after"]).toMatchObject({ verdict: "fail" });
  const others = Object.entries(found).filter(([id]) => id !== "in-time" && id !== "alive-after");
  expect(others.map(([, { verdict }]) => verdict)).toEqual(others.map(() => "skipped"));
});

test("a receiver whose first request fails is sent another message, as a sender does", async () => {
  let nth = 0;
  const once = doOnce();
  const { url } = await receiver({
    onMessage(message, response, done) {
      nth += 1;
      if (nth === 1) response.writeHead(502).end();
      else once(message, response, done);
    },
  });
  expect(await verdicts(url, { only: ["duplicate", "replayed-late"] })).toMatchObject({
    answers: { verdict: "pass" },
    duplicate: { verdict: "pass" },
    "replayed-late": { verdict: "pass" },
  });
});

test.for([
  [401, "answered 401 to a message from four hours ago. A sender"],
  [204, "answered 204 to a message from four hours ago, and it took no effect. A sender"],
] as const)("an answer of %i to an old message is reported", async ([status, sentence]) => {
  const once = doOnce();
  const { url } = await receiver({
    onMessage(message, response, done) {
      const { timestamp = "" } = message as { timestamp?: string };
      if (Date.parse(timestamp) < Date.now() - 300_000) response.writeHead(status).end();
      else once(message, response, done);
    },
  });
  const found = await verdicts(url, { only: ["replayed-late", "order"] });
  expect(found).toMatchObject({
    "replayed-late": { verdict: "warn", detail: expect.stringContaining(sentence) },
  });
  if (status === 401)
    expect(found["order"]?.detail).toContain("answered 401 to the older of two identifies");
});
