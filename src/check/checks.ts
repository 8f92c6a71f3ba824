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
import type { CheckReport, CheckResult } from "./run-check.ts";

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

type Run = {
  checking: Checking;
  id: string;
  url: string;
  seed: number;
  hasEffects: boolean;
  startedAt: number;
  began: number;
  durationMs: number | null;
  state: ReceiverCheck["state"];
  problem: string | null;
  chosen: readonly { id: string; title: string; group: string }[];
  running: Set<string>;
  results: Map<string, CheckResult>;
  end: AbortController;
};

export function createChecks({
  trust,
  destination,
  onChange,
  report: reportUnexpected,
}: {
  trust: Trust;
  destination: (id: Destination["id"]) => Pick<Destination, "sharedSecret"> | undefined;
  onChange: (id: string) => void;
  report: (error: unknown) => void;
}): Checks {
  /** Oldest first. */
  const runs = new Map<string, Run>();
  let next = 1;

  const durationOf = ({ durationMs, began }: Run): number =>
    Math.round(durationMs ?? monotonic() - began);

  function answer(run: Run): ReceiverCheck {
    const {
      checking,
      id,
      url,
      state,
      problem,
      startedAt,
      seed,
      hasEffects,
      chosen,
      running,
      results,
    } = run;
    return {
      id,
      url: urlWithoutCredentials(url),
      state,
      problem,
      startedAt: new Date(startedAt).toISOString(),
      durationMs: durationOf(run),
      seed,
      score: checking.scoreOf([...results.values()]),
      hasEffects,
      checks: chosen.map((one) => {
        const result = results.get(one.id);
        const { id: check, title, group } = one;
        return {
          id: check,
          title,
          group,
          state: result?.verdict ?? (running.has(check) ? "running" : "coming"),
          brief: result?.brief ?? "",
        };
      }),
    };
  }

  function finish(run: Run, state: Run["state"], problem: string | null = null): void {
    if (run.state !== "running") return;
    Object.assign(run, { state, problem, durationMs: durationOf(run) });
    run.running.clear();
    onChange(run.id);
  }

  function begin(run: Run, input: Start): void {
    const { url, secret, headers, effects, only, skip, timeoutMs } = input;
    const { checking, seed, end } = run;
    const report = checking.runCheck({
      url,
      secret: secret === undefined || secret === "" ? null : secret,
      headers: headers ?? {},
      effects: effects ?? null,
      only: only ?? [],
      skip: skip ?? [],
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      seed,
      trust,
      signal: end.signal,
      onStart(check) {
        if (run.state !== "running") return;
        run.running.add(check);
        onChange(run.id);
      },
      onResult(result) {
        if (run.state !== "running") return;
        run.running.delete(result.id);
        run.results.set(result.id, result);
        onChange(run.id);
      },
    });
    report.then(
      () => finish(run, "done"),
      (error: unknown) => {
        if (end.signal.aborted) return;
        const isExpected = error instanceof checking.CannotCheck;
        if (!isExpected) reportUnexpected(error);
        finish(
          run,
          "unusable",
          isExpected ? error.message : `The check could not go on: ${String(error)}`,
        );
      },
    );
  }

  function forgetOld(): void {
    for (const { id, state } of runs.values())
      if (runs.size >= maxKept && state !== "running") runs.delete(id);
  }

  const withRun = <Answer>(id: string, use: (run: Run) => Answer): Answer | Problem => {
    const run = runs.get(id);
    return run === undefined ? notFound("check", id) : use(run);
  };

  function stop(run: Run): ReceiverCheck {
    run.end.abort();
    finish(run, "stopped");
    return answer(run);
  }

  const handlers: Checks["handlers"] = {
    "checks.start": async ({ useSecretOf, ...given }) => {
      const { url, only = [], skip = [], effects } = given;
      const signer = useSecretOf === undefined ? null : destination(useSecretOf);
      if (signer === undefined && useSecretOf !== undefined)
        return notFound("destination", destinationIds.format(useSecretOf));
      if (effects !== undefined && !/^https?:\/\//.test(effects.url))
        return invalid("The effects need a full http or https URL.");
      if ([...runs.values()].filter(({ state }) => state === "running").length >= maxRunning)
        return conflict(
          "too_many_runs",
          `${maxRunning} checks are running already. Wait until one of them is over, or stop one.`,
        );
      const checking = await import("./run-check.ts");
      let chosen;
      try {
        chosen = checking.chooseChecks({ url, only, skip });
      } catch (error) {
        if (error instanceof checking.CannotCheck) return invalid(error.message);
        throw error;
      }
      forgetOld();
      const run: Run = {
        checking,
        id: `chk_${String(next).padStart(9, "0")}`,
        url,
        seed: given.seed ?? randomInt(2 ** 31),
        hasEffects: effects !== undefined,
        startedAt: wallClockNow(),
        began: monotonic(),
        durationMs: null,
        state: "running",
        problem: null,
        chosen,
        running: new Set(),
        results: new Map(),
        end: new AbortController(),
      };
      next += 1;
      runs.set(run.id, run);
      begin(run, signer ? { ...given, secret: signer.sharedSecret ?? undefined } : given);
      onChange(run.id);
      return answer(run);
    },
    "checks.list": () => ({ items: [...runs.values()].map(answer).toReversed() }),
    "checks.get": ({ id }) => withRun(id, answer),
    "checks.result": ({ id, check }) =>
      withRun(id, ({ results }) => results.get(check) ?? notFound("result", check)),
    "checks.report": async ({ id, as, from }) => {
      const run = runs.get(id);
      if (run === undefined) return notFound("check", id);
      const { checking, results } = run;
      const report = checking.reportOf({
        ...run,
        durationMs: durationOf(run),
        results: checking.checks.flatMap((check) => results.get(check.id) ?? []),
      });
      const text = await reportText(report, as);
      const to = from + maxPiece;
      return {
        file: `check.${as === "junit" ? "xml" : as}`,
        text: text.slice(from, to),
        next: to < text.length ? to : null,
      };
    },
    "checks.stop": ({ id }) => withRun(id, stop),
  };
  return {
    handlers,
    stop() {
      for (const run of runs.values()) stop(run);
    },
  };
}

async function reportText(report: CheckReport, as: ReportInput["as"]): Promise<string> {
  if (as === "json") return `${JSON.stringify(report, null, 2)}\n`;
  if (as === "html") return (await import("./report-page.ts")).checkPage(report);
  return (await import("./report.ts")).checkJunit(report, "");
}
