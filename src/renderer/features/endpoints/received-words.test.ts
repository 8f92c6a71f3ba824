import { describe, expect, test } from "vitest";
import { parseProgram } from "./program-text.ts";
import { didOutcome, didWords, signatureVerdict, type Received } from "./received-words.ts";

const received = (members: Partial<Received>): Received => ({
  id: "rcv_000000001",
  endpointId: "ept_000000001",
  receivedAt: "2026-11-21T16:47:20.118Z",
  tls: false,
  method: "POST",
  path: "/flaky",
  headers: [],
  body: "",
  bodyLength: 0,
  step: 0,
  did: "answer",
  status: 200,
  message: { type: null, messageId: null, event: null, userId: null },
  signature: null,
  ...members,
});

const told = (program: string, members: Partial<Received>) => {
  const steps = parseProgram(program).steps ?? [];
  return `${didWords(received(members), steps)} ${didOutcome(received(members), steps)}`;
};

describe("what happened to a received request", () => {
  test.each<[string, Partial<Received>, string]>([
    ["503", { status: 503 }, "503 http_error"],
    ["hang 5.1 s", { did: "hang", status: null }, "hang 5.1 s timeout"],
    ["hang 1 s", { did: "hang", status: null }, "hang 1 s connection_error"],
    ["reset", { did: "reset", status: null }, "reset connection_error"],
    ["200 after 6 s", { status: 200 }, "200 timeout"],
    ["200 after 6 s", { status: null }, "not answered timeout"],
    ["redirect 308", { did: "redirect", status: 308 }, "redirect 308 http_error"],
    ["truncate", { did: "truncate", status: 200 }, "truncate connection_error"],
    ["200", { did: "default", step: null, status: 200 }, "200, no step success"],
  ])("%s", (program, members, words) => {
    expect(told(program, members)).toBe(words);
  });

  test("a step that has been changed since is not mistaken for the one that served", () => {
    expect(told("reset", { did: "hang", status: null })).toBe("hang timeout");
    expect(told("200", { status: 503 })).toBe("503 http_error");
  });
});

describe("its signature", () => {
  const verdict = (...valid: boolean[]) =>
    signatureVerdict(
      received({
        signature: { value: "ab", verifies: valid.map((each, n) => ({ destinationId: `dst_${n}`, name: `D${n}`, valid: each })) },
      }),
    );

  test("verifies with any of the secrets, differs from all, or is not there", () => {
    expect(verdict(false, true)).toMatchObject({ word: "verifies", detail: expect.stringContaining("D1") });
    expect(verdict(false)).toMatchObject({ word: "differs" });
    expect(verdict()).toMatchObject({ word: "differs", detail: expect.stringContaining("No destination") });
    expect(signatureVerdict(received({})).word).toBe("none");
  });
});
