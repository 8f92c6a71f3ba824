/** The answers of the ingest port, at their bounds. */

import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { connect } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { problem } from "../../domain/problem.ts";
import { close, listen, type Handle } from "../http-port.ts";
import { nextTurn } from "../real-time.ts";
import type { CommittedMessage } from "../ports.ts";
import type { AcceptedRequest } from "./accept.ts";
import type { Refused } from "./refused-requests.ts";
import {
  batchAnswer,
  createIngestServer,
  reasonPhrase,
  success,
  unknownKeyProblem,
  unknownPath,
  wrongMethod,
} from "./ingest-server.ts";

type Fate = "accepted" | "rejected" | "duplicate";

/** Of a batch whose messages have these fates, in short. */
function answerOf(fates: Fate[], surplus = 0) {
  const rejection = { reason: "wrong", detail: "It is wrong." };
  const messages = fates.map((fate) => ({ rejection: fate === "rejected" ? rejection : null }));
  const committed = fates.map((fate, nth) => ({
    duplicateOf: fate === "duplicate" ? 1 : null,
    messageId: `m${nth}`,
  }));
  const answer = JSON.parse(
    batchAnswer(
      { messages, surplus } as unknown as AcceptedRequest,
      committed as unknown as CommittedMessage[],
    ),
  ) as Record<"rejected" | "duplicates", { index: number }[]> & Record<string, unknown>;
  const indexes = (list: { index: number }[]): number[] => list.map(({ index }) => index);
  return {
    ...answer,
    rejected: indexes(answer.rejected),
    duplicates: indexes(answer.duplicates),
  };
}

const many = (count: number, fate: Fate): Fate[] => Array.from({ length: count }, () => fate);
const upTo = (count: number, from = 0): number[] =>
  Array.from({ length: count }, (_, nth) => from + nth);

test("a batch without a mistake is a success, and one with some names them by their places", () => {
  const none = { messages: [{ rejection: null }], surplus: 0 } as unknown as AcceptedRequest;
  const committed = [{ duplicateOf: null, messageId: "m" }] as unknown as CommittedMessage[];
  expect(batchAnswer(none, committed)).toBe(success);
  expect(answerOf(["accepted", "rejected", "duplicate"])).toEqual({
    success: true,
    rejected: [1],
    duplicates: [2],
  });
  expect(answerOf(["duplicate"])).toMatchObject({ rejected: [], duplicates: [0] });
  expect(answerOf(["accepted", "rejected"])).toMatchObject({ rejected: [1], duplicates: [] });
});

test("an answer names a hundred rejected messages and as many duplicates, and counts more", () => {
  const fates = [...many(100, "rejected"), ...many(100, "duplicate")];
  const hundred = { success: true, rejected: upTo(100), duplicates: upTo(100, 100) };
  expect(answerOf(fates)).toEqual(hundred);
  expect(answerOf([...fates, "rejected", "duplicate"])).toEqual({
    ...hundred,
    ...{ rejectedCount: 101, duplicateCount: 101 },
  });
});

test("those over the limit of a batch are one record, and named like the others", () => {
  expect(answerOf(["rejected", "accepted", "rejected"], 3).rejected).toEqual([0, 2, 3, 4]);
  expect(answerOf(["accepted", "rejected"], 98)).toMatchObject({ rejected: upTo(98, 1) });
  expect(answerOf(["accepted", "rejected"], 500)).toEqual({
    ...{ success: true, rejected: upTo(100, 1), rejectedCount: 500, duplicates: [] },
  });
});

test("a reason phrase has 160 characters of printable ASCII, and begins with the status", () => {
  const reason = (message: string): string => reasonPhrase(problem(400, "x", message));
  expect(reason("The body is not JSON.")).toBe("Bad Request: the body is not JSON");
  expect(reason("JSON é\n is not.")).toBe("Bad Request: JSON ?? is not");
  const rest = 160 - "Bad Request: ".length;
  expect(reason("x".repeat(rest))).toBe(`Bad Request: ${"x".repeat(rest)}`);
  expect(reason("x".repeat(rest + 1))).toBe(`Bad Request: ${"x".repeat(rest - 3)}...`);
  expect(reasonPhrase(problem(499, "x", "Odd."))).toBe("Refused: odd");
});

test("a path has 200 characters in a sentence, and a key 40 in a reason phrase", () => {
  const path = `/${"p".repeat(199)}`;
  expect([unknownPath(path).status, wrongMethod(path).status]).toEqual([404, 405]);
  expect(unknownPath(path).message).toMatch(`${path} is not`);
  expect(unknownPath(`${path}q`).message).toMatch(`${path}… is not`);
  expect(wrongMethod(path, "GET").message).toBe(`${path} accepts POST, not GET.`);
  expect(wrongMethod(`${path}q`).message).toBe(`${path}… accepts POST, not that.`);
  const key = "k".repeat(40);
  expect(unknownKeyProblem(key, "kept").brief).toBe(`No source has the write key ${key}`);
  expect(unknownKeyProblem(`${key}l`, "kept").brief).toBe(`No source has the write key ${key}...`);
});

