/**
 * Runs schedules against a receiver, many at the same time: each has users and tokens of its own.
 * Those with restarts run together as well, and wait for each other before each restart.
 */

import { randomBytes } from "node:crypto";
import { createTrust } from "../engine/deliver/dial.ts";
import {
  askEffects,
  EffectsTooLarge,
  stableEffects,
  type EffectsSource,
} from "../receiver/effects.ts";
import { stateOf } from "../receiver/state.ts";
import { wrongAnswer } from "../receiver/answers.ts";
import { deliverRequest, isAccepted, performRequest } from "../receiver/request.ts";
import { isListening, listensSoon, restart } from "../receiver/restart.ts";
import { createWire, pause, type Wire } from "../receiver/wire.ts";
import { Answer, claimsOf, judgeTimes, type Claim, type Violation } from "./claims.ts";
import { environmentVariable, type Action, type Exploration } from "./explore-file.ts";
import { requestOf, type Schedule, type Step } from "./schedule.ts";

/** The sentence is for the user. */
export class CannotExplore extends Error {}

/** The receiver has ended, or no longer shows its effects: a finding, once it has worked. */
export class Gone extends CannotExplore {}

/** As long as the pipeline waits for a webhook. */
const timeoutMs = 5_000;
/** A receiver with a few connections to its database still answers each within its time. */
const atOnce = 64;
/**
 * Of those that restart the receiver while it works: the work of the first must not be over when
 * the last has sent its message.
 */
const fewAtOnce = 4;

type Run = { token: string; schedule: Schedule; claims: Claim[]; violations: Violation[] };

export class Runner {
  readonly #exploration: Exploration;
  readonly #secret: string | null;
  #wire: Wire;
  /** End states of messages that came once each, in the order of the file. */
  readonly #states = new Map<string, string>();
  readonly #prefix = `hy${randomBytes(5).toString("hex")}`;
  #atOnce = atOnce;
  #runs = 0;

  constructor(exploration: Exploration, secret: string | null) {
    this.#exploration = exploration;
    this.#secret = secret;
    this.#wire = this.#newWire();
  }

  get isSigned(): boolean {
    return this.#secret !== null;
  }

