import { describe, expect, test } from "vitest";
import type { Attempt, Delivery } from "../timeline/timeline-model.ts";
import {
  attemptWord,
  hostOf,
  outcomeSentences,
  requestSize,
  requestVersion,
  statusLine,
} from "./attempt-words.ts";
import { aDelivery, anAttempt } from "./attempt.fixture.ts";

const clock = (at: string): string => at.slice(11, 19);
const said = (attempt: Attempt, delivery: Partial<Delivery> = {}): string => {
  const { lead, rest } = outcomeSentences(
    attempt,
    aDelivery({ attempts: [attempt], ...delivery }),
    clock,
  );
  return [lead, ...rest].join(" ");
};

describe("an attempt in a word", () => {
  test.each<[string, Partial<Attempt>]>([
    ["503", {}],
    ["timeout", { outcome: "timeout", response: null }],
    ["tls_error", { outcome: "tls_error", response: null }],
    [
      "refused",
      { outcome: "connection_error", response: null, error: { code: "ECONNREFUSED", message: "" } },
    ],
    ["cut short", { outcome: "connection_error", error: { code: "body_cut_short", message: "" } }],
    [
      "no response",
      { outcome: "connection_error", response: null, error: { code: "EHOSTUNREACH", message: "" } },
    ],
  ])("is %s", (word, changes) => {
    expect(attemptWord(anAttempt(changes))).toBe(word);
  });
});

describe("a host", () => {
  test("is told apart by its first label, and on loopback by its path", () => {
    expect(hostOf("https://billing.example.test/hooks")).toEqual({
      name: "billing",
      rest: ".example.test",
    });
    expect(hostOf("https://billing.example.test:8443/")).toEqual({
      name: "billing",
      rest: ".example.test:8443",
    });
    expect(hostOf("http://127.0.0.1:4710/ledger")).toEqual({ name: "ledger", rest: "" });
    expect(hostOf("http://192.168.1.7:80/hooks")).toEqual({ name: "192.168.1.7", rest: "" });
    expect(hostOf("http://localhost:8080/")).toEqual({ name: "localhost", rest: ":8080" });
    expect(hostOf("http://intranet/")).toEqual({ name: "intranet", rest: "" });
    expect(hostOf("nonsense")).toEqual({ name: "nonsense", rest: "" });
  });
});

describe("what an attempt came to", () => {
  test("says what was answered and when it is tried again", () => {
    expect(said(anAttempt(), { nextAttemptAt: "2026-11-21T15:51:06.000Z" })).toBe(
      "The receiver answered 503. Retried in round 2 at 15:51:06.",
    );
    const first = anAttempt();
    const second = anAttempt({ round: 2, startedAt: "2026-11-21T15:51:06.000Z" });
    expect(said(first, { attempts: [second, first], state: "failed" })).toBe(
      "The receiver answered 503. Retried in round 2 at 15:51:06.",
    );
  });

  test("says that a status is not retried", () => {
    const attempt = anAttempt({
      retryable: false,
      response: { status: 302, startLine: "HTTP/1.1 302", headers: [], body: "", bodyLength: 0 },
    });
    expect(said(attempt, { state: "failed" })).toBe(
      "The receiver answered 302. Redirects are not followed. The retry profile does not retry 302. Not retried.",
    );
  });

  test("says of a late answer how much of it had come", () => {
    const message =
      "No complete response within 5 s: timed out after 1184 of 4096 bytes of the response body.";
    const attempt = anAttempt({
      outcome: "timeout",
      error: { code: "timeout", message },
      response: {
        status: 200,
        startLine: "HTTP/1.1 200",
        headers: [["content-length", "4096"]],
        body: "{",
        bodyLength: 1184,
      },
    });
    expect(said(attempt, { state: "cancelled" })).toBe(
      `${message} The status 200 does not count, because the response is incomplete. Not retried, because the delivery was cancelled.`,
    );
  });

  test("says of an answer that was cut short that its status does not count", () => {
    const attempt = anAttempt({
      outcome: "connection_error",
      error: {
        code: "body_cut_short",
        message: "The receiver closed the connection after 50 of 100 bytes of the response body.",
      },
    });
    expect(said(attempt, { state: "expired" })).toMatch(
      /body\. The status 503 does not count, because the response is incomplete\. Not retried, because the retry window closed\.$/,
    );
  });

  test("says that a success ends it for all webhooks", () => {
    const attempt = anAttempt({
      outcome: "success",
      retryable: false,
      response: { status: 204, startLine: "HTTP/1.1 204", headers: [], body: "", bodyLength: 0 },
    });
    expect(said(attempt)).toBe("The receiver answered 204 after 142 ms. The message is delivered.");
    expect(said(attempt, { attempts: [attempt, anAttempt({ webhookId: "whk_2" })] })).toMatch(
      /the other webhooks are not retried/,
    );
  });
});

test.each([
  ["HTTP/1.1 200 OK", { version: "HTTP/1.1", status: "200", reason: "OK" }],
  [
    "HTTP/1.0 503 Come back  later",
    { version: "HTTP/1.0", status: "503", reason: "Come back  later" },
  ],
  ["HTTP/1.1 204", { version: "HTTP/1.1", status: "204", reason: "" }],
  ["HTTP/1.1 204 ", { version: "HTTP/1.1", status: "204", reason: "" }],
  ["ICY 200 OK", { version: "ICY", status: "200", reason: "OK" }],
  ["", null],
])("the status line %j is taken apart", (line, parts) => {
  expect(statusLine(line)).toEqual(parts);
});

test("the version of a request is its line's last word", () => {
  expect(requestVersion("POST /hooks?a=b HTTP/1.1")).toBe("HTTP/1.1");
});

test("a request is as long as its lines, their ends, and the bytes of its body", () => {
  const request = {
    sent: true,
    method: "POST",
    url: "https://x.test/",
    startLine: "POST / HTTP/1.1",
    headers: [["A", "b"]] as [string, string][],
    body: "é",
  };
  expect(requestSize(request)).toBe("POST / HTTP/1.1\r\nA: b\r\n\r\n".length + 2);
});
