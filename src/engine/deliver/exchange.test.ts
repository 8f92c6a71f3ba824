import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { parseTarget } from "./dial.ts";
import type { Target } from "./dial.ts";
import { deadlineFailure, socketFailure } from "./exchange.ts";
import type { Failure, Stage } from "./exchange.ts";

const target = webhook("https://[::1]:8443/hook");
const progress = "before any byte of the response arrived";

function webhook(url: string): Target {
  const parsed = parseTarget(url);
  if (!parsed) throw new Error(`No URL: ${url}`);
  return parsed;
}

function failed(code: string, stage: Stage): Failure {
  return socketFailure(
    Object.assign(new Error(`${code} happened`), { code }),
    target,
    stage,
    progress,
  );
}

describe("the outcome", () => {
  test.each([
    ["ECONNRESET", "securing", "connection_error", "ended the connection during the TLS handshake"],
    ["ECONNRESET", "connecting", "connection_error", "was reset while connecting"],
    ["ETIMEDOUT", "securing", "connection_error", "did not answer the attempt to connect"],
    ["EPROTO", "securing", "tls_error", "was not accepted: EPROTO happened"],
    ["ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION", "securing", "tls_error", "Check the TLS versions"],
    ["ERR_SSL_PACKET_LENGTH_TOO_LONG", "securing", "tls_error", "does not speak TLS"],
    ["CERT_NOT_YET_VALID", "securing", "tls_error", "is not valid yet"],
    ["CERT_REVOKED", "securing", "tls_error", "has been revoked"],
    ["ERR_TLS_CERT_ALTNAME_INVALID", "securing", "tls_error", "(it names none)"],
    ["SOME_NEW_CERTIFICATE_PROBLEM", "securing", "tls_error", "was not accepted: SOME_NEW"],
    ["ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED", "open", "tls_error", "a client certificate"],
    ["ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC", "open", "connection_error", progress],
    ["ERR_SSL_ALERT_CLOSE_NOTIFY", "open", "connection_error", progress],
    ["ECONNRESET", "open", "connection_error", `reset the connection ${progress}`],
    ["EPIPE", "open", "connection_error", `reset the connection ${progress}`],
    ["EHOSTUNREACH", "connecting", "connection_error", "no route to [::1]:8443"],
    ["EMFILE", "connecting", "connection_error", "no more open connections"],
    ["EODD", "connecting", "connection_error", "failed while connecting: EODD happened"],
    ["EAI_AGAIN", "lookup", "connection_error", "DNS does not answer"],
    ["EINVAL", "lookup", "connection_error", "could not be looked up (EINVAL)"],
  ] as const)("%s while %s is a %s with a sentence: %s", (code, stage, outcome, words) => {
    const { outcome: found, error } = failed(code, stage);
    expect(found).toBe(outcome);
    expect(error.code).toBe(code);
    expect(error.message).toMatch(/^[A-Z[].*[^.]\.$/);
    expect(error.message).toContain(words);
  });

  test("of several addresses, the one that failed for want of a route is not the reason", () => {
    const errors = ["ENETUNREACH", "ECONNREFUSED"].map((code) =>
      Object.assign(new Error(code), { code }),
    );
    expect(socketFailure(new AggregateError(errors), target, "connecting", progress).error).toEqual(
      {
        code: "ECONNREFUSED",
        message: "Nothing listens at [::1]:8443: the connection was refused.",
      },
    );
    expect(
      socketFailure(new AggregateError(errors.slice(0, 1)), target, "connecting", progress).error
        .code,
    ).toBe("ENETUNREACH");
  });

  test("is the same for errors with other globals, as Node's errors are in jest", () => {
    const raised = runInNewContext(
      `new AggregateError(["ENETUNREACH", "ECONNREFUSED"].map((code) => Object.assign(new Error(code), { code })))`,
    ) as AggregateError;
    for (const error of [raised, raised.errors[1]])
      expect(socketFailure(error, target, "connecting", progress).error.code).toBe("ECONNREFUSED");
  });

  test.each([
    ["lookup", "while the address of ::1 was being looked up"],
    ["connecting", "while connecting to [::1]:8443"],
    ["securing", "during the TLS handshake with [::1]:8443"],
    ["open", progress],
  ] as const)("a deadline while %s says so", (stage, where) => {
    expect(deadlineFailure(5000, target, stage, progress)).toEqual({
      outcome: "timeout",
      error: { code: "timeout", message: `No complete response within 5 s: timed out ${where}.` },
    });
  });

  test.each([
    [1000, "within 1 s:"],
    [1500, "within 1.5 s:"],
  ])("a deadline of %s ms is written in seconds", (timeoutMs, words) => {
    expect(deadlineFailure(timeoutMs, target, "open", progress).error.message).toContain(words);
  });
});
