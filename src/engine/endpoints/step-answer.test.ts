/** The head and the body of a step's answer, whatever the step names itself. */

import { expect, test } from "vitest";
import type { Step } from "../../domain/configuration.ts";
import { answerOf, writeAnswerHead } from "./step-answer.ts";

const json = "application/json";
const plain = "text/plain; charset=utf-8";

test.for<[Omit<Step, "do"> & { do?: Step["do"] }, number, string[], string]>([
  [{}, 200, ["Content-Length", "0"], ""],
  [{ body: "x" }, 200, ["Content-Type", plain, "Content-Length", "1"], "x"],
  [{ body: "1" }, 200, ["Content-Type", json, "Content-Length", "1"], "1"],
  [{ body: '"é"' }, 200, ["Content-Type", json, "Content-Length", "4"], '"é"'],
  [{ status: 204, body: "x" }, 204, [], "x"],
  [{ status: 304, body: "x" }, 304, [], "x"],
  [
    { status: 503, body: "x", headers: { "content-TYPE": "a/b", A: "1" } },
    503,
    ["content-TYPE", "a/b", "A", "1", "Content-Length", "1"],
    "x",
  ],
  [
    { body: "x", headers: { "content-length": "9" } },
    200,
    ["content-length", "9", "Content-Type", plain],
    "x",
  ],
  [
    { body: "x", headers: { "Transfer-Encoding": "chunked" } },
    200,
    ["Transfer-Encoding", "chunked", "Content-Type", plain],
    "x",
  ],
  [{ do: "redirect" }, 302, ["Location", "/p/q?redirected", "Content-Length", "0"], ""],
  [
    { do: "redirect", status: 307, headers: { location: "/a" } },
    307,
    ["location", "/a", "Content-Length", "0"],
    "",
  ],
  [{ headers: { Location: "/a" } }, 200, ["Location", "/a", "Content-Length", "0"], ""],
  [{ do: "drip" }, 200, ["Content-Type", plain, "Content-Length", "10"], "drip drip\n"],
  [{ do: "drip", body: "" }, 200, ["Content-Length", "0"], ""],
])("the answer of %j", ([step, status, headers, body]) => {
  const answer = answerOf({ do: "answer", ...step }, "p/q");
  expect(answer).toMatchObject({ status, headers, hasDate: false });
  expect(answer.body.toString()).toBe(body);
});

test("garbage has bytes that no HTTP has, and half of what is cut short is more than nothing", () => {
  const { body } = answerOf({ do: "garbage" }, "p");
  expect(body.toString("latin1")).toBe("\0\xff\xfe\x16\x03\x7f this is not HTTP\r\n\r\n");
  expect(answerOf({ do: "truncate" }, "p").body.byteLength).toBeGreaterThan(1);
});

test("an answer is made once for each step and path, and dated each time, unless the step does", () => {
  const step: Step = { do: "redirect" };
  const first = answerOf(step, "a");
  expect(answerOf(step, "a")).toBe(first);
  expect(answerOf(step, "b").headers).toContain("/b?redirected");
  const heads: unknown[] = [];
  const response = { writeHead: (...head: unknown[]) => heads.push(head) } as never;
  const body = writeAnswerHead({ step, path: "a", response, now: 0 });
  const dated: Step = { do: "answer", headers: { DATE: "never" } };
  writeAnswerHead({ step: dated, path: "a", response, now: 0 });
  expect(body).toEqual(first.body);
  expect(heads).toEqual([
    [302, [...first.headers, "Date", "Thu, 01 Jan 1970 00:00:00 GMT"]],
    [200, ["DATE", "never", "Content-Length", "0"]],
  ]);
});
