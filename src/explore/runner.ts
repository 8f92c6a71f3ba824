/**
 * Runs schedules against a receiver, many at the same time: each has users and tokens of its own.
 * Those with restarts run together as well, and wait for each other before each restart.
 */

import type { EffectsSource } from "../receiver/effects.ts";
import { stateOf, whereDifferent } from "../receiver/state.ts";
import { deliverRequest, isRetried, wrongAnswer } from "../receiver/request.ts";
import { isListening } from "../receiver/restart.ts";
import { pause } from "../receiver/wire.ts";
import {
  Answer,
  changingMembers,
  claimsOf,
  judgeTimes,
  type Claim,
  type Violation,
} from "./claims.ts";
import { environmentVariable, type Exploration } from "./explore-file.ts";
import { CannotExplore, ExploredReceiver, Gone } from "./explored-receiver.ts";
import { asWritten } from "./placeholders.ts";
import {
  isCloseToRestart,
  isLeft,
  partsOf,
  requestOf,
  type Schedule,
  type Step,
} from "./schedule.ts";

/** A receiver with a few connections to its database still answers each within its time. */
const atOnce = 64;
/**
 * Of those that restart the receiver while it works: the work of the first must not be over when
 * the last has sent its message.
 */
const fewAtOnce = 4;
/** Times are often shown in whole seconds. */
export const betweenStatesMs = 1_000;

type Run = {
  token: string;
  schedule: Schedule;
  claims: Claim[];
  violations: Violation[];
  /** No try of some message was accepted. */
  isIncomplete: boolean;
};

type StateClaim = Extract<Claim, { sameAs: Schedule }>;

export class Runner {
  #exploration: Exploration;
  readonly #secret: string | null;
  readonly #receiver: ExploredReceiver;
  /** What was shown of messages that came once each, in the order of the file. */
  readonly #states = new Map<string, string>();
  #atOnce = atOnce;
  #runs = 0;

  constructor(exploration: Exploration, secret: string | null) {
    this.#exploration = exploration;
    this.#secret = secret;
    this.#receiver = new ExploredReceiver(exploration.receiver);
  }

  get exploration(): Exploration {
    return this.#exploration;
  }

  /** With something learned about the receiver, or without what is learned first. */
  change(always: Partial<Exploration["always"]>): void {
    this.#exploration = {
      ...this.#exploration,
      always: { ...this.#exploration.always, ...always },
    };
  }

  get isSigned(): boolean {
    return this.#secret !== null;
  }

