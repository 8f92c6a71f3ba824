/**
 * Requests as no client library writes them, from a seed, at all three ports: broken first lines,
 * headers and chunks, pipelining, slow pieces, connections that end too early.
 * `HOOKYARD_ATTACK_SEED` gives others, and
 * `npm run attack` makes more of them.
 */

import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect, test } from "vitest";
import { createDice, type Dice } from "./dice.ts";
import { startTargets, token, writeKey } from "./targets.ts";

const seed = Number(process.env["HOOKYARD_ATTACK_SEED"] ?? 4000);
const attacks = process.env["MODE"] === "whole" ? 4000 : 1800;
const atOnce = 50;
const maxAnswer = 1_000_000;

const track = `{"userId":"attacker","event":"e"}`;

function targetOf({ roll, pick, percent }: Dice): string {
  if (percent(3)) return `/${"x".repeat(roll(40_000))}`;
  if (percent(3)) return `/v1/track?${"a=b&".repeat(roll(4000))}`;
  return pick([
    ...[
      "/v1/batch",
      "/v1/track",
      "//v1/batch",
      "/prefix/v1/identify/",
      "/V1/PAGE",
      "/v1/m",
      "/v1/projects/%E0%A4%A/settings",
      "/v1/nothing",
    ],
    ...[
      "/",
      "/api/messages",
      "/api/events",
      "/api/sources/%2e%2e",
      "/api/openapi.json",
      "/../../etc/passwd",
      "/%00",
      "/bare.js",
    ],
    ...[
      "*",
      "http://evil.example/v1/track",
      "evil.example:80",
      "/é",
      "/a b",
      "",
      "//",
      "/?",
      "/#x",
    ],
  ]);
}

function headersOf({ roll, pick, percent }: Dice, size: number): string[] {
  const lines: string[] = [];
  if (percent(90))
    lines.push(`Host: ${pick(["127.0.0.1", "localhost:1", "evil.example", "", "a b", "[::1]"])}`);
  if (percent(5)) lines.push("Host: second");
  if (percent(70))
    lines.push(
      `Authorization: ${pick([`Basic ${btoa(`${writeKey}:`)}`, `Bearer ${token}`, "Basic", "Basic ????", "x".repeat(5000)])}`,
    );
  if (percent(80))
    lines.push(
      `Content-Length: ${percent(80) ? size : pick([0, -1, size + 1, size * 2, 1e9, "1e3", "0x10", "+1", "1,1", "9".repeat(30)])}`,
    );
  if (percent(5)) lines.push(`Content-Length: ${size}`);
  if (percent(15))
    lines.push(
      `Transfer-Encoding: ${pick(["chunked", "Chunked", "gzip, chunked", "chunked, identity", "identity", "xchunked", ""])}`,
    );
  if (percent(20))
    lines.push(`Content-Encoding: ${pick(["gzip", "deflate", "br", "zstd", "gzip, gzip", ""])}`);
  if (percent(20))
    lines.push(
      `Connection: ${pick(["close", "keep-alive", "Upgrade", "x".repeat(100), "close, keep-alive"])}`,
    );
  if (percent(5)) lines.push(`Upgrade: ${pick(["websocket", "h2c"])}`);
  if (percent(5)) lines.push(`Expect: ${pick(["100-continue", "200-ok", ""])}`);
  if (percent(5)) lines.push(`Origin: ${pick(["null", "http://evil.example", "\u00ff"])}`);
  if (percent(3)) lines.push(...Array.from({ length: roll(2500) }, (_, n) => `X-${n}: ${n}`));
  if (percent(10))
    lines.push(
      pick([
        "No colon",
        " Folded: 1",
        "X : 1",
        ": 1",
        "X: a\0b",
        "X: \u0007",
        "X:",
        "Bad Name: 1",
        `X: ${"y".repeat(20_000)}`,
      ]),
    );
  return lines;
}

function bodyOf({ roll, pick, percent }: Dice): string {
  if (percent(30)) return "";
  if (percent(40)) return track;
  if (percent(30))
    return `{"batch":[${Array.from({ length: roll(50) }, () => pick([track, "1", "null", "{}", "[]"])).join(",")}]}`;
  if (percent(30))
    return Array.from({ length: roll(2000) }, () => String.fromCharCode(roll(256))).join("");
  return pick(["{", "[".repeat(5000), `{"batch":null}`, `"`, " ".repeat(600_000)]);
}

