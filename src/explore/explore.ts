/**
 * The search: draws schedules from the seed, runs them, and makes the first that fails as small as
 * it can be. Called by `hookyard explore` and by tests; writes no files.
 */

import { monotonic } from "../engine/real-time.ts";
import { changingMembers, type Violation } from "./claims.ts";
import type { Exploration } from "./explore-file.ts";
import { CannotExplore, Gone, Runner } from "./runner.ts";
import { Coverage, draw, type Drawn, type Schedule, type Step } from "./schedule.ts";
import { shrink } from "./shrink.ts";

type Progress = { schedules: number; ms: number };

type Finding = {
  number: number;
  drawn: Schedule;
  schedule: Schedule;
  violations: Violation[];
  runsToShrink: number;
};

export type Explored = Progress & {
  seed: number;
  /** What was searched: the given one, with what was learned from the receiver. */
  exploration: Exploration;
  /** What was learned, for people. */
  notes: string[];
  finding: Finding | null;
  /** Schedules that failed once, and not every time. */
  unsteady: { number: number; text: string }[];
  /** Why the search ended: the receiver did, and nobody knows at which schedule. */
  gone: string | null;
  coverage: ReturnType<Coverage["report"]>;
};

type Options = {
  exploration: Exploration;
  secret: string | null;
  seed: number;
  runs: number;
  minutes: number;
  onProgress?: (progress: Progress) => void;
  /** A schedule has failed, and is made smaller now. */
  onFailure?: (failure: { number: number; text: string }) => void;
};

/**
 * The first batch ends soon, so that an obvious bug does. In large ones, few seconds pass with
 * waiting for effects.
 */
const firstBatch = 16;
const batch = 96;
/** So many schedules that fail now and then are examined: each takes seconds. */
const maxUnsteady = 5;

export async function explore({
  exploration: given,
  secret,
  seed,
  runs,
  minutes,
  onProgress,
  onFailure,
}: Options): Promise<Explored> {
  const { exploration, notes } = await learn(given, secret);
  const runner = new Runner(exploration, secret);
  const coverage = new Coverage(exploration);
  const unsteady: Explored["unsteady"] = [];
  try {
    const began = monotonic();
    let [done, ms] = [0, 0];
    const result = (end: Partial<Pick<Explored, "finding" | "gone">>): Explored => ({
      schedules: done,
      ms,
      seed,
      exploration,
      notes,
      finding: null,
      unsteady,
      gone: null,
      coverage: coverage.report(),
      ...end,
    });
    while (done < runs && monotonic() - began < minutes * 60_000) {
      const count = Math.min(done === 0 ? firstBatch : batch, runs - done);
      const drawn = Array.from({ length: count }, (_, index) =>
        draw(exploration, seed, done + index),
      );
      try {
        const results = await runner.run(drawn.map(({ schedule }) => schedule));
        for (const one of drawn) coverage.add(one);
        done += count;
        ms = monotonic() - began;
        onProgress?.({ schedules: done, ms });
        const finding = await firstSteady({ runner, drawn, results, unsteady, onFailure });
        if (finding !== null || unsteady.length >= maxUnsteady) return result({ finding });
        await runner.reset();
      } catch (error) {
        if (!(error instanceof Gone)) throw error;
        ms = monotonic() - began;
        return result({ gone: error.message });
      }
    }
    return result({});
  } finally {
    runner.close();
  }
}

type Learned = { exploration: Exploration; notes: string[] };

/**
 * Each message alone: where none is accepted and seen, the file is wrong, or the receiver is not
 * ready.
 */
async function learn(exploration: Exploration, secret: string | null): Promise<Learned> {
  const runner = new Runner(exploration, secret);
  try {
    await runner.reset();
    const each = exploration.messages.map((_, message): Schedule => [{ do: "send", message }]);
    const results = await runner.run(each);
    const [first = []] = results;
    if (results.some((violations) => violations.length === 0))
      return await learnState(runner, { exploration, notes: [] });
    const isSeen =
      results.flat().every(({ kind }) => kind === "never") &&
      (await runner.states(each)).every((part) => part !== "");
    if (!isSeen) {
      const reasons = first.map(({ text }) => text).join(" ");
      throw new CannotExplore(
        `Not even a single message works: ${reasons} hookyard check says more about the receiver.`,
      );
    }
    const always = { ...exploration.always, effects: "any number" as const, sameState: true };
    const note =
      "The effects show users, and not the tokens of messages: they are compared with those of the same messages once each.";
    return await learnState(runner, { exploration: { ...exploration, always }, notes: [note] });
  } finally {
    runner.close();
  }
}

/** Members that differ where nothing was different cannot be compared. */
async function learnState(runner: Runner, { exploration, notes }: Learned): Promise<Learned> {
  const { always, messages } = exploration;
  if (!always.sameState) return { exploration, notes };
  const all = messages.map((_, message): Step => ({ do: "send", message }));
  const [first = ""] = await runner.states([all]);
  const [second = ""] = await runner.states([all]);
  const found = changingMembers(first, second).filter((name) => !always.ignore.includes(name));
  if (found.length === 0) return { exploration, notes };
  const note = `Not compared, because they differ from run to run: ${found.join(", ")}.`;
  return {
    exploration: { ...exploration, always: { ...always, ignore: [...always.ignore, ...found] } },
    notes: [...notes, note],
  };
}

type Batch = Pick<Options, "onFailure"> & {
  runner: Runner;
  drawn: readonly Drawn[];
  results: readonly Violation[][];
  unsteady: Explored["unsteady"];
};

async function firstSteady({
  runner,
  drawn,
  results,
  unsteady,
  onFailure,
}: Batch): Promise<Finding | null> {
  // The shortest is the quickest to make smaller.
  const failed = drawn
    .map((one, index) => ({ ...one, violations: results[index] ?? [] }))
    .filter(({ violations }) => violations.length > 0)
    .toSorted(
      (one, other) => one.schedule.length - other.schedule.length || one.number - other.number,
    );
  for (const { number, schedule, violations } of failed) {
    const [first] = violations;
    if (first === undefined || unsteady.length >= maxUnsteady) break;
    onFailure?.({ number, text: first.text });
    const shrunk = await shrink(runner, schedule, first.kind);
    if (shrunk !== null)
      return {
        number,
        drawn: schedule,
        schedule: shrunk.schedule,
        violations: shrunk.violations,
        runsToShrink: shrunk.runs,
      };
    unsteady.push({ number, text: first.text });
    runner.calmDown();
  }
  return null;
}
