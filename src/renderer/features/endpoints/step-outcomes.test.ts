import { describe, expect, test } from "vitest";
import { builtInProfiles } from "../../../domain/retry.ts";
import { parseProgram } from "./program-text.ts";
import {
  didOutcome,
  didWords,
  outlookOf,
  type OutlookOptions,
  progressOf,
  type Received,
  signatureVerdict,
} from "./step-outcomes.ts";

const progress = (
  text: string,
  step: number,
  served: number,
  recent: number[] = [],
  isWhole = true,
) =>
  progressOf(
    {
      steps: parseProgram(text).steps ?? [],
      after: "repeat-last",
      position: { step, served, received: recent.length },
    },
    recent.map((place) => ({ step: place })),
    isWhole,
  );

describe("what each step has served", () => {
  test("those before the next one are used up, those after it have served nothing", () => {
    expect(progress("503 ×3 → hang → reset ×2 → 200", 2, 1)).toEqual([
      { served: 3, of: 3 },
      { served: 1, of: 1 },
      { served: 1, of: 2 },
      { served: 0, of: null },
    ]);
  });

  test("behind a step that lets requests pass, the received requests tell", () => {
    expect(progress("503 30 % → 200", 0, 1, [1, 1, 0, 1])).toEqual([
      { served: 1, of: null },
      { served: 3, of: null },
    ]);
    expect(progress("reset for track → 500 ×5 → 200", 0, 0, [1, 1])[1]).toEqual({
      served: 2,
      of: 5,
    });
  });

  test("and when not all of them are listed, nothing is claimed", () => {
    expect(progress("503 30 % → 200", 0, 1, [1], false)[1]).toEqual({ served: null, of: null });
    expect(progress("500 ×9 → reset for track → 200", 0, 1, [0], false)).toEqual([
      { served: 1, of: 9 },
      { served: 0, of: 1 },
      { served: null, of: null },
    ]);
  });
});

const profileNamed = (name: string) => {
  const profile = builtInProfiles.find((each) => each.name === name);
  if (profile === undefined) throw new Error(`there is no profile ${name}`);
  return profile;
};

const outlook = (text: string, options: Partial<OutlookOptions> = {}) =>
  outlookOf({
    steps: parseProgram(text).steps ?? [],
    after: "repeat-last",
    profile: profileNamed("documented"),
    seed: 1,
    jitter: false,
    ...options,
  });

const words = (text: string, options?: Partial<OutlookOptions>) =>
  outlook(text, options).beads.map(({ word, outcome }) => `${word} ${outcome}`);

describe("what a delivery makes of a program", () => {
  test("each round meets the step that is due, at its time, until one answers 2xx", () => {
    const { beads, end } = outlook("503 ×3 → hang → reset → 200");
    expect(end).toBe("delivered");
    expect(beads.map(({ word, outcome, atMs }) => [word, outcome, atMs])).toEqual([
      ["503", "http_error", 0],
      ["503", "http_error", 10_000],
      ["503", "http_error", 30_000],
      ["hang", "timeout", 70_000],
      ["reset", "connection_error", 150_000],
      ["200", "success", 310_000],
    ]);
  });

  test("a status that is not retried ends it as failed, a program that never answers as expired", () => {
    expect(outlook("503 → 404 → 200")).toMatchObject({
      end: "failed",
      beads: [{ word: "503" }, { word: "404" }],
    });
    const { end, beads } = outlook("500");
    expect(end).toBe("expired");
    expect(beads.at(-1)?.atMs).toBeLessThanOrEqual(14_400_000);
    expect(beads.length).toBeGreaterThan(10);
  });

  test("another profile retries other things", () => {
    expect(outlook("429 → 200", { profile: profileNamed("svix") }).end).toBe("delivered");
    expect(outlook("429 → 200").end).toBe("failed");
  });

  test("an answer beyond the profile's deadline is a timeout", () => {
    expect(words("200 after 6 s → 200")).toEqual(["200 timeout", "200 success"]);
    expect(words("drip → hang 2 s → drip over 2 s")).toEqual([
      "drip timeout",
      "hang connection_error",
      "drip success",
    ]);
    expect(words("200 after 6 s", { profile: profileNamed("svix") })).toEqual(["200 success"]);
  });

  test("starting over begins again once every step is used up", () => {
    expect(words("503 → 500", { after: "start-over" }).slice(0, 4)).toEqual([
      "503 http_error",
      "500 http_error",
      "503 http_error",
      "500 http_error",
    ]);
  });

  test("the message is one that every step is meant for", () => {
    expect(words("503 for track → 500 for user:u_1 → 200")).toEqual([
      "503 http_error",
      "500 http_error",
      "200 success",
    ]);
  });

  test("a random step is a share of its round and no certain failure: never at 0, always at 100", () => {
    expect(words("503 0 % → 200")).toEqual(["200 success"]);
    expect(outlook("503 0 % → 200").share).toBe(1);
    expect(outlook("503 100 % → 200").end).toBe("expired");
    const { beads, end, share } = outlook("503 30 % → 200");
    expect([end, share]).toEqual(["delivered", 0.7]);
    expect(beads).toMatchObject([
      { word: "200", chances: [{ word: "503", outcome: "http_error", share: 0.3 }] },
    ]);
    // Both fail and are retried: every delivery ends so.
    expect(outlook("500 70 % → hang")).toMatchObject({ end: "expired", share: 1 });
    expect(outlook("410 20 % → 503 ×2 → 200").share).toBeCloseTo(0.8 ** 3);
  });

  test("a forward counts as a receiver that answers 200, unless the step says otherwise", () => {
    expect(
      words("forward lose answer → forward status 503 → forward later 5 s → forward copies 2"),
    ).toEqual([
      "forward connection_error",
      "forward status 503 http_error",
      "forward timeout",
      "forward success",
    ]);
  });

  test("jitter moves the times and nothing else", () => {
    const plain = outlook("503 ×3 → 200");
    const moved = outlook("503 ×3 → 200", { jitter: true, seed: 7 });
    expect(moved.beads.map(({ word }) => word)).toEqual(plain.beads.map(({ word }) => word));
    expect(moved.beads.map(({ atMs }) => atMs)).not.toEqual(plain.beads.map(({ atMs }) => atMs));
  });
});

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
  forwarded: [],
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
    ["forward lose answer", { did: "forward", status: null }, "lost connection_error"],
    ["forward lose request as timeout", { did: "forward", status: null }, "lost timeout"],
    ["forward later 6 s", { did: "forward", status: null }, "no answer timeout"],
    ["forward", { did: "forward", status: 502 }, "502 http_error"],
    ["forward", { did: "forward", status: 201 }, "201 success"],
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
        signature: {
          value: "ab",
          verifies: valid.map((each, n) => ({
            destinationId: `dst_${n}`,
            name: `D${n}`,
            valid: each,
          })),
        },
      }),
    );

  test("verifies with any of the secrets, differs from all, or is not there", () => {
    expect(verdict(false, true)).toMatchObject({
      word: "verifies",
      detail: expect.stringContaining("D1"),
    });
    expect(verdict(false)).toMatchObject({ word: "differs" });
    expect(verdict()).toMatchObject({
      word: "differs",
      detail: expect.stringContaining("No destination"),
    });
    expect(signatureVerdict(received({})).word).toBe("none");
  });
});