  /**
   * What each did wrong, in their order. `patienceMs`: how long effects are waited for. Rejects with
   * `Gone` when the receiver has ended and does not come back.
   */
  async run(schedules: readonly Schedule[], patienceMs?: number): Promise<Violation[][]> {
    const runs = schedules.map((schedule) => this.#newRun(schedule));
    await this.#findStates(runs);
    const groups = Map.groupBy(
      runs,
      ({ schedule }) => schedule.filter((step) => step.do === "restart").length,
    );
    for (const [, group] of [...groups].toSorted(([one], [other]) => one - other)) {
      const [close = [], others = []] = [true, false].map((is) =>
        group.filter(({ schedule }) => isCloseToRestart(schedule) === is),
      );
      for (let at = 0; at < others.length; at += this.#atOnce)
        await this.#runTogether(others.slice(at, at + this.#atOnce), patienceMs);
      for (let at = 0; at < close.length; at += fewAtOnce)
        await this.#runTogether(close.slice(at, at + fewAtOnce), patienceMs);
    }
    return runs.map(({ violations }) => violations);
  }

  async reset(): Promise<void> {
    const { reset } = this.#exploration.receiver;
    if (reset !== null) await this.#act(reset, "reset");
  }

  close(): void {
    this.#wire.close();
  }

  #newRun(schedule: Schedule): Run {
    this.#runs += 1;
    // The last letter: no token is the beginning of another.
    const token = `${this.#prefix}x${this.#runs}z`;
    return { token, schedule, claims: claimsOf(this.#exploration, schedule), violations: [] };
  }

  #newWire(): Wire {
    return createWire({ url: this.#exploration.receiver.url, trust: createTrust(), timeoutMs });
  }

  async #findStates(runs: readonly Run[]): Promise<void> {
    const wanted = new Map<string, Schedule>();
    for (const { claims } of runs) {
      for (const claim of claims) {
        if (!("sameAs" in claim)) continue;
        const key = JSON.stringify(claim.sameAs);
        if (!this.#states.has(key) && !wanted.has(key)) wanted.set(key, claim.sameAs);
      }
    }
    const parts = await this.states([...wanted.values()]).catch(async (error: unknown) => {
      if (!(error instanceof Gone)) throw error;
      await this.#comeBack(error.message);
      return null;
    });
    // The schedules with those messages will show that they end the receiver.
    if (parts === null) return;
    for (const [index, key] of [...wanted.keys()].entries())
      this.#states.set(
        key,
        stateOf(parts[index] ?? "", "{{token}}", this.#exploration.always.ignore),
      );
  }

  /** What the receiver shows about each afterwards, with `{{token}}` in place of the run's own. */
  async states(schedules: readonly Schedule[]): Promise<string[]> {
    const { state } = this.#exploration.receiver;
    const parts: string[] = [];
    for (let at = 0; state !== null && at < schedules.length; at += this.#atOnce) {
      const runs = schedules.slice(at, at + this.#atOnce).map((schedule) => this.#newRun(schedule));
      await this.#perform(runs);
      await this.#waitForEffects(runs);
      const answer = await this.#ask(state, new Map(runs.map(({ token }) => [token, 0])));
      parts.push(
        ...runs.map(({ token }) => answer.partAbout(token).replaceAll(token, "{{token}}")),
      );
    }
    return parts;
  }

  /** Fewer at the same time from now on: the receiver may have failed for want of something. */
  calmDown(): void {
    this.#atOnce = Math.max(4, this.#atOnce >> 1);
  }

  /**
   * A schedule that ends the receiver spoils what runs beside it, so all of them run again, in
   * halves, until it is alone.
   */
  async #runTogether(runs: readonly Run[], patienceMs: number | undefined): Promise<void> {
    const [first] = runs;
    const why = await this.#tryTogether(runs, patienceMs);
    if (why === null || first === undefined) return;
    await this.#comeBack(why);
    if (runs.length > 1) {
      const middle = runs.length >> 1;
      for (const half of [runs.slice(0, middle), runs.slice(middle)]) {
        for (const run of half) Object.assign(run, this.#newRun(run.schedule));
        await this.#runTogether(half, patienceMs);
      }
    }
    if (goneIn(runs) === undefined) first.violations.unshift({ kind: "gone", text: why });
  }

  /** Why the receiver has to come back, and more than one run to be made again; or null. */
  async #tryTogether(runs: readonly Run[], patienceMs: number | undefined): Promise<string | null> {
    const { url } = this.#exploration.receiver;
    try {
      await this.#perform(runs);
      // Effects that never come would be waited for.
      if (goneIn(runs) === undefined) await this.#judge(runs, patienceMs);
    } catch (error) {
      if (error instanceof Gone) return error.message;
      throw error;
    }
    const gone = goneIn(runs)?.text ?? null;
    if (runs.length > 1 && gone !== null) return gone;
    // One that ended after its last answer would spoil the next runs.
    return (await isListening(url)) ? null : (gone ?? `Nothing listens at ${url} any more.`);
  }

  /** By the file's `restart`, or because something watches it. */
  async #comeBack(why: string): Promise<void> {
    const { restart: how, url, effects } = this.#exploration.receiver;
    const isBack = async (): Promise<boolean> =>
      (await isListening(url)) &&
      (effects === null ||
        (await this.#ask(effects, new Map()).then(
          () => true,
          (error: unknown) => {
            if (error instanceof Gone) return false;
            throw error;
          },
        )));
    if (await isBack()) return;
    if (how !== null && "run" in how) await this.#act(how, "restart");
    await listensSoon(url);
    if (await isBack()) return;
    throw new Gone(
      `${why} The receiver did not come back. With a command as restart: in the file, the search starts it again and finds the schedule that ended it.`,
    );
  }

  /** All of them have as many restarts. */
  async #perform(runs: readonly Run[]): Promise<void> {
    const parts = runs.map((run) => ({ run, parts: partsOf(run.schedule) }));
    const count = parts[0]?.parts.length ?? 0;
    for (let nth = 0; nth < count; nth += 1) {
      const now = parts.map(({ run, parts }) => ({
        run,
        part: parts[nth] ?? { from: 0, steps: [] },
      }));
      const isLast = nth === count - 1;
      // What the sender does not wait for must still be under way when the receiver restarts.
      const late = now.map(({ part: { steps } }) =>
        isLast ? 0 : steps.length - 1 - steps.findLastIndex((step) => !isLeft(step)),
      );
      await Promise.all(
        now.map(({ run, part }, index) =>
          this.#takeAll(run, part.from, part.from + part.steps.length - (late[index] ?? 0)),
        ),
      );
      if (isLast) return;
      await Promise.all(
        now.map(({ run, part }, index) => {
          const end = part.from + part.steps.length;
          return this.#takeAll(run, end - (late[index] ?? 0), end);
        }),
      );
      const { restart: how } = this.#exploration.receiver;
      if (how !== null) await this.#act(how, "restart");
    }
  }

  async #takeAll(run: Run, from: number, end: number): Promise<void> {
    for (let at = from; at < end; at += 1) {
      const step = run.schedule[at];
      if (step?.do === "wait") await pause(step.ms);
      else await this.#request(run, at);
    }
  }

