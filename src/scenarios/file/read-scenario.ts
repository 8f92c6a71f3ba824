/**
 * Reads a scenario file: a checked scenario with the places of its parts, or everything that is
 * wrong with it, in the order of the file.
 */

import { isDeeperThan, isObject, type Json } from "../../domain/json.ts";
import { findWrongReferences } from "./references.ts";
import { scenarioFile, type ReadScenario, type ScenarioInput } from "./scenario-schema.ts";
import { problemsOf } from "./sentences.ts";
import {
  deepest,
  readYaml,
  type FileLimits,
  type FileProblem,
  type PlacedValue,
} from "./yaml-places.ts";

/** Enough to mend a file by; a file that is no scenario at all has thousands. */
const maxProblems = 20;

/** For the command line and tests, where nobody waits but the caller. */
const limits: FileLimits = {
  maxLength: 1_000_000,
  maxValues: 200_000,
  maxSteps: 10_000,
  commands: true,
  advice: "Split it into several files.",
};

/** For the process that serves: a fifth of a second of reading at most. */
export const forServing: FileLimits = {
  maxLength: 200_000,
  maxValues: 30_000,
  maxSteps: 4_000,
  commands: false,
  advice: "Run it with hookyard run, which allows more, or split it into several files.",
};

export function readScenario(
  text: string,
  { maxLength, maxSteps, maxValues, commands, advice }: FileLimits = limits,
): ReadScenario | { problems: FileProblem[] } {
  const tooLarge = (message: string) => ({
    problems: [{ line: 1, column: 1, message: `${message} ${advice}` }],
  });
  if (text.length > maxLength)
    return tooLarge(
      `The file has ${inWords(text.length)} characters, more than the ${inWords(maxLength)} that are allowed here.`,
    );
  const file = readYaml(text.replace(/^\uFEFF/, ""), { maxValues });
  if ("problems" in file) return { problems: inOrder(file.problems) };
  const steps = isObject(file.value) ? file.value["steps"] : null;
  if (Array.isArray(steps) && steps.length > maxSteps)
    return tooLarge(
      `The file has ${inWords(steps.length)} steps, more than the ${inWords(maxSteps)} that are allowed here.`,
    );
  if (file.value === null)
    return {
      problems: [
        {
          line: 1,
          column: 1,
          message: "The file is empty. A scenario has at least a name and steps.",
        },
      ],
    };
  const checked = checkScenario(file);
  if ("problems" in checked) return { problems: inOrder(checked.problems) };
  const refused = commands ? [] : commandsIn(checked);
  return refused.length > 0 ? { problems: inOrder(refused) } : checked;
}

const noCommands = "A command runs only with hookyard run and hookyard/testing.";

/** A text that was pasted into the inspector must not start programs. */
function commandsIn({ scenario, file }: ReadScenario): FileProblem[] {
  return scenario.steps.flatMap((step, index) => {
    if ("command" in step)
      return [{ ...file.placeOf(["steps", index, "command"]), message: noCommands }];
    const list = "expect" in step ? [step.expect].flat() : [];
    return list.flatMap(({ effects }, at) => {
      if (effects?.command === undefined) return [];
      const claim = [
        "steps",
        index,
        "expect",
        ...("expect" in step && Array.isArray(step.expect) ? [at] : []),
        "effects",
        "command",
      ];
      return [{ ...file.placeOf(claim), message: `${noCommands} Here, use a url.` }];
    });
  });
}

/** The same for a value that was never a text: the caller provides the places. */
export function checkScenario(file: PlacedValue): ReadScenario | { problems: FileProblem[] } {
  const read = scenarioFile.safeParse(file.value, { reportInput: true });
  if (!read.success) return { problems: problemsOf(read.error.issues, file) };
  const problems = findWrongReferences(read.data, file);
  return problems.length > 0 ? { problems } : { scenario: read.data, file };
}

/** One that was just written, without its text: reading that takes longer than writing it. */
export function readWritten(written: ScenarioInput): ReadScenario | { problems: FileProblem[] } {
  const start = { line: 1, column: 1 };
  const value = JSON.parse(JSON.stringify(written)) as Json;
  if (isDeeperThan(deepest, value))
    return {
      problems: [
        { ...start, message: `Values are nested more than ${deepest} levels deep in this file.` },
      ],
    };
  return checkScenario({ value, placeOf: () => start, placeOfName: () => start });
}

function inWords(count: number): string {
  return count.toLocaleString("en-US");
}

function inOrder(problems: readonly FileProblem[]): FileProblem[] {
  const sorted = problems.toSorted(
    (one, other) => one.line - other.line || one.column - other.column,
  );
  const first = sorted.slice(0, maxProblems);
  const last = sorted[maxProblems];
  if (last !== undefined)
    first.push({ ...last, message: `${sorted.length - maxProblems} more problems from here on.` });
  return first;
}
