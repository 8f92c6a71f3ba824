/** Speaks to the ingest port byte by byte, for what no HTTP client would send or show. */

import { once } from "node:events";
import { connect, type Socket } from "node:net";

export type Answer = { status: number; headers: Record<string, string>; text: string };

type Talk = {
  /** Answers in the order in which they came. */
  answers: Answer[];
  /** What came and was no whole answer. */
  rest: string;
  /** The other side ended or cut the connection. */
  closed: boolean;
};

type TalkOptions = {
  /** How many answers to wait for, unless the connection ends before. */
  answers?: number;
  /** End our side once all is sent. */
  halfClose?: boolean;
};

/** Only for what never comes: a machine with other work to do must not decide about a test. */
const patienceMs = 240_000;

/**
 * Sends the parts one after the other and gathers the answers; fails when nothing ends the wait.
 */
export function talk(
  port: number,
  parts: (string | Uint8Array)[],
  { answers: wanted = 1, halfClose = false }: TalkOptions = {},
): Promise<Talk> {
  return new Promise((resolve, reject) => {
    const answers: Answer[] = [];
    let pending = Buffer.alloc(0);
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    const patience = setTimeout(() => {
      socket.destroy();
      reject(
        new Error(
          `no answer to ${JSON.stringify(String(parts[0]).slice(0, 60))}, but ${JSON.stringify(pending.toString("latin1"))}`,
        ),
      );
    }, patienceMs);
    const end = (closed: boolean): void => {
      clearTimeout(patience);
      socket.destroy();
      resolve({ answers, rest: pending.toString("latin1"), closed });
    };
    socket.on("data", (bytes: Buffer) => {
      pending = Buffer.concat([pending, bytes]);
      for (let taken = takeAnswer(pending); taken !== null; taken = takeAnswer(pending)) {
        pending = pending.subarray(taken.size);
        answers.push(taken.answer);
      }
      if (answers.length >= wanted) end(false);
    });
    // A reset while sending does not take away the answer that came before it: `close` follows.
    socket.on("error", () => {});
    socket.on("end", () => end(true));
    socket.on("close", () => end(true));
    void writeAll(socket, parts).then(() => {
      if (halfClose) socket.end();
    });
  });
}

async function writeAll(socket: Socket, parts: (string | Uint8Array)[]): Promise<void> {
  const closed = new AbortController();
  socket.once("close", () => closed.abort());
  for (const part of parts) {
    if (socket.destroyed) return;
    if (socket.write(part)) continue;
    await once(socket, "drain", { signal: closed.signal }).catch(() => {});
  }
}

function takeAnswer(bytes: Buffer): { answer: Answer; size: number } | null {
  const end = bytes.indexOf("\r\n\r\n");
  if (end < 0) return null;
  const [statusLine = "", ...lines] = bytes.subarray(0, end).toString("latin1").split("\r\n");
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(":");
    headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
  }
  const size = end + 4 + Number(headers["content-length"] ?? 0);
  if (bytes.length < size) return null;
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(statusLine)?.[1]);
  return {
    answer: { status, headers, text: bytes.subarray(end + 4, size).toString("utf8") },
    size,
  };
}

/** The bytes of a POST with its length, unless the headers say how the body comes. */
export function post(
  path: string,
  body: string | Uint8Array,
  headers: Record<string, string> = {},
): Buffer {
  const all: Record<string, string> = { Host: "hookyard", ...headers };
  if (all["Transfer-Encoding"] === undefined)
    all["Content-Length"] ??= String(Buffer.byteLength(body));
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([
    Buffer.from(`POST ${path} HTTP/1.1\r\n${lines.join("")}\r\n`, "latin1"),
    Buffer.from(body),
  ]);
}

export function basic(writeKey: string): string {
  return `Basic ${Buffer.from(`${writeKey}:`).toString("base64")}`;
}
