/** Runs against receivers that nobody would call right or wrong at first sight. */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { runCheck, type CheckOptions } from "./run-check.ts";

type Message = { type: string; messageId?: string; userId?: string };
type Answer = (message: Message, response: ServerResponse) => void;

/** Its effects are at `/effects`. */
async function receiver({
  onMessage,
  onAsked,
}: {
  onMessage: Answer;
  onAsked: (response: ServerResponse, nth: number) => void;
}): Promise<{ url: string; close: () => void }> {
  let asked = 0;
  const server = createServer(async (request: IncomingMessage, response) => {
    if (request.url === "/effects") {
      asked += 1;
      return onAsked(response, asked);
    }
    const body = await text(request).catch(() => "");
    if (body !== "") onMessage(JSON.parse(body) as Message, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = (): void => {
    server.close();
    server.closeAllConnections();
  };
  onTestFinished(close);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}

async function verdicts(url: string, more: Partial<CheckOptions>) {
  const report = await runCheck({ url, effects: { url: `${url}/effects` }, seed: 7, ...more });
  return Object.fromEntries(
    report.checks.map(({ id, verdict, detail }) => [id, { verdict, detail }]),
  );
}

test("a receiver that goes down with its effects fails the check that brought it down", async () => {
  const done: Message[] = [];
  const { url, close } = await receiver({
    onMessage(message, response) {
      if (message.type === "alias") return close();
      done.push(message);
      response.writeHead(204).end();
    },
    onAsked: (response) => response.end(JSON.stringify(done)),
  });
  const found = await verdicts(url, { only: ["types", "alive-after"] });
  expect(found).toMatchObject({
    answers: { verdict: "pass" },
    types: { verdict: "fail", detail: expect.stringContaining("did not answer") },
    "alive-after": { verdict: "fail" },
  });
});

test("effects that cannot be asked once are asked again", async () => {
  const done: Message[] = [];
  const { url } = await receiver({
    onMessage(message, response) {
      done.push(message);
      response.writeHead(204).end();
    },
    onAsked: (response, nth) =>
      nth === 4 ? response.writeHead(503).end() : response.end(JSON.stringify(done)),
  });
  expect(await verdicts(url, { only: ["order", "duplicate"] })).toMatchObject({
    duplicate: { verdict: "fail" },
    order: { verdict: "skipped", detail: expect.stringContaining("list both identifies") },
  });
});

test("checks are skipped when the effects can no longer be asked, and say why", async () => {
  const done: Message[] = [];
  const { url } = await receiver({
    onMessage(message, response) {
      done.push(message);
      response.writeHead(204).end();
    },
    onAsked: (response, nth) =>
      nth < 4 ? response.end(JSON.stringify(done)) : response.writeHead(500).end(),
  });
  expect(await verdicts(url, { only: ["duplicate", "no-user-id"] })).toMatchObject({
    duplicate: { verdict: "skipped", detail: expect.stringContaining("/effects answered 500") },
    "no-user-id": { verdict: "pass" },
  });
});

test("a user who is identified and then deleted has not been done twice", async () => {
  const done: Message[] = [];
  const seen = new Set<string>();
  const failed = new Set<string>();
  const { url } = await receiver({
    onMessage(message, response) {
      const key = message.messageId ?? `delete ${message.userId}`;
      // The first time, nothing is done.
      if ((message.type === "delete" || message.type === "identify") && !failed.has(key)) {
        failed.add(key);
        return response.writeHead(500).end();
      }
      if (!seen.has(key)) done.push(message);
      seen.add(key);
      response.writeHead(204).end();
    },
    onAsked: (response) => response.end(JSON.stringify(done)),
  });
  const only = ["types", "order", "failed-means-not-done"];
  expect(await verdicts(url, { only })).toMatchObject({
    types: { verdict: "pass" },
    "failed-means-not-done": { verdict: "pass" },
  });
});
