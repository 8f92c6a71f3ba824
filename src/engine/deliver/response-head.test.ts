/** What a status line and headers mean for the connection, at the limits of each. */

import { expect, test } from "vitest";
import { parseResponseHead, trimBlanks } from "./response-head.ts";

const parse = (...lines: string[]) => parseResponseHead([...lines, "", ""].join("\r\n"));

/** All but the status and the headers. */
function meaning(...headers: string[]) {
  const {
    status: _,
    headers: __,
    ...rest
  } = parse("HTTP/1.1 200 OK", ...headers) as Record<string, unknown>;
  return rest;
}

const usual = { keepAlive: true, keepAliveMs: null, keepAliveMax: Infinity };
const toTheEnd = { ...usual, framing: { by: "close" }, keepAlive: false };
const chunks = { ...usual, framing: { by: "chunks" } };
const sized = (length: number) => ({ ...usual, framing: { by: "length", length } });

test.each<[headers: string[], unknown]>([
  [[], toTheEnd],
  [["Content-Length: 5"], sized(5)],
  [["content-length:5"], sized(5)],
  [["Content-Length: 05 , 5"], sized(5)],
  [["Content-Length: 5", "CONTENT-LENGTH: 5"], sized(5)],
  [["Content-Length: 9007199254740991"], sized(Number.MAX_SAFE_INTEGER)],
  [["Content-Lengtx: 5"], toTheEnd],
  [["Transfer-Encoding: chunked"], chunks],
  [["transfer-encoding: GZIP,\tChunked"], chunks],
  [["Transfer-Encoding: gzip", "Transfer-Encoding: chunked"], chunks],
  [["Transfer-Encoding: chunked", "Transfer-Encoding: gzip"], toTheEnd],
  [["Transfer-Encoding: chunked, gzip"], toTheEnd],
  [["Transfer-Encoding: xchunked"], toTheEnd],
  [["Transfer-Encodinx: chunked"], toTheEnd],
  [["Transfer-Encoding: gzip", "Content-Length: 5"], toTheEnd],
  [["Transfer-Encoding: chunked", "Content-Length: 5"], { ...chunks, keepAlive: false }],
  [["Transfer-Encoding: chunked", "Content-Length: no"], { ...chunks, keepAlive: false }],
])("%j says how the body ends", (headers, meant) => {
  expect(meaning(...headers)).toEqual(meant);
});

test.each<[first: string, headers: string[], keepAlive: boolean]>([
  ["HTTP/1.1 200 OK", [], true],
  ["HTTP/1.9 200 OK", [], true],
  ["HTTP/1.0 200 OK", [], false],
  ["HTTP/1.0 200 OK", ["Connection: Keep-Alive"], true],
  ["HTTP/1.0 200 OK", ["Connectiox: Keep-Alive"], false],
  ["HTTP/1.0 200 OK", ["Connection: keep-alive, close"], false],
  ["HTTP/1.1 200 OK", ["Connection: CLOSE"], false],
  ["HTTP/1.1 200 OK", ["Connection: x", "Connection: close"], false],
  ["HTTP/1.1 200 OK", ["Connection: close", "Connection: x"], false],
])("after %s with %j the connection is kept: %s", (first, headers, keepAlive) => {
  expect(parse(first, "Content-Length: 0", ...headers)).toMatchObject({ keepAlive });
});

test("HTTP/1.0 has no chunks that leave a connection to be used again", () => {
  expect(
    parse("HTTP/1.0 200 OK", "Connection: keep-alive", "Transfer-Encoding: chunked"),
  ).toMatchObject({ framing: { by: "chunks" }, keepAlive: false });
});

test.each<[headers: string[], ms: number | null, max: number]>([
  [["Keep-Alive: timeout=5"], 5000, Infinity],
  [["keep-alive: max=7"], null, 7],
  [["Keep-Alive: timeout=5, max=100"], 5000, 100],
  [['Keep-Alive: TIMEOUT = "5";max=1'], 5000, 1],
  [["Keep-Alive: timeout=5.9"], 5000, Infinity],
  [["Keep-Alive: timeout=0, max=0"], 0, 0],
  [["Keep-Alive: timeout=5, max=3", "Keep-Alive: timeout=4, max=9"], 4000, 3],
  [["Keep-Alive: timeout=4, max=9", "Keep-Alive: timeout=5, max=3"], 4000, 3],
  [["Keep-Alive: timeout=4", "Keep-Alive: max=3"], 4000, 3],
  [["Keep-Alive: xtimeout=5, timeout=x"], null, Infinity],
  [["Keep-Alive: timeout=123456789"], 123_456_789_000, Infinity],
  [["Keep-Alive: timeout=1234567890"], null, Infinity],
  [["User-Agent: timeout=5"], null, Infinity],
])("%j is what the receiver promises", (headers, ms, max) => {
  expect(meaning("Content-Length: 0", ...headers)).toMatchObject({
    keepAliveMs: ms,
    keepAliveMax: max,
  });
});

