import { describe, expect, test } from "vitest";
import { builtInProfiles } from "../../../domain/retry.ts";
import { outlookOf, type OutlookOptions } from "./delivery-outlook.ts";
import { parseProgram } from "./program-text.ts";

const profileNamed = (name: string) => {
  const profile = builtInProfiles.find((each) => each.name === name);
  if (profile === undefined) throw new Error(`there is no profile ${name}`);
  return profile;
};

const outlook = (text: string, options: Partial<OutlookOptions> = {}) =>
  outlookOf({
    endpointId: "ept_000000001",
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
    expect(outlook("503 → 404 → 200")).toMatchObject({ end: "failed", beads: [{ word: "503" }, { word: "404" }] });
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
    expect(words("drip → hang 2 s → drip over 2 s")).toEqual(["drip timeout", "hang connection_error", "drip success"]);
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
    expect(words("503 for track → 500 for user:u_1 → 200")).toEqual(["503 http_error", "500 http_error", "200 success"]);
  });

  test("a share is drawn from the seed: never at 0, always at 100, the same each time between", () => {
    expect(words("503 0 % → 200")).toEqual(["200 success"]);
    expect(outlook("503 100 % → 200").end).toBe("expired");
    expect(outlook("503 50 % → 200", { seed: 7 })).toEqual(outlook("503 50 % → 200", { seed: 7 }));
  });

  test("jitter moves the times and nothing else", () => {
    const plain = outlook("503 ×3 → 200");
    const moved = outlook("503 ×3 → 200", { jitter: true, seed: 7 });
    expect(moved.beads.map(({ word }) => word)).toEqual(plain.beads.map(({ word }) => word));
    expect(moved.beads.map(({ atMs }) => atMs)).not.toEqual(plain.beads.map(({ atMs }) => atMs));
  });
});
