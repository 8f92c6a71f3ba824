/**
 * The search: draws schedules from the seed, runs them, and makes the first that fails as small as it can be. Called by `hookyard explore`
 * and by tests; writes no files.
 */

import { monotonic } from "../engine/real-time.ts";
import type { Violation } from "./claims.ts";
import type { Exploration } from "./explore-file.ts";
import { CannotExplore, Runner } from "./runner.ts";
import { Coverage, draw, type Drawn, type Schedule } from "./schedule.ts";
import { shrink } from "./shrink.ts";

type Progress = { schedules: number; ms: number };

type Finding = { number: number; drawn: Schedule; schedule: Schedule; violations: Violation[]; runsToShrink: number };

export type Explored = Progress & {
  seed: number;
  finding: Finding | null;
  /** Schedules that failed once, and not every time. */
  unsteady: { number: number; text: string }[];
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

/** The first batch ends soon, so that an obvious bug does. In large ones, few seconds pass with waiting for effects. */
const firstBatch = 16;
const batch = 96;
/** So many schedules that fail now and then are examined: each takes seconds. */
const maxUnsteady = 5;

export async function explore({ exploration, secret, seed, runs, minutes, onProgress, onFailure }: Options): Promise<Explored> {
  const runner = new Runner(exploration, secret);
  const coverage = new Coverage(exploration);
  const unsteady: Explored["unsteady"] = [];
  try {
    await runner.reset();
    await tryEach(runner, exploration);
    const began = monotonic();
    const result = (schedules: number, ms: number, finding: Finding | null): Explored => ({
      schedules,
      ms,
      seed,
      finding,
      unsteady,
      coverage: coverage.report(),
    });
    let done = 0;
    while (done < runs && monotonic() - began < minutes * 60_000) {
      const count = Math.min(done === 0 ? firstBatch : batch, runs - done);
      const drawn = Array.from({ length: count }, (_, index) => draw(exploration, seed, done + index));
      const results = await runner.run(drawn.map(({ schedule }) => schedule));
      for (const one of drawn) coverage.add(one);
      done += count;
      const ms = monotonic() - began;
      onProgress?.({ schedules: done, ms });
      const finding = await firstSteady({ runner, drawn, results, unsteady, onFailure });
      if (finding !== null || unsteady.length >= maxUnsteady) return result(done, ms, finding);
      await runner.reset();
    }
    return result(done, monotonic() - began, null);
  } finally {
    runner.close();
  }
}

/** Each message alone: where none is accepted and seen, the file is wrong, or the receiver is not ready. */
async function tryEach(runner: Runner, { messages }: Exploration): Promise<void> {
  const results = await runner.run(messages.map((_, message): Schedule => [{ do: "send", message }]));
  const [first] = results;
  if (first !== undefined && results.every((violations) => violations.length > 0))
    throw new CannotExplore(
      `Not even a single message works: ${first.map(({ text }) => text).join(" ")} hookyard check says more about the receiver.`,
    );
}

type Batch = Pick<Options, "onFailure"> & {
  runner: Runner;
  drawn: readonly Drawn[];
  results: readonly Violation[][];
  unsteady: Explored["unsteady"];
};

async function firstSteady({ runner, drawn, results, unsteady, onFailure }: Batch): Promise<Finding | null> {
  // The shortest is the quickest to make smaller.
  const failed = drawn
    .map((one, index) => ({ ...one, violations: results[index] ?? [] }))
    .filter(({ violations }) => violations.length > 0)
    .toSorted((one, other) => one.schedule.length - other.schedule.length || one.number - other.number);
  for (const { number, schedule, violations } of failed) {
    const [first] = violations;
    if (first === undefined || unsteady.length >= maxUnsteady) break;
    onFailure?.({ number, text: first.text });
    const shrunk = await shrink(runner, schedule, first.kind);
    if (shrunk !== null)
      return { number, drawn: schedule, schedule: shrunk.schedule, violations: shrunk.violations, runsToShrink: shrunk.runs };
    unsteady.push({ number, text: first.text });
  }
  return null;
}