function chunkedOf({ roll, pick, percent }: Dice, body: string): string {
  let text = "";
  for (let at = 0; at < body.length;) {
    const part = body.slice(at, (at += 1 + roll(Math.max(1, body.length / 2))));
    const size = percent(95)
      ? part.length.toString(16)
      : pick(["-1", "zz", "", "f".repeat(20), `${part.length.toString(16)}0`]);
    text += `${size}${percent(10) ? `;${"e".repeat(roll(200))}` : ""}\r\n${part}${percent(97) ? "\r\n" : "\n"}`;
  }
  return (
    text +
    (percent(80)
      ? "0\r\n\r\n"
      : pick(["", "0\r\n", "0\r\nX: 1\r\n\r\n", "0\r\nContent-Length: 5\r\n\r\n"]))
  );
}

function requestOf(dice: Dice): string {
  const { roll, pick, percent } = dice;
  const body = bodyOf(dice);
  const lines = headersOf(dice, body.length);
  const sent =
    lines.some((line) => line.startsWith("Transfer-Encoding")) && percent(90)
      ? chunkedOf(dice, body)
      : body;
  const method = percent(85)
    ? "POST"
    : pick([
        "GET",
        "PUT",
        "HEAD",
        "OPTIONS",
        "DELETE",
        "TRACE",
        "CONNECT",
        "PRI",
        "post",
        "BREW",
        "",
        "X".repeat(roll(300)),
      ]);
  const version = percent(95)
    ? "HTTP/1.1"
    : pick(["HTTP/1.0", "HTTP/0.9", "HTTP/2.0", "HTTP/1.1 ", "", "HTTPS/1.1", "HTTP/1.11"]);
  const end = percent(96) ? "\r\n" : pick(["\n", "\r", "\n\r", "\0"]);
  return [`${method} ${targetOf(dice)} ${version}`, ...lines, "", sent].join(end);
}

function bytesOf(dice: Dice): Buffer {
  const { roll, percent } = dice;
  const one = requestOf(dice);
  const text = percent(10) ? one.repeat(1 + roll(40)) : percent(10) ? one + requestOf(dice) : one;
  const bytes = Buffer.from(text.slice(0, 2_000_000), "latin1");
  if (percent(10)) for (let n = 1 + roll(8); n > 0; n -= 1) bytes[roll(bytes.length)] = roll(256);
  return percent(10) ? bytes.subarray(0, roll(bytes.length)) : bytes;
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function write(socket: Socket, bytes: Buffer, { roll, percent }: Dice): Promise<void> {
  if (!percent(20)) {
    socket.write(bytes);
    return;
  }
  for (let at = 0; at < bytes.length && !socket.destroyed;) {
    const next = at + 1 + roll(Math.ceil(bytes.length / 10));
    socket.write(bytes.subarray(at, next));
    at = next;
    await nextTurn();
  }
}

/** All that came back, once the connection has ended. */
async function attack(
  port: number,
  bytes: Buffer,
  dice: Dice,
): Promise<{ answer: string; isWhole: boolean }> {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  socket.on("error", () => {});
  const closed = new Promise((resolve) => socket.on("close", resolve));
  socket.on("end", () => socket.end());
  await once(socket, "connect");
  await write(socket, bytes, dice);
  const isWhole = !dice.percent(15);
  if (isWhole) socket.end();
  else if (dice.percent(50)) socket.destroy();
  else socket.resetAndDestroy();
  await closed;
  return { answer: Buffer.concat(chunks).toString("latin1"), isWhole };
}

test.each(["ingest", "control", "endpoints"] as const)(
  "at the %s port each is answered or ends, and the next good message is accepted",
  async (name) => {
    const targets = await startTargets();
    const dice = createDice(seed);
    const good: string[] = [];
    const statuses = new Map<string, number>();
    let answered = 0;
    const share = Math.ceil(attacks / 3);
    for (let done = 0; done < share; done += atOnce) {
      const made = Array.from({ length: atOnce }, () => ({
        bytes: bytesOf(dice),
        own: createDice(dice.roll(2 ** 31)),
      }));
      const ends = await Promise.all(
        made.map(({ bytes, own }) => attack(targets.ports[name], bytes, own)),
      );
      for (const { answer } of ends) {
        expect(answer.length).toBeLessThan(maxAnswer);
        if (answer === "") continue;
        answered += 1;
        expect(answer).toMatch(/^HTTP\/1\.1 \d{3} /);
        for (const [, status = ""] of answer.matchAll(/(?:^|\n|\})HTTP\/1\.1 (\d{3}) /g))
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
      good.push(await targets.sendGood());
    }
    expect([...statuses.keys()].filter((status) => status.startsWith("5"))).toEqual([]);
    expect(targets.reported).toEqual([]);
    expect(answered).toBeGreaterThan(share / 2);
    expect(statuses.size).toBeGreaterThan(3);
    expect(await targets.kept()).toEqual(good);
  },
);
