/**
 * What the control API asks of checks: start one, how far it is, its results and reports. They are
 * kept in memory, the newest of them, and hold no secret. The inspector's page can reach this, so
 * it takes no command to start. The checks are loaded on first use.
 */

import { randomInt } from "node:crypto";
import type { HandlersOf } from "../contract/contract.ts";
import type { ReceiverCheck } from "../contract/checks.ts";
import type { Destination } from "../domain/configuration.ts";
import { destinationIds } from "../domain/ids.ts";
import { conflict, invalid, notFound, type Problem } from "../domain/problem.ts";
import { urlWithoutCredentials } from "../domain/credentials.ts";
import type { Trust } from "../engine/deliver/dial.ts";
import { monotonic, wallClockNow } from "../engine/real-time.ts";
import type { CheckReport, CheckResult } from "./outcome.ts";

/** Two that run load the machine as a receiver under test should not be. */
const maxRunning = 2;
/**
 * A result has requests with their bytes: about half a megabyte a check, four when the receiver
 * answers a lot.
 */
const maxKept = 8;
/** Of a report in one answer: six bytes a character at the worst, under a megabyte. */
const maxPiece = 150_000;

type Start = Omit<Parameters<HandlersOf<"checks">["checks.start"]>[0], "useSecretOf">;
type ReportInput = Parameters<HandlersOf<"checks">["checks.report"]>[0];
/** Loaded with the first check. */
type Checking = typeof import("./run-check.ts");

type Checks = {
  handlers: HandlersOf<"checks">;
  /** Ends the running checks. */
  stop(): void;
};

/** What every run of a `createChecks` shares. */
type Surroundings = {
  trust: Trust;
  onChange: (id: string) => void;
  report: (error: unknown) => void;
};

class Run {
  readonly id: string;
  readonly #around: Surroundings;
  readonly #checking: Checking;
  readonly #input: Start;
  readonly #chosen: ReturnType<Checking["chooseChecks"]>;
  readonly #seed: number;
  readonly #startedAt = wallClockNow();
  readonly #began = monotonic();
  readonly #running = new Set<string>();
  readonly #results = new Map<string, CheckResult>();
  readonly #end = new AbortController();
  #durationMs: number | null = null;
  #problem: string | null = null;
  state: ReceiverCheck["state"] = "running";

  /** Throws `CannotCheck` when the input names no check that exists, or has no usable message. */
  constructor(number: number, checking: Checking, input: Start, around: Surroundings) {
    const { url, message, only = [], skip = [], seed } = input;
    checking.modelOf(message);
    this.#chosen = checking.chooseChecks({ url, only, skip });
    this.#seed = seed ?? randomInt(2 ** 31);
    this.id = `chk_${String(number).padStart(9, "0")}`;
    this.#checking = checking;
    this.#input = input;
    this.#around = around;
  }