  /**
   * What each did wrong, in their order. `patienceMs`: how long effects are waited for. Rejects with
   * `Gone` when the receiver has ended and does not come back.
   */
  async run(
    schedules: readonly Schedule[],
    { patienceMs, states = true }: { patienceMs?: number; states?: boolean } = {},
  ): Promise<Violation[][]> {
    const runs = schedules.map((schedule) => this.#newRun(schedule));
    if (!states)
      for (const run of runs) run.claims = run.claims.filter((claim) => !("sameAs" in claim));
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

  /** Before the first message. */
  async begin(): Promise<void> {
    await this.#receiver.mustListen();
    await this.reset();
  }

  async reset(): Promise<void> {
    const { reset } = this.#exploration.receiver;
    if (reset !== null) await this.#receiver.act(reset, "reset");
  }

  close(): void {
    this.#receiver.close();
  }

  #newRun(schedule: Schedule): Run {
    this.#runs += 1;
    // The last letter: no token is the beginning of another.
    const token = `${this.#receiver.prefix}x${this.#runs}z`;
    const claims = claimsOf(this.#exploration, schedule);
    return { token, schedule, claims, violations: [], isIncomplete: false };
  }

  async #findStates(runs: readonly Run[]): Promise<void> {
    const wanted = new Map<string, StateClaim>();
    for (const claim of runs.flatMap(({ claims }) => claims))
      if ("sameAs" in claim && !this.#states.has(keyOf(claim))) wanted.set(keyOf(claim), claim);
    for (const [, claims] of Map.groupBy(wanted.values(), ({ source }) => JSON.stringify(source))) {
      const [first] = claims;
      if (first === undefined) continue;
      const schedules = claims.map(({ sameAs }) => sameAs);
      const parts = await this.states(schedules, first.source).catch(async (error: unknown) => {
        if (!(error instanceof Gone)) throw error;
        await this.#receiver.comeBack(error.message);
        return null;
      });
      // The schedules with those messages will show that they end the receiver.
      if (parts === null) return;
      for (const [index, claim] of claims.entries()) {
        const part = parts[index] ?? null;
        if (part !== null) this.#states.set(keyOf(claim), part);
      }
    }
  }

  /** What is compared with is measured again. */
  forgetStates(): void {
    this.#states.clear();
  }

  /**
   * Measures again what these were compared with. Returns the members that differ now, and null when
   * nothing does.
   */
  async changesOfStates(schedules: readonly Schedule[]): Promise<string[] | null> {
    if (schedules.length === 0) return null;
    const busy = await this.#differing(schedules, this.#atOnce);
    if (busy.length === 0) return null;
    // What differs among many at the same time may be a mistake of the receiver.
    await this.#differing(schedules, fewAtOnce);
    await pause(betweenStatesMs);
    const calm = await this.#differing(schedules, fewAtOnce);
    return calm.flatMap(([one, other]) => changingMembers(one, other));
  }

  /** Measures again, `count` at the same time. Returns the old and the new state wherever they differ. */
  async #differing(schedules: readonly Schedule[], count: number): Promise<[string, string][]> {
    const before = new Map(this.#states);
    this.#states.clear();
    const usual = this.#atOnce;
    this.#atOnce = count;
    await this.#findStates(schedules.map((schedule) => this.#newRun(schedule))).finally(() => {
      this.#atOnce = usual;
    });
    return [...this.#states].flatMap(([key, part]): [string, string][] => {
      const one = before.get(key) ?? part;
      return this.#isSame(one, part) ? [] : [[one, part]];
    });
  }

  /**
   * What the source shows about each afterwards, with `{{token}}` in place of the run's own; null
   * where a message was not accepted, or has no effect, also among fewer at the same time.
   */
  async states(schedules: readonly Schedule[], source: EffectsSource): Promise<(string | null)[]> {
    const parts = await this.#statesOf(schedules, source, this.#atOnce);
    const missing = [...parts.keys()].filter((index) => parts[index] === null);
    const again = missing.map((index) => schedules[index] ?? []);
    for (const [nth, part] of (await this.#statesOf(again, source, fewAtOnce)).entries())
      parts[missing[nth] ?? 0] = part;
    return parts;
  }

  async #statesOf(
    schedules: readonly Schedule[],
    source: EffectsSource,
    atOnce: number,
  ): Promise<(string | null)[]> {
    const parts: (string | null)[] = [];
    for (let at = 0; at < schedules.length; at += atOnce) {
      const runs = schedules.slice(at, at + atOnce).map((schedule) => this.#newRun(schedule));
      await this.#perform(runs);
      await this.#waitForEffects(runs);
      const answer = await this.#receiver.ask(source, new Map(runs.map(({ token }) => [token, 0])));
      for (const { token, isIncomplete } of runs)
        parts.push(isIncomplete ? null : answer.partAbout(token).replaceAll(token, "{{token}}"));
    }
    return parts;
  }

  /** The longest that effects took until all were there. */
  get effectsMs(): number {
    return this.#receiver.effectsMs;
  }

  /**
   * Fewer at the same time from now on: the receiver may have failed for want of something. False
   * when they are few already.
   */
  calmDown(): boolean {
    if (this.#atOnce <= fewAtOnce) return false;
    this.#atOnce = Math.max(fewAtOnce, this.#atOnce >> 1);
    return true;
  }

  /**
   * A schedule that ends the receiver spoils what runs beside it, so all of them run again, in
   * halves, until it is alone.
   */
  async #runTogether(runs: readonly Run[], patienceMs: number | undefined): Promise<void> {
    const [first] = runs;
    const why = await this.#tryTogether(runs, patienceMs);
    if (why === null || first === undefined) return;
    await this.#receiver.comeBack(why);
    if (runs.length > 1) {
      const middle = runs.length >> 1;
      for (const half of [runs.slice(0, middle), runs.slice(middle)]) {
        for (const run of half)
          Object.assign(run, { ...this.#newRun(run.schedule), claims: run.claims });
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
      if (how !== null) await this.#receiver.act(how, "restart");
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
      this.#receiver.wire,
      { ...spec, ...headers, body: spec.body.replaceAll("{{token}}", run.token) },
      this.#secret,
    );
    if (spec.hangUp === undefined && sent.every(isRetried)) run.isIncomplete = true;
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
    if (effects === null) return;
    const claims = runs.flatMap((run) => run.claims.map((claim) => ({ run, claim })));
    const wanted = claims.map(({ run, claim }) => wantedBy(claim, run));
    const answer = await this.#receiver.ask(effects, new Map(wanted));
    for (const { run, claim } of claims)
      if ("times" in claim && judgeTimes(claim, answer.count(tokenOf(claim, run)).count) !== null)
        run.isIncomplete = true;
  }

  async #judge(runs: readonly Run[], patienceMs: number | undefined): Promise<void> {
    const claims = runs.flatMap((run) => run.claims.map((claim) => ({ run, claim })));
    for (const [, those] of Map.groupBy(claims, ({ claim: { source } }) =>
      JSON.stringify(source),
    )) {
      const [first] = those;
      if (first === undefined) continue;
      const wanted = those.map(({ run, claim }) => wantedBy(claim, run));
      const answer = await this.#receiver.ask(first.claim.source, new Map(wanted), patienceMs);
      for (const { run, claim } of those) {
        const wrong =
          "times" in claim
            ? judgeTimes(claim, answer.count(tokenOf(claim, run)).count)
            : this.#judgeState(claim, run, answer);
        if (wrong !== null) run.violations.push(wrong);
      }
    }
  }

  #judgeState(claim: StateClaim, { token }: Run, answer: Answer): Violation | null {
    const state = answer.partAbout(token).replaceAll(token, "{{token}}");
    const wanted = this.#states.get(keyOf(claim));
    if (wanted === undefined || this.#isSame(state, wanted)) return null;
    const [expected, actual] = whereDifferent(this.#comparedOf(wanted), this.#comparedOf(state));
    return {
      kind: "state",
      text: "The end state is not the one of the same messages once each, in the order of the file.",
      states: { expected: asWritten(expected), actual: asWritten(actual) },
    };
  }

  #isSame(one: string, other: string): boolean {
    return this.#comparedOf(one) === this.#comparedOf(other);
  }

  #comparedOf(part: string): string {
    return stateOf(part, "{{token}}", this.#exploration.always.ignore);
  }
}

function goneIn(runs: readonly Run[]): Violation | undefined {
  return runs.flatMap(({ violations }) => violations).find(({ kind }) => kind === "gone");
}

function keyOf({ source, sameAs }: StateClaim): string {
  return JSON.stringify([source, sameAs]);
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