test.each([
  [199, true],
  [200, false],
  [204, true],
  [205, false],
  [304, true],
  [305, false],
])("an answer with the status %i has no body: %s", (status, isBodiless) => {
  const { framing } = parse(`HTTP/1.1 ${status}`, "Content-Length: 5") as { framing: unknown };
  expect(framing).toEqual({ by: "length", length: isBodiless ? 0 : 5 });
  expect(parse(`HTTP/1.1 ${status}`, "Transfer-Encoding: chunked")).toMatchObject({
    status,
    keepAlive: true,
  });
});

const digits = "9".repeat(61);

test.each<[lines: string[], problem: string, status: number | null]>([
  [["HTTP/2 200"], "its first line is not an HTTP/1 status line", null],
  [["HTTP/1.1 200OK"], "its first line is not an HTTP/1 status line", null],
  [["HTTP/1.1 099"], "its first line is not an HTTP/1 status line", null],
  [["HTTP/1.1 1000"], "its first line is not an HTTP/1 status line", null],
  [["HTTP/1.1 200 a\rb"], "a line contains a carriage return", null],
  [["HTTP/1.1 200", "A: b\r"], "a line contains a carriage return", null],
  [["HTTP/1.1 200", " A: b"], "it starts with a folded line", null],
  [["HTTP/1.1 200", "\tA: b"], "it starts with a folded line", null],
  [["HTTP/1.1 200", "A: b", "odd"], "header line 2 has no colon", null],
  [["HTTP/1.1 200", "A: b", ": c"], "the name of header 2 is not legal", null],
  [["HTTP/1.1 200", "A b: c"], "the name of header 1 is not legal", null],
  [["HTTP/1.1 200", "Content-Length: 1,"], "its Content-Length is not a number: 1,", 200],
  [["HTTP/1.1 201", "Content-Length: 5, 6"], "its Content-Length headers differ: 5, 6", 201],
  [
    ["HTTP/1.1 200", "Content-Length: 9007199254740992"],
    "its Content-Length is too large: 9007199254740992",
    200,
  ],
  [
    ["HTTP/1.1 200", `Content-Length: ${digits}`],
    `its Content-Length is too large: ${digits.slice(1)}`,
    200,
  ],
  [
    ["HTTP/1.1 200", `Content-Length: x${digits}`],
    `its Content-Length is not a number: x${digits.slice(2)}`,
    200,
  ],
  [
    ["HTTP/1.1 200", `Content-Length: 1, 2${" ".repeat(60)}, 3`],
    `its Content-Length headers differ: 1, 2${" ".repeat(56)}`,
    200,
  ],
])("%j is malformed: %s", (lines, problem, status) => {
  expect(parse(...lines)).toEqual({ problem, status });
});

test("a head without its empty line is malformed, and one of a thousand headers is not", () => {
  const missing = { problem: "the empty line is missing", status: null };
  for (const text of ["", "HTTP/1.1 200 OK", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\nA: b\n"])
    expect(parseResponseHead(text)).toEqual(missing);
  const headers = (count: number): string[] => Array.from({ length: count }, () => "A: b");
  expect(parse("HTTP/1.1 200", ...headers(1000))).toMatchObject({ status: 200 });
  // A folded line is no further header.
  expect(parse("HTTP/1.1 200", ...headers(1000), " c")).toMatchObject({ status: 200 });
  expect(parse("HTTP/1.1 200", ...headers(1001))).toEqual({
    problem: "it has more than 1000 headers",
    status: null,
  });
});

test("headers are read as they are written, without blanks around them, and folded lines are joined", () => {
  expect(
    parseResponseHead(
      "HTTP/1.1 299 Odd Words\nX-A: \t one \t\n\t two\t\n  three\r\nX-B:\r\nx-a: 1:2\n\n",
    ),
  ).toEqual({
    ...toTheEnd,
    status: 299,
    headers: [
      ["X-A", "one two three"],
      ["X-B", ""],
      ["x-a", "1:2"],
    ],
  });
  expect([" \t", "", "a", " a b\t", "\u00a0a\u00a0"].map((text) => trimBlanks(text))).toEqual([
    ...["", "", "a", "a b"],
    "\u00a0a\u00a0",
  ]);
  expect(trimBlanks("name:  value ", 5)).toBe("value");
});