  start(): void {
    const { secret, headers = {}, effects = null, only = [], skip = [] } = this.#input;
    const { url, message, timeoutMs } = this.#input;
    const report = this.#checking.runCheck({
      url,
      secret: secret === undefined || secret === "" ? null : secret,
      headers,
      effects,
      ...(message === undefined ? {} : { message }),
      only,
      skip,
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      seed: this.#seed,
      trust: this.#around.trust,
      signal: this.#end.signal,
      onStart: (check) => this.#change(() => this.#running.add(check)),
      onResult: (result) =>
        this.#change(() => {
          this.#running.delete(result.id);
          this.#results.set(result.id, result);
        }),
    });
    report.then(
      () => this.#finish("done"),
      (error: unknown) => this.#fail(error),
    );
    this.#around.onChange(this.id);
  }

  stop(): void {
    this.#end.abort();
    this.#finish("stopped");
  }

  #fail(error: unknown): void {
    if (this.#end.signal.aborted) return;
    const isExpected = error instanceof this.#checking.CannotCheck;
    if (!isExpected) this.#around.report(error);
    this.#problem = isExpected ? error.message : `The check could not go on: ${String(error)}`;
    this.#finish("unusable");
  }

  #finish(state: ReceiverCheck["state"]): void {
    this.#change(() => {
      this.#durationMs = this.#duration();
      this.state = state;
      this.#running.clear();
    });
  }

  #change(apply: () => void): void {
    if (this.state !== "running") return;
    apply();
    this.#around.onChange(this.id);
  }

  #duration(): number {
    return Math.round(this.#durationMs ?? monotonic() - this.#began);
  }

  result(check: string): CheckResult | Problem {
    return this.#results.get(check) ?? notFound("result", check);
  }

  answer(): ReceiverCheck {
    return {
      id: this.id,
      url: urlWithoutCredentials(this.#input.url),
      state: this.state,
      problem: this.#problem,
      startedAt: new Date(this.#startedAt).toISOString(),
      durationMs: this.#duration(),
      seed: this.#seed,
      score: this.#checking.scoreOf([...this.#results.values()]),
      hasEffects: this.#input.effects !== undefined,
      checks: this.#chosen.map(({ id, title, group }) => {
        const result = this.#results.get(id);
        return {
          id,
          title,
          group,
          state: result?.verdict ?? (this.#running.has(id) ? "running" : "coming"),
          brief: result?.brief ?? "",
        };
      }),
    };
  }

  report(): CheckReport {
    const { checks, reportOf } = this.#checking;
    return reportOf({
      url: this.#input.url,
      seed: this.#seed,
      startedAt: this.#startedAt,
      durationMs: this.#duration(),
      results: checks.flatMap(({ id }) => this.#results.get(id) ?? []),
    });
  }
}

export function createChecks({
  destination,
  ...around
}: Surroundings & {
  destination: (id: Destination["id"]) => Pick<Destination, "sharedSecret"> | undefined;
}): Checks {
  /** Oldest first. */
  const runs = new Map<string, Run>();
  let next = 1;

  function forgetOld(): void {
    for (const { id, state } of runs.values())
      if (runs.size >= maxKept && state !== "running") runs.delete(id);
  }

  const withRun = <Answer>(id: string, use: (run: Run) => Answer): Answer | Problem => {
    const run = runs.get(id);
    return run === undefined ? notFound("check", id) : use(run);
  };

  async function start(input: Start): Promise<ReceiverCheck | Problem> {
    if ([...runs.values()].filter(({ state }) => state === "running").length >= maxRunning)
      return conflict(
        "too_many_runs",
        `${maxRunning} checks are running already. Wait until one of them is over, or stop one.`,
      );
    const checking = await import("./run-check.ts");
    let run: Run;
    try {
      run = new Run(next, checking, input, around);
    } catch (error) {
      if (error instanceof checking.CannotCheck) return invalid(error.message);
      throw error;
    }
    forgetOld();
    next += 1;
    runs.set(run.id, run);
    run.start();
    return run.answer();
  }

  const handlers: Checks["handlers"] = {
    "checks.start": async ({ useSecretOf, ...input }) => {
      const signer = useSecretOf === undefined ? null : destination(useSecretOf);
      if (signer === undefined && useSecretOf !== undefined)
        return notFound("destination", destinationIds.format(useSecretOf));
      if (input.effects !== undefined && !/^https?:\/\//.test(input.effects.url))
        return invalid("The effects need a full http or https URL.");
      return start(signer ? { ...input, secret: signer.sharedSecret ?? undefined } : input);
    },
    "checks.list": () => ({ items: [...runs.values()].map((run) => run.answer()).toReversed() }),
    "checks.get": ({ id }) => withRun(id, (run) => run.answer()),
    "checks.result": ({ id, check }) => withRun(id, (run) => run.result(check)),
    "checks.report": async ({ id, as, from }) => {
      const run = runs.get(id);
      if (run === undefined) return notFound("check", id);
      const text = await reportText(run.report(), as);
      const to = from + maxPiece;
      return {
        file: `check.${as === "junit" ? "xml" : as}`,
        text: text.slice(from, to),
        next: to < text.length ? to : null,
      };
    },
    "checks.stop": ({ id }) =>
      withRun(id, (run) => {
        run.stop();
        return run.answer();
      }),
  };
  return {
    handlers,
    stop() {
      for (const run of runs.values()) run.stop();
    },
  };
}

async function reportText(report: CheckReport, as: ReportInput["as"]): Promise<string> {
  if (as === "json") return `${JSON.stringify(report, null, 2)}\n`;
  if (as === "html") return (await import("./report-page.ts")).checkPage(report);
  return (await import("./report.ts")).checkJunit(report, "");
}
