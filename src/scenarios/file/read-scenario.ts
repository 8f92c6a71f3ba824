/** Reads a scenario file: a checked scenario with the places of its parts, or everything that is wrong with it, in the order of the file. */

import { findWrongReferences } from "./references.ts";
import { scenarioFile, type Scenario } from "./scenario-schema.ts";
import { problemsOf } from "./sentences.ts";
import { readYaml, type FileProblem, type PlacedValue } from "./yaml-places.ts";

export type ReadScenario = { scenario: Scenario; file: PlacedValue };

/** Enough to mend a file by; a file that is no scenario at all has thousands. */
const mostProblems = 20;

export function readScenario(text: string): ReadScenario | { problems: FileProblem[] } {
  const file = readYaml(text.replace(/^\uFEFF/, ""));
  if ("problems" in file) return { problems: inOrder(file.problems) };
  if (file.value === null)
    return { problems: [{ line: 1, column: 1, message: "The file is empty. A scenario has at least a name and steps." }] };
  const checked = checkScenario(file);
  return "problems" in checked ? { problems: inOrder(checked.problems) } : checked;
}

/** The same for what was never a text: the places are whatever its maker calls them. */
export function checkScenario(file: PlacedValue): ReadScenario | { problems: FileProblem[] } {
  const read = scenarioFile.safeParse(file.value, { reportInput: true });
  if (!read.success) return { problems: problemsOf(read.error.issues, file) };
  const problems = findWrongReferences(read.data, file);
  return problems.length > 0 ? { problems } : { scenario: read.data, file };
}

function inOrder(problems: readonly FileProblem[]): FileProblem[] {
  const sorted = problems.toSorted((one, other) => one.line - other.line || one.column - other.column);
  const first = sorted.slice(0, mostProblems);
  const last = sorted[mostProblems];
  if (last !== undefined) first.push({ ...last, message: `${sorted.length - mostProblems} more from here on.` });
  return first;
}
