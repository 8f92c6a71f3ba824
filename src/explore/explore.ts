/**
 * The search: draws schedules from the seed, runs them, and makes the first that fails as small as
 * it can be. Called by `hookyard explore` and by tests; writes no files.
 */

import { urlWithoutCredentials } from "../domain/credentials.ts";
import { monotonic } from "../engine/real-time.ts";
import { changingMembers, type Violation } from "./claims.ts";
import type { Exploration } from "./explore-file.ts";
import type { EffectsSource } from "../receiver/effects.ts";
import { pause } from "../receiver/wire.ts";
import { CannotExplore, Gone } from "./explored-receiver.ts";
import { betweenStatesMs, Runner } from "./runner.ts";
import { Coverage, draw, type Drawn, type Schedule, type Step } from "./schedule.ts";
import { shrink } from "./shrink.ts";

type Progress = { schedules: number; ms: number };

type Finding = {
  number: number;
  drawn: Schedule;
  schedule: Schedule;
  violations: Violation[];
  /** It is a single message, which worked until the receiver had got it of another user. */
  isAfterOthers: boolean;
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
  /** It was asked to stop before its end. */
  isStopped: boolean;
  coverage: ReturnType<Coverage["report"]>;
};

type Options = {
  exploration: Exploration;
  secret: string | null;
  seed: number;
  runs: number;
  minutes: number;
  /** Ends it after what is running now. */
  signal?: AbortSignal;
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
  signal,
  onProgress,
  onFailure,
}: Options): Promise<Explored> {
  const runner = new Runner(given, secret);
  const coverage = new Coverage(given);
  const unsteady: Explored["unsteady"] = [];
  try {
    const { notes, worked } = await learn(runner);
    const began = monotonic();
    let [done, ms] = [0, 0];
    const result = (end: Partial<Pick<Explored, "finding" | "gone">>): Explored => ({
      schedules: done,
      ms,
      seed,
      exploration: runner.exploration,
      notes,
      finding: null,
      unsteady,
      gone: null,
      isStopped: signal?.aborted === true,
      coverage: coverage.report(),
      ...end,
    });
    const isOver = (): boolean =>
      done >= runs || monotonic() - began >= minutes * 60_000 || signal?.aborted === true;
    while (!isOver()) {
      const count = Math.min(done === 0 ? firstBatch : batch, runs - done);
      const drawn = Array.from({ length: count }, (_, index) => draw(given, seed, done + index));
      try {
        const results = await runner.run(drawn.map(({ schedule }) => schedule));
        for (const one of drawn) coverage.add(one);
        done += count;
        ms = monotonic() - began;
        onProgress?.({ schedules: done, ms });
        const about = { runner, drawn, results, unsteady, notes, worked, signal, onFailure };
        const finding = await firstSteady(about);
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

/**
 * Each message alone: where none is accepted and seen, the file is wrong, or the receiver is not
 * ready.
 */
async function learn(runner: Runner): Promise<{ notes: string[]; worked: ReadonlySet<number> }> {
  const { always, messages, receiver } = runner.exploration;
  await runner.begin();
  const each = messages.map((_, message): Schedule => [{ do: "send", message }]);
  // Ids and times that states show are not known yet.
  runner.change({ same: [] });
  const results = await runner.run(each);
  const [first = []] = results;
  const worked = new Set([...results.keys()].filter((message) => results[message]?.length === 0));
  if (worked.size > 0) {
    runner.change({ same: always.same });
    return { notes: await learnState(runner), worked };
  }
  const { effects } = receiver;
  runner.change({ effects: "any number" });
  const isSeen =
    effects !== null &&
    results.flat().every(({ kind }) => kind === "never") &&
    (await runner.states(each, effects)).every((part) => part !== null && part !== "");
  if (!isSeen) {
    const reasons = first.map(({ text }) => text).join(" ");
    throw new CannotExplore(
      `Not even a single message works: ${reasons} hookyard check says more about the receiver.`,
    );
  }
  const others = always.same.filter((source) => JSON.stringify(source) !== JSON.stringify(effects));
  runner.change({ same: [effects, ...others] });
  const note =
    "The effects show users but no message tokens, so they are compared with the effects of the same messages sent once each.";
  return { notes: [note, ...(await learnState(runner))], worked };
}

/** Members that differ where nothing was different cannot be compared. */
async function learnState(runner: Runner): Promise<string[]> {
  const { always, messages } = runner.exploration;
  if (always.same.length === 0) return [];
  const all = messages.map((_, message): Step => ({ do: "send", message }));
  const states = (): Promise<(string | null)[]> =>
    Promise.all(always.same.map(async (source) => (await runner.states([all], source))[0] ?? null));
  const before = await states();
  for (const [index, source] of always.same.entries())
    if ((before[index] ?? "") === "") await refuseEmpty(runner, source);
  await pause(betweenStatesMs);
  const after = await states();
  return notCompared(
    runner,
    before.flatMap((one, index) => changingMembers(one ?? "", after[index] ?? "")),
  );
}

/**
 * All messages may rightly leave nothing behind, as an order and its cancellation do. What shows
 * nothing after each alone and at no place in their order either is the wrong source.
 */
async function refuseEmpty(runner: Runner, source: EffectsSource): Promise<void> {
  const all = runner.exploration.messages.map((_, message): Step => ({ do: "send", message }));
  const some = all.flatMap((step, index) => [[step], all.slice(0, index + 1)]);
  const states = await runner.states(some, source);
  if (states.some((state) => state !== null && state !== "")) return;
  if (states.every((state) => state === null))
    throw new CannotExplore("No message was accepted, so there is no state to compare.");
  const shown =
    "url" in source ? urlWithoutCredentials(source.url) : `The command ${source.command}`;
  throw new CannotExplore(
    `${shown} shows nothing about the users of a schedule, so there is no state to compare. Under state: write what shows them by their userId. A receiver that works after its answer needs effects: too. Or write always: { state: any }, and no state is compared.`,
  );
}

function notCompared(runner: Runner, members: readonly string[]): string[] {
  const { ignore } = runner.exploration.always;
  const found = [...new Set(members)].filter((name) => !ignore.includes(name));
  if (found.length === 0) return [];
  runner.change({ ignore: [...ignore, ...found] });
  return [`Not compared, because they differ from run to run: ${found.join(", ")}.`];
}

type Batch = Pick<Options, "signal" | "onFailure"> & {
  runner: Runner;
  drawn: readonly Drawn[];
  results: readonly Violation[][];
  unsteady: Explored["unsteady"];
  notes: string[];
  /** Messages that did when each was sent alone, before anything else. */
  worked: ReadonlySet<number>;
};

type Failed = Drawn & { violations: readonly Violation[] };

async function firstSteady({
  runner,
  drawn,
  results,
  unsteady,
  notes,
  worked,
  signal,
  onFailure,
}: Batch): Promise<Finding | null> {
  let failed = failedOf(drawn, results);
  const inState = failed.filter(({ violations }) =>
    violations.some(({ kind }) => kind === "state"),
  );
  // A time in minutes, or what the receiver showed while it was busy.
  const changes = await runner.changesOfStates(inState.map(({ schedule }) => schedule));
  if (changes !== null) {
    notes.push(...notCompared(runner, changes));
    failed = await stillFailing(runner, failed);
  }
  for (let next = failed.shift(); next !== undefined; next = failed.shift()) {
    const { number, schedule, violations } = next;
    const [first] = violations;
    if (first === undefined || unsteady.length >= maxUnsteady) break;
    onFailure?.({ number, text: first.text });
    const shrunk = await shrink({ runner, schedule, kind: first.kind, signal });
    if (shrunk !== null) {
      const { runs: runsToShrink, ...smallest } = shrunk;
      const [only, ...more] = smallest.schedule;
      const isAfterOthers = only?.do === "send" && more.length === 0 && worked.has(only.message);
      if (isAfterOthers)
        notes.push(
          `Alone, ${runner.exploration.messages[only.message]?.title ?? ""} worked at the beginning of the search, and no longer after others had sent it: the receiver may confuse the messages of different users.`,
        );
      return { number, drawn: schedule, ...smallest, isAfterOthers, runsToShrink };
    }
    // The others may have failed because so many ran at the same time.
    if (runner.calmDown()) failed = await stillFailing(runner, [next, ...failed]);
    else unsteady.push({ number, text: first.text });
  }
  return null;
}

/** The shortest is the quickest to make smaller. */
function failedOf(drawn: readonly Drawn[], results: readonly Violation[][]): Failed[] {
  return drawn
    .map((one, index) => ({ ...one, violations: results[index] ?? [] }))
    .filter(({ violations }) => violations.length > 0)
    .toSorted(
      (one, other) => one.schedule.length - other.schedule.length || one.number - other.number,
    );
}

async function stillFailing(runner: Runner, failed: readonly Failed[]): Promise<Failed[]> {
  return failedOf(failed, await runner.run(failed.map(({ schedule }) => schedule)));
}
