/** What a test endpoint may be. The contract has checked the shapes; here the values are. */

import { validateHeaderName, validateHeaderValue } from "node:http";
import type { Step, TestEndpoint } from "../../domain/configuration.ts";
import { highestStatus } from "../../domain/http-status.ts";
import { conflict, invalid, isProblem } from "../../domain/problem.ts";
import type { Problem } from "../../domain/problem.ts";
import type { EndpointDraft } from "../pipeline.ts";

const maxNameLength = 200;
const maxPathLength = 200;
/** A program is read by people. */
const maxSteps = 1_000;
/** A step's time is written in milliseconds; more than a day is a slip. */
const maxWaitMs = 86_400_000;
const maxBodyLength = 1024 * 1024;

type Checked = Omit<TestEndpoint, "id" | "createdAt">;

/** The endpoint that comes of a draft, or of changes to `present`. */
export function checkDraft(
  draft: Partial<EndpointDraft>,
  present: TestEndpoint | null,
  taken: (path: string) => boolean,
): Checked | Problem {
  const name = (draft.name ?? present?.name ?? "").trim();
  if (name === "") return invalid("A test endpoint needs a name.");
  if (name.length > maxNameLength) return invalid(`The name is longer than ${maxNameLength} characters.`);
  const path = draft.path === undefined ? (present?.path ?? freePath(name, taken)) : checkPath(draft.path, present, taken);
  if (isProblem(path)) return path;
  const steps = draft.steps === undefined ? (present?.steps ?? []) : draft.steps;
  if (steps.length > maxSteps) return invalid(`A program has at most ${maxSteps} steps.`);
  for (const [index, step] of steps.entries()) {
    const wrong = findWrong(step);
    if (wrong !== null) return invalid(`Step ${index + 1}: ${wrong}`, { step: index });
  }
  return {
    name,
    path,
    steps: steps.length === 0 ? [{ do: "answer", status: 200 }] : steps,
    after: draft.after ?? present?.after ?? "repeat-last",
  };
}

function checkPath(given: string, present: TestEndpoint | null, taken: (path: string) => boolean): string | Problem {
  const path = given.replace(/^\//, "");
  if (path.length > maxPathLength) return invalid(`The path is longer than ${maxPathLength} characters.`);
  if (!/^[a-z0-9_-]+(\/[a-z0-9_-]+)*$/.test(path)) {
    return invalid(`"${given}" cannot be a path: use a-z, 0-9, "-" and "_", with single slashes between.`);
  }
  if (path !== present?.path && taken(path)) return conflict("path_taken", `Another test endpoint is at /${path}.`);
  return path;
}

function freePath(name: string, taken: (path: string) => boolean): string {
  const slug = name
    .normalize("NFKD")
    .toLowerCase()
    .replace(/\p{M}/gu, "")
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");
  const base = slug === "" ? "endpoint" : slug;
  let path = base;
  for (let number = 2; taken(path); number += 1) path = `${base}-${number}`;
  return path;
}

function findWrong(step: Step): string | null {
  const { times, chance, status, delayMs, forMs, body, headers = {} } = step;
  if (times !== undefined && (!Number.isSafeInteger(times) || times < 1)) return "`times` is a whole number from 1.";
  if (chance !== undefined && !(chance >= 0 && chance <= 1)) return "`chance` is a share from 0 to 1.";
  if (status !== undefined && !(Number.isInteger(status) && status >= 200 && status <= highestStatus))
    return `\`status\` is a whole number from 200 to ${highestStatus}.`;
  if (step.do === "redirect" && status !== undefined && (status < 300 || status > 399)) return "a redirect has a `status` from 300 to 399.";
  if (!isWait(delayMs)) return "`delayMs` is from 0 to 86400000 (24 hours).";
  if (!isWait(forMs)) return "`forMs` is from 0 to 86400000 (24 hours).";
  if (body !== undefined && body.length > maxBodyLength) return "`body` is longer than 1 MB.";
  return (
    Object.entries(headers)
      .map(findWrongHeader)
      .find((wrong) => wrong !== null) ?? null
  );
}

function isWait(ms: number | undefined): boolean {
  return ms === undefined || (Number.isInteger(ms) && ms >= 0 && ms <= maxWaitMs);
}

function findWrongHeader([name, value]: [string, string]): string | null {
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    return null;
  } catch {
    return `the header ${JSON.stringify(name)} is not one that HTTP allows.`;
  }
}