  async #request(run: Run, at: number): Promise<void> {
    const request = requestOf(this.#exploration, run.schedule, at, this.isSigned);
    if (request === null) return;
    const { spec, answers } = request;
    const headers = spec.headers === undefined ? {} : { headers: withEnvironment(spec.headers) };
    const sent = await deliverRequest(
      this.#wire,
      { ...spec, ...headers, body: spec.body.replaceAll("{{token}}", run.token) },
      this.#secret,
    );
    const wrong = answers === undefined ? undefined : wrongAnswer(sent, answers);
    if (wrong === undefined) return;
    const step = run.schedule[at] as Extract<Step, { message: number }>;
    const got =
      wrong.status === null
        ? `not answered (${wrong.error?.message ?? "no reason"})`
        : `answered ${wrong.status}`;
    run.violations.push({
      kind: wrong.outcome === "connection_error" ? "gone" : "answer",
      text: `${this.#exploration.messages[step.message]?.title ?? ""} was ${got}.`,
    });
  }

  /** A receiver that does the work after its answer does not show the state before. */
  async #waitForEffects(runs: readonly Run[]): Promise<void> {
    const { effects } = this.#exploration.receiver;
    const wanted = runs.flatMap((run) => run.claims.map((claim) => wantedBy(claim, run)));
    if (effects !== null) await this.#ask(effects, new Map(wanted));
  }

  async #judge(runs: readonly Run[], patienceMs: number | undefined): Promise<void> {
    const claims = runs.flatMap((run) => run.claims.map((claim) => ({ run, claim })));
    for (const [, those] of Map.groupBy(claims, ({ claim: { source } }) =>
      JSON.stringify(source),
    )) {
      const [first] = those;
      if (first === undefined) continue;
      const wanted = those.map(({ run, claim }) => wantedBy(claim, run));
      const answer = await this.#ask(first.claim.source, new Map(wanted), patienceMs);
      for (const { run, claim } of those) {
        const wrong =
          "times" in claim
            ? judgeTimes(claim, answer.count(tokenOf(claim, run)).count)
            : this.#judgeState(claim.sameAs, run, answer);
        if (wrong !== null) run.violations.push(wrong);
      }
    }
  }

  #judgeState(sameAs: Schedule, { token }: Run, answer: Answer): Violation | null {
    const state = stateOf(answer.partAbout(token), token, this.#exploration.always.ignore);
    const expected = this.#states.get(JSON.stringify(sameAs));
    if (expected === undefined || state === expected) return null;
    return {
      kind: "state",
      text: "The end state is not the one of the same messages once each, in the order of the file.",
    };
  }

  async #ask(
    source: EffectsSource,
    wanted: ReadonlyMap<string, number>,
    patienceMs?: number,
  ): Promise<Answer> {
    const runs = {
      prefix: this.#prefix,
      runOf: (token: string) => /hy[0-9a-f]+x\d+z/.exec(token)?.[0],
    };
    let answer = new Answer("", runs);
    const ask = async (): Promise<string> => {
      const text = await askEffects(source);
      answer = new Answer(text, runs);
      return text;
    };
    try {
      const patience = patienceMs === undefined ? {} : { atMostMs: patienceMs };
      await stableEffects({
        ask,
        wanted,
        countIn: () => (token) => answer.count(token),
        ...patience,
      });
    } catch (error) {
      if (error instanceof EffectsTooLarge)
        throw new CannotExplore(
          `${error.message} Say how to empty the list: receiver: { reset: … }.`,
        );
      throw new Gone(error instanceof Error ? error.message : String(error));
    }
    return answer;
  }

  async #act(action: Action, word: string): Promise<void> {
    if ("url" in action) {
      const wire = createWire({ url: action.url, trust: createTrust(), timeoutMs });
      const [sent] = await performRequest(
        wire,
        { method: action.method, body: "", connection: "close" },
        null,
      );
      wire.close();
      if (sent?.status === null && !(await isListening(this.#exploration.receiver.url)))
        throw new Gone(`Nothing listens at ${this.#exploration.receiver.url} any more.`);
      if (sent === undefined || !isAccepted(sent))
        throw new CannotExplore(
          `The ${word} at ${action.url} ended with ${sent?.status ?? sent?.error?.message ?? "nothing"}, not with 2xx.`,
        );
    } else {
      const listens = action.listens ?? this.#exploration.receiver.url;
      await restart({ run: action.run, listens }).catch((error: Error) =>
        Promise.reject(new CannotExplore(error.message)),
      );
    }
    this.#wire.close();
    this.#wire = this.#newWire();
  }
}

function goneIn(runs: readonly Run[]): Violation | undefined {
  return runs.flatMap(({ violations }) => violations).find(({ kind }) => kind === "gone");
}

/** The token that is asked about, and how many effects of it are waited for. */
function wantedBy(claim: Claim, run: Run): [token: string, count: number] {
  if (!("times" in claim)) return [run.token, 0];
  const { times } = claim;
  return [tokenOf(claim, run), typeof times === "number" ? times : (times.atLeast ?? 0)];
}

function tokenOf({ token }: Extract<Claim, { token: string }>, run: Run): string {
  return token.replaceAll("{{token}}", run.token);
}

/** The sender has hung up, and the receiver works. */
function isLeft(step: Step | undefined): boolean {
  return step?.do === "lose" && step.hangUp !== "at-first-byte";
}

function isCloseToRestart(schedule: Schedule): boolean {
  return schedule.some((step, at) => step.do === "restart" && isLeft(schedule[at - 1]));
}

type Part = { from: number; steps: Schedule };

/** Between the restarts. */
function partsOf(schedule: Schedule): Part[] {
  const parts: Part[] = [];
  let from = 0;
  for (const [at, step] of schedule.entries()) {
    if (step.do !== "restart") continue;
    parts.push({ from, steps: schedule.slice(from, at) });
    from = at + 1;
  }
  return [...parts, { from, steps: schedule.slice(from) }];
}

function withEnvironment(headers: Readonly<Record<string, string>>): Record<string, string> {
  const fill = (text: string): string =>
    text.replace(environmentVariable, (_, name: string) => {
      const value = process.env[name];
      if (value === undefined)
        throw new CannotExplore(`The environment variable ${name} is not set.`);
      return value;
    });
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, fill(value)]));
}
