/**
 * Whether an expectation is met, in time. Without `within` it is compared with the present state;
 * with it, with every moment of the clock time after the last action, and the clock moves on from
 * due time to due time until the expectation is met or that time is over. With `never`, nothing may
 * fit at any such moment.
 */

import { askEffects, stableEffects, type EffectsSource } from "../../receiver/effects.ts";
import { partAbout, stateOf, whereDifferent } from "../../receiver/state.ts";
import type { EffectsClaim, Expectation, Subject } from "../file/expectation-schema.ts";
import { isWithin, rangeText, type Range } from "../file/matcher.ts";
import { byMessage } from "../run/deliveries.ts";
import { asOf, momentsOf, type History } from "../run/history.ts";
import type { Session } from "../run/session.ts";
import { audiences, deliveries, messages, requests, attempts } from "./kinds.ts";
import { judgeClock, fitting, judge, neverVerdict, type Counted, type Verdict } from "./judge.ts";
import type { Kind, View } from "./kind.ts";

type Met = Verdict & { subject: Subject };

/** One verdict for each subject of the expectation, in the order of the file. */
export async function meet(expectation: Expectation, session: Session): Promise<Met[]> {
  const met: Met[] = [];
  for (const subject of Object.keys(expectation) as Subject[]) {
    const verdict = await meetSubject(subject, expectation, session);
    if (verdict !== null) met.push({ ...verdict, subject });
  }
  return met;
}

async function meetSubject(
  subject: Subject,
  expectation: Expectation,
  session: Session,
): Promise<Verdict | null> {
  switch (subject) {
    case "messages":
      return meetClaim(messages, expectation.messages, session);
    case "deliveries":
      return meetClaim(deliveries, expectation.deliveries, session);
    case "attempts":
      return meetClaim(attempts, expectation.attempts, session);
    case "requests":
      return meetClaim(requests, expectation.requests, session);
    case "audiences":
      return meetClaim(audiences, expectation.audiences, session);
    case "clock":
      return expectation.clock === undefined
        ? null
        : judgeClock(expectation.clock, await session.history(), session.startedAt);
    case "effects":
      return expectation.effects === undefined ? null : meetEffects(expectation.effects, session);
  }
}

async function meetClaim<Claim extends Counted, Thing>(
  kind: Kind<Claim, Thing>,
  claim: Claim | undefined,
  session: Session,
): Promise<Verdict | null> {
  if (claim === undefined) return null;
  return claim.never === undefined
    ? atSomeMoment(kind, claim, session)
    : never(kind, claim, session);
}

/** A receiver that cannot be asked has not met it. */
async function meetEffects(
  { url, command, ...claim }: EffectsClaim,
  session: Session,
): Promise<Verdict> {
  const asked = session.requests.fill(command ?? url ?? "");
  const source = command === undefined ? { url: asked } : { command: asked };
  const token = session.requests.fill(claim.token);
  const effects = claim.times === 1 ? "effect" : "effects";
  const expected =
    claim.times === undefined
      ? "the same state"
      : `${rangeText(claim.times)} ${effects} of ${claim.token}`;
  try {
    return claim.times === undefined
      ? await meetSame(
          source,
          [session.requests.fill(claim.sameAs ?? ""), token],
          claim.ignore ?? [],
        )
      : { ...(await meetTimes(source, token, claim.times)), expected };
  } catch (error) {
    return {
      passed: false,
      expected,
      actual: error instanceof Error ? error.message : String(error),
      differences: [],
      moreDifferences: 0,
    };
  }
}

async function meetTimes(
  source: EffectsSource,
  token: string,
  times: Range,
): Promise<Omit<Verdict, "expected">> {
  const wanted = new Map([[token, typeof times === "number" ? times : (times.atLeast ?? 0)]]);
  const found = (await stableEffects({ ask: () => askEffects(source), wanted })).get(token);
  const { count, found: lines } = found ?? { count: 0, found: [] };
  const shown = lines.slice(0, maxEffects).map(short);
  const actual = `${count} ${count === 1 ? "effect" : "effects"}${count === 0 ? "" : `: ${shown.join(" and ")}`}`;
  return {
    passed: isWithin(count, times),
    actual: count > maxEffects ? `${actual} …` : actual,
    differences: [],
    moreDifferences: 0,
  };
}