async function startServer(handle: Handle = () => {}) {
  const refused: Refused[] = [];
  const server = createIngestServer(handle, (one) => refused.push(one));
  const port = await listen(server, "127.0.0.1", 0);
  onTestFinished(() => close(server, 0));
  /** What comes back until the other side ends. A function waits before the next part. */
  const talk = async (
    ...parts: (string | Uint8Array | (() => Promise<unknown>))[]
  ): Promise<string> => {
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    let text = "";
    socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
    for (const part of parts)
      if (typeof part === "function") await part();
      else socket.write(part);
    await new Promise((resolve) => socket.on("error", resolve).on("end", resolve));
    socket.destroy();
    return text;
  };
  return { server, refused, talk };
}

test("a request has ten seconds for its headers and thirty for all of it, and an idle connection a minute", async () => {
  const { server } = await startServer();
  expect(server).toMatchObject({
    ...{ headersTimeout: 10_000, requestTimeout: 30_000, keepAliveTimeout: 60_000 },
    httpAllowHalfOpen: true,
  });
});

test.for<[number[], string]>([
  [[22], "tls_on_plain_port"],
  [[22, 3, 1, 0], "tls_on_plain_port"],
  [[22, 2, 1, 0], "invalid_http"],
  [[23, 3, 1, 0], "invalid_http"],
])("a connection that begins with the bytes %j is refused with %s", async ([bytes, code]) => {
  const { refused, talk } = await startServer();
  const text = await talk(Uint8Array.from(bytes));
  expect(text).toContain(`"code":"${code}"`);
  expect(text).toMatch(/^HTTP\/1\.1 400 [^]*\{"success":false,/);
  expect(refused).toMatchObject([{ problem: { code }, address: "127.0.0.1" }]);
});

test("what follows a request is refused after its answer, and is no TLS", async () => {
  const waiting: ServerResponse[] = [];
  const { server, refused, talk } = await startServer(
    (_request, response) => void waiting.push(response),
  );
  const head = "POST /v1/t HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n";
  let chunks = 0;
  const arrived = async (): Promise<unknown> => once(server, "clientError").then(() => chunks++);
  const text = talk(head, Uint8Array.of(22, 3, 1, 0, 5, 1), arrived, "more", arrived, "x", arrived);
  while (waiting.length === 0 || chunks < 3) await nextTurn();
  for (let turn = 0; turn < 20; turn += 1) await nextTurn();
  expect(refused).toEqual([]);
  waiting[0]?.end("first");
  expect(await text).toMatch(/^HTTP\/1\.1 200 [^]*first[^]*HTTP\/1\.1 400 [^]*"invalid_http"/);
  expect(refused).toMatchObject([{ problem: { code: "invalid_http" } }]);
  expect(refused[0]).not.toHaveProperty("url");
});

test("a body that breaks HTTP is refused with its request, and cut when its answer has begun", async () => {
  for (const hasBegun of [false, true]) {
    const { refused, talk } = await startServer((request, response) => {
      request.on("error", () => {}).resume();
      if (request.url === "/v1/i") response.end();
      else if (hasBegun) response.writeHead(200).write("begun");
    });
    const whole = "POST /v1/i HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n";
    const head = "POST /v1/t HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
    const text = await talk(`${whole}${head}zz\r\n`);
    if (hasBegun) expect(text).not.toContain("400");
    else expect(text).toMatch(/^HTTP\/1\.1 200 [^]*HTTP\/1\.1 400 /);
    expect(refused).toMatchObject(
      hasBegun ? [] : [{ method: "POST", url: "/v1/t", problem: { code: "invalid_http" } }],
    );
  }
});

test.for(["100-continue", "100-Continue", "x, 100-continue"])(
  "a client that expects %s is handled, and one that expects something else is refused",
  async (expectation) => {
    const { refused, talk } = await startServer((request, response) => {
      request.resume();
      response.end("handled");
    });
    const ask = (value: string): Promise<string> =>
      talk(
        `POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nExpect: ${value}\r\nContent-Length: 1\r\n\r\nx`,
      );
    expect(await ask(expectation)).toContain("handled");
    expect(refused).toEqual([]);
    expect(await ask("100-continued")).toMatch(/^HTTP\/1\.1 417 /);
    expect(refused).toMatchObject([{ problem: { code: "unknown_expectation" } }]);
  },
);
