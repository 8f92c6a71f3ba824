/**
 * A scenario of what just happened: the messages with their sources and destinations, receivers
 * that answer as the real ones did, and the results as expectations. It is run once before it is
 * returned, so that its expectations hold; notes say what could not be recorded unchanged.
 */

import { Document, isCollection, isPair, isScalar, isSeq, visit } from "yaml";
import type { MessageDetailsAnswer } from "../../contract/messages.ts";
import type { InputOf } from "../../contract/contract.ts";
import type { ScenarioReport } from "../../contract/scenarios.ts";
import { problem, type Problem } from "../../domain/problem.ts";
import { nextTurn } from "../../engine/real-time.ts";
import type { ScenarioInput } from "../file/scenario-schema.ts";
import { lostOf, withAllAttempts } from "../run/deliveries.ts";
import { CallRefused, type ScenarioPipeline } from "../run/pipeline.ts";
import { problemsOf } from "../run/run-scenario.ts";
import { withBatchDefaults } from "./batch-defaults.ts";
import { expectationsOf } from "./expectations.ts";
import { setupOf } from "./setup.ts";
import { stepsOf } from "./steps.ts";

type Recording = { text: string; notes: string[] };

type RecordOptions = InputOf<"scenarios.record"> & {
  /** The pipeline that the messages are in. */
  own: ScenarioPipeline;
  /** Runs a scenario in a pipeline of its own. */
  run: (scenario: ScenarioInput) => Promise<ScenarioReport>;
};

/** Messages with their attempts: a file of about that size takes some tenths of a second in all. */
const maxRecorded = 500_000;

const tooMuch = (): Problem =>
  problem(
    413,
    "too_large",
    `These messages with their attempts are more than ${maxRecorded.toLocaleString("en-US")} bytes, the most that one scenario records. Choose fewer messages.`,
  );

export async function recordScenario(options: RecordOptions): Promise<Recording | Problem> {
  try {
    return await record(options);
  } catch (error) {
    if (!(error instanceof CallRefused)) throw error;
    const { status, code, data } = error.problem;
    return problem(status, code, error.message, data);
  }
}

async function record({ own, run, messageIds, name }: RecordOptions): Promise<Recording | Problem> {
  const notes = new Set<string>();
  const all: MessageDetailsAnswer[] = [];
  let size = 0;
  for (const id of new Set(messageIds)) {
    // Calls of this process are answered in the same turn.
    await nextTurn();
    const message = await withAllAttempts(own, await own.call("messages.get", { id }));
    if (lostOf(message) > 0)
      notes.add(
        "A message has more attempts than an answer of the control API has room for. The older ones are not recorded.",
      );
    size += sizeOf(message);
    if (size > maxRecorded) return tooMuch();
    all.push(message);
  }
  const inOrder = all.toSorted(
    (one, other) => compare(one.receivedAt, other.receivedAt) || compare(one.id, other.id),
  );
  const messages = await withBatchDefaults(
    own,
    withoutSentAgain(inOrder, (note) => notes.add(note)),
    maxRecorded,
  );
  if (messages === null) return tooMuch();
  const setup = await setupOf(own, messages, (note) => notes.add(note));
  const { steps, sent, lastAt } = stepsOf(messages, setup, (note) => notes.add(note));
  const first = sent[0];
  if (first === undefined) {
    return problem(
      409,
      "nothing_to_record",
      `None of these messages can be sent again by a scenario. ${[...notes].join(" ")}`,
    );
  }
  for (const program of Object.values(setup.file.endpoints ?? {})) {
    const { length } = Array.isArray(program) ? program : program.steps;
    if (length > maxSteps)
      return problem(
        413,
        "too_large",
        `A receiver answered these messages in so many ways that its endpoint needs ${length.toLocaleString("en-US")} steps, more than the ${maxSteps.toLocaleString("en-US")} that it can have. Choose fewer messages.`,
      );
  }
  const expectations = expectationsOf(sent, setup, lastAt);
  const scenario = (expect: typeof expectations): ScenarioInput => ({
    name: name ?? `Recorded at ${first.receivedAt}`,
    ...setup.file,
    startAt: first.receivedAt,
    steps: [...steps, ...(expect.length === 0 ? [] : [{ expect }])],
  });
  const report = await run(scenario(expectations));
  // None when a step before them could not be done.
  const results = report.steps.at(-1)?.expectations ?? [];
  for (const { passed, text } of results)
    if (!passed) notes.add(`Left out, because the scenario gave another result: expect ${text}.`);
  for (const problem of problemsOf(report)) notes.add(problem);
  return {
    text: await scenarioYaml(
      scenario(expectations.filter((_, index) => results[index]?.passed === true)),
    ),
    notes: [...notes],
  };
}

/** Of the program of a test endpoint. */
const maxSteps = 1000;

/** A replay has another `messageId`; what is sent again to one destination keeps its own. */
function withoutSentAgain(
  messages: readonly MessageDetailsAnswer[],
  note: (sentence: string) => void,
): MessageDetailsAnswer[] {
  const messageIds = new Map(messages.map(({ id, messageId }) => [id, messageId]));
  const rest = messages.filter(
    ({ replayOf, messageId }) => replayOf === null || messageIds.get(replayOf) !== messageId,
  );
  if (rest.length < messages.length)
    note(
      "Messages that were sent again to a destination are left out: a scenario sends each of them once.",
    );
  return rest;
}

/** Of an attempt in the program of its endpoint. */
const attemptBytes = 100;

function sizeOf({ rawSize, deliveries }: MessageDetailsAnswer): number {
  return deliveries.reduce((sum, { attempts }) => sum + attemptBytes * attempts.length, rawSize);
}

function compare(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}

/** A value that fits in a line is written in one. */
const maxLineLength = 120;

/** Each step in a turn of its own: a step may send a whole batch. */
export async function scenarioYaml({ steps, ...before }: ScenarioInput): Promise<string> {
  const key = "steps:\n";
  const parts = [yamlOf(before), key];
  for (const step of steps) {
    await nextTurn();
    parts.push(yamlOf({ steps: [step] }).slice(key.length));
  }
  return parts.join("");
}

function yamlOf(scenario: Partial<ScenarioInput>): string {
  const document = new Document(scenario, { aliasDuplicateObjects: false });
  visit(document, {
    Collection(_key, node, path) {
      const depth = path.filter(isCollection).length;
      if (
        depth >= 2 &&
        !isListed(path) &&
        !isProgram(node, path) &&
        JSON.stringify(node).length <= maxLineLength
      )
        node.flow = true;
    },
  });
  return document.toString({ lineWidth: 0 });
}

/** So does each step of an endpoint, where there are several. */
function isProgram(node: unknown, path: readonly unknown[]): boolean {
  const above = path.at(-3);
  return (
    isSeq(node) &&
    node.items.length > 1 &&
    isPair(above) &&
    isScalar(above.key) &&
    above.key.value === "endpoints"
  );
}

/** Steps and expectations have a line each, however short they are. */
function isListed(path: readonly unknown[]): boolean {
  const pair = path.at(-2);
  return (
    isSeq(path.at(-1)) &&
    isPair(pair) &&
    isScalar(pair.key) &&
    (pair.key.value === "steps" || pair.key.value === "expect")
  );
}