/** Once both are stable. */
async function meetSame(
  source: EffectsSource,
  tokens: readonly [string, string],
  ignore: readonly string[],
): Promise<Verdict> {
  let answer = "";
  const ask = async (): Promise<string> => (answer = await askEffects(source));
  await stableEffects({ ask, wanted: new Map(tokens.map((token) => [token, 0])) });
  const [wanted = "", got = ""] = tokens.map((token) =>
    stateOf(partAbout(answer, token), token, ignore),
  );
  const passed = wanted === got;
  const [expected, actual] = passed ? [short(wanted), short(got)] : whereDifferent(wanted, got);
  return {
    passed,
    expected,
    actual,
    differences: [],
    moreDifferences: 0,
  };
}

function short(line: string): string {
  return line.length > maxEffect ? `${line.slice(0, maxEffect)}…` : line;
}

/** Enough to see what was done twice. */
const maxEffects = 3;
const maxEffect = 200;

function viewOf(session: Session, { now }: History): View {
  return {
    now,
    startedAt: session.startedAt,
    secretOf: (destination) => session.secretOf(destination),
  };
}

async function atSomeMoment<Claim extends Counted, Thing>(
  kind: Kind<Claim, Thing>,
  claim: Claim,
  session: Session,
): Promise<Verdict> {
  const lookAt = (history: History): Verdict =>
    judge(kind, claim, history, viewOf(session, history));
  if (claim.within === undefined) return lookAt(await session.history());
  const from = session.lastDone().at;
  const end = from + claim.within;
  for (let seenUntil = from - 1; ;) {
    const history = await session.history();
    const until = Math.min(history.now, end);
    const moments = momentsOf(history).filter((moment) => moment > seenUntil && moment < until);
    for (const moment of moments) {
      const verdict = lookAt(asOf(history, moment));
      if (verdict.passed) return verdict;
    }
    const verdict = lookAt(asOf(history, until));
    if (verdict.passed || until === end) return verdict;
    seenUntil = until;
    await moveOn(session, history, end);
  }
}

async function never<Claim extends Counted, Thing>(
  kind: Kind<Claim, Thing>,
  claim: Claim,
  session: Session,
): Promise<Verdict> {
  const { at, before } = session.lastDone();
  const end = claim.within === undefined ? null : at + claim.within;
  const old =
    end === null || before === null
      ? new Set<string>()
      : new Set(everFitting(kind, claim, before, viewOf(session, before)).keys());
  for (;;) {
    const history = await session.history();
    const until = end === null ? history.now : Math.min(history.now, end);
    const view = viewOf(session, history);
    const news = [...everFitting(kind, claim, asOf(history, until), view)].filter(
      ([stamp]) => !old.has(stamp),
    );
    const found = [...new Map(news.map(([, thing]) => [kind.idOf(thing), thing])).values()];
    if (found.length > 0 || end === null || until === end)
      return neverVerdict(kind, found, history, view);
    await moveOn(session, history, end);
  }
}

/** To the next due time, but not beyond `end`. */
async function moveOn(session: Session, { now, nextDueAt }: History, end: number): Promise<void> {
  await session.advance(nextDueAt !== null && nextDueAt <= end ? "next-due" : end - now);
}

/**
 * Everything that fitted at any moment, each as it was then. Different messages do not depend on
 * each other, so each message is examined separately, at its own moments.
 */
function everFitting<Claim extends Counted, Thing>(
  kind: Kind<Claim, Thing>,
  claim: Claim,
  history: History,
  view: View,
): Map<string, Thing> {
  const found = new Map<string, Thing>();
  for (const part of partsOf(history)) {
    for (const moment of momentsOf(part)) {
      for (const thing of fitting(kind, claim, asOf(part, moment), { ...view, now: moment })) {
        found.set(`${kind.idOf(thing)} ${kind.versionOf(thing)}`, thing);
      }
    }
  }
  return found;
}

function* partsOf(history: History): Generator<History> {
  const deliveries = byMessage(history.deliveries);
  const nothing = { ...history, messages: [], deliveries: [], requests: [], audiences: [] };
  for (const message of history.messages)
    yield { ...nothing, messages: [message], deliveries: deliveries.get(message.ordinal) ?? [] };
  for (const request of history.requests) yield { ...nothing, requests: [request] };
  for (const audience of history.audiences) yield { ...nothing, audiences: [audience] };
}
