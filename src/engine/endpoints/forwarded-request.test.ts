import { expect, test } from "vitest";
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
