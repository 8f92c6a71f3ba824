/** Does one step of a checked scenario in a session. Called by the run of a whole file, and by `hookyard/testing` step by step. */

import type { ScenarioExpectationResult } from "../../contract/scenarios.ts";
import { pause } from "../../receiver/wire.ts";
import { meet } from "../expect/meet.ts";
import type { Expectation } from "../file/expectation-schema.ts";
import type { ReadScenario } from "../file/read-scenario.ts";
import { rawAt, type Path } from "../file/yaml-places.ts";
import { claimPhrase } from "../report/phrases.ts";
import type { AnswerOf } from "../../contract/contract.ts";
import { sendBody, sendMessages } from "./send.ts";
import type { Session } from "./session.ts";
import type { History } from "./history.ts";

export type StepDone = {
  outcome: string | null;
  problem: string | null;
  expectations: ScenarioExpectationResult[];
  /** It could not be done: later results would mean nothing. */
  broken: boolean;
};

const nothing: StepDone = { outcome: null, problem: null, expectations: [], broken: false };

export async function takeStep(read: ReadScenario, session: Session, index: number): Promise<StepDone> {
  try {
    return { ...nothing, ...(await act(read, session, index)) };
  } catch (error) {
    const steady = await steadyOf(session);
    return { ...nothing, broken: true, problem: steady(error instanceof Error ? error.message : String(error)) };
  }
}

async function act(read: ReadScenario, session: Session, index: number): Promise<Partial<StepDone>> {
  const step = read.scenario.steps[index];
  if (step === undefined) return {};
  if ("send" in step) return sendMessages(session, step);
  if ("post" in step) return sendBody(session, step);
  if ("advance" in step) {
    const attempts = await session.advance(step.advance);
    return { outcome: attempts === 1 ? "1 attempt" : `${attempts} attempts` };
  }
  if ("change" in step) await session.act(() => session.change(step.change));
  if ("create" in step) await session.act(() => session.create(step.create));
  if ("sync" in step) {
    const { entered, left } = await session.act(() => session.sync(step.sync));
    return { outcome: `${entered} entered, ${left} left` };
  }
  if ("delete" in step) {
    const { users, suppress = true } = Array.isArray(step.delete) ? { users: step.delete } : step.delete;
    const { messages } = await session.act(() => session.delete(users, suppress));
    return { outcome: messages === 1 ? "1 delete message" : `${messages} delete messages` };
  }
  if ("lift" in step) await session.act(() => session.lift(step.lift));
  if ("retry" in step) return { outcome: `${await session.act(() => session.withDeliveries("retry", step.retry))} requeued` };
  if ("cancel" in step) return { outcome: `${await session.act(() => session.withDeliveries("cancel", step.cancel))} cancelled` };
  if ("request" in step) return session.requests.take(step);
  if ("command" in step) return session.requests.runCommand(step);
  if ("wait" in step) await pause(step.wait);
  if ("expect" in step) return { expectations: await resultsOf(step.expect, { read, session, path: ["steps", index, "expect"] }) };
  return {};
}

type Place = { read: ReadScenario; session: Session; path: Path };

async function resultsOf(expect: Expectation | Expectation[], place: Place): Promise<ScenarioExpectationResult[]> {
  if (!Array.isArray(expect)) return resultOf(expect, place);
  const results: ScenarioExpectationResult[] = [];
  for (const [index, one] of expect.entries()) results.push(...(await resultOf(one, { ...place, path: [...place.path, index] })));
  return results;
}

async function resultOf(expectation: Expectation, { read: { file }, session, path }: Place): Promise<ScenarioExpectationResult[]> {
  const met = await meet(expectation, session);
  const steady = await steadyOf(session);
  return met.map(({ subject, passed, expected, actual, differences, moreDifferences }) => ({
    ...file.placeOfName([...path, subject]),
    text: claimPhrase(subject, rawAt(file, [...path, subject])),
    passed,
    expected: steady(expected),
    actual: steady(actual),
    differences: differences.map((difference) => ({
      ...difference,
      of: steady(difference.of),
      expected: steady(difference.expected),
      actual: steady(difference.actual),
      attempts: difference.attempts.map((attempt) => ({ ...attempt, error: attempt.error === null ? null : steady(attempt.error) })),
    })),
    moreDifferences,
  }));
}

async function steadyOf(session: Session): Promise<Steady> {
  const about = await session.pipeline.call("about.get", {});
  return createSteady(about, await session.history(), (id) => session.isKnownId(id));
}

type Steady = (text: string) => string;

function createSteady(about: AnswerOf<"about.get">, history: Pick<History, "messages">, isKnownId: (messageId: string) => boolean): Steady {
  const ports = [about.ingestUrl, about.endpointsUrl, about.endpointsTlsUrl].map((url) => new URL(url).port);
  const portPattern = new RegExp(`:(?:${ports.join("|")})(?!\\d)`, "g");
  const drawn = history.messages.filter(({ details: { messageId } }) => messageId !== "" && !isKnownId(messageId));
  return (text) => {
    let steady = text.replace(portPattern, "");
    for (const { ordinal, details } of drawn) steady = steady.replaceAll(details.messageId, `#${ordinal}`);
    return steady;
  };
}
