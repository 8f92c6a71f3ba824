import { expect, test } from "vitest";
import { parseHead } from "./head.ts";

test.each([
  ["", { startLine: "", headers: [] }],
  ["HTTP/1.1 200 OK\r\n\r\n", { startLine: "HTTP/1.1 200 OK", headers: [] }],
  [
    "POST /x HTTP/1.1\r\nHost: a\r\nX-Twice: 1\r\nx-twice: 2\r\n\r\n",
    {
      startLine: "POST /x HTTP/1.1",
      headers: [
        ["Host", "a"],
        ["X-Twice", "1"],
        ["x-twice", "2"],
      ],
    },
  ],
  [
    "HTTP/1.1 200\r\nLocation: http://a:80/b\r\nEmpty:\r\n",
    {
      startLine: "HTTP/1.1 200",
      headers: [
        ["Location", "http://a:80/b"],
        ["Empty", ""],
      ],
    },
  ],
  ["HTTP/1.0 200 OK\nA: \t b c \t\n", { startLine: "HTTP/1.0 200 OK", headers: [["A", "b c"]] }],
  ["HTTP/1.1 200 OK\r\nLong: one\r\n  two\r\n\r\n", { startLine: "HTTP/1.1 200 OK", headers: [["Long", "one two"]] }],
  ["HTTP/1.1 200 OK\r\nLong:\r\n one\r\n\ttwo\r\n", { startLine: "HTTP/1.1 200 OK", headers: [["Long", "one two"]] }],
  ["HTTP/1.1 200 OK\r\n goes on\r\n\r\n", { startLine: "HTTP/1.1 200 OK", headers: [[" goes on", ""]] }],
  ["HTTP/1.1 200 OK\r\nno colon\r\n", { startLine: "HTTP/1.1 200 OK", headers: [["no colon", ""]] }],
])("reads the head %j", (head, expected) => {
  expect(parseHead(head)).toEqual(expected);
});
