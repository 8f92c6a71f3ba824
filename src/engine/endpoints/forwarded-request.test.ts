import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import type { Step } from "../../domain/configuration.ts";
import { endToEnd, forwardedRequest } from "./forwarded-request.ts";

const received = (rawHeaders: string[], url = "/between") => ({
  method: "POST",
  url,
  rawHeaders,
  body: Buffer.from("{}"),
});

test("headers of one connection stay behind, also those that Connection names; all others keep their names and order", () => {
  const rawHeaders = [
    "Host",
    "a",
    "X-A",
    "1",
    "x-a",
    "2",
    "connection",
    "close,  X-Hop , x-a2",
    "X-HOP",
    "3",
    "X-A2",
    "4",
    "TE",
    "trailers",
  ];
  const { headers } = forwardedRequest(
    { do: "forward", to: "http://b/" },
    received([...rawHeaders, "Content-Length", "2", "Keep-Alive", "x"]),
  );
  expect(headers).toEqual([
    ["X-A", "1"],
    ["x-a", "2"],
  ]);
  expect(
    endToEnd([
      ["Close", "1"],
      ["Transfer-Encoding", "chunked"],
    ]),
  ).toEqual([["Close", "1"]]);
});

test.each([
  ["http://b/hook", "/between", "http://b/hook"],
  ["http://b/hook", "/between?", "http://b/hook"],
  ["http://b/hook", "/between?x=1&y", "http://b/hook?x=1&y"],
  ["http://b/hook?a=1#part", "/between?x=1", "http://b/hook?a=1&x=1"],
])("to %s from %s leads to %s", (to, url, wanted) => {
  expect(forwardedRequest({ do: "forward", to }, received([], url)).url).toBe(wanted);
});

const tampered = (tamper: Step["tamper"], body: string | Uint8Array, rawHeaders: string[] = []) => {
  const sent = forwardedRequest(
    { do: "forward", to: "http://b/", tamper },
    { ...received(rawHeaders), body: Buffer.from(body) },
  );
  return { headers: sent.headers, body: Buffer.from(sent.body).toString("latin1") };
};

test.each<[Step["tamper"], string | Uint8Array, string]>([
  [undefined, "{}", "{}"],
  ["body", "{ }", '{ "tampered":true}'],
  ["body", '{"a":1}\n', '{"a":1,"tampered":true}\n'],
  ["body", "[1]", "[1] "],
  ["body", "", " "],
  ["body", Uint8Array.of(0xff, 0x7d), '\xff,"tampered":true}'],
  ["reserialise", '{ "a" :\t[ 1.0,"x: , y" ] }', '{"a": [1.0, "x: , y"]}'],
  ["reserialise", '"a\\"b,c"', '"a\\"b,c"'],
  ["reserialise", '"~\u007f\ud83d\ude00"', '"~\\u007f\\ud83d\\ude00"'],
  ["reserialise", "a:b", "a:b"],
  ["signature", "{}", "{}"],
  ["no-signature", "{}", "{}"],
])("with %s tampered, %j becomes %j", (tamper, body, sent) => {
  expect(tampered(tamper, body).body).toBe(sent);
});

test("a signature is removed or made wrong wherever it is, and other headers stay", () => {
  const headers = ["A", "1", "x-SIGNATURE", "right", "X-Signature", "right", "B", "2"];
  const of = (signature: [string, string][]) => [["A", "1"], ...signature, ["B", "2"]];
  const wrong = createHash("sha1").update("{}").digest("hex");
  expect(tampered("no-signature", "{}", headers).headers).toEqual(of([]));
  expect(tampered("signature", "{}", headers).headers).toEqual(
    of([
      ["x-SIGNATURE", wrong],
      ["X-Signature", wrong],
    ]),
  );
  expect(tampered("signature", "{}", ["A", "1"]).headers).toEqual([
    ["A", "1"],
    ["X-Signature", wrong],
  ]);
  expect(tampered("body", "{}", headers).headers).toHaveLength(4);
});
