/** The answer that a step of a program says: its head, written to the client, and its body. */

import type { ServerResponse } from "node:http";
import type { Step } from "../../domain/configuration.ts";

type AnswerOptions = {
  step: Step;
  /** The endpoint's path, the target of a redirect without a `Location`. */
  path: string;
  response: ServerResponse;
  now: number;
};

/** Writes the head, and returns the body. */
export function writeAnswerHead({ step, path, response, now }: AnswerOptions): Buffer {
  const { status, headers, hasDate, body } = answerOf(step, path);
  response.writeHead(status, hasDate ? headers : [...headers, "Date", new Date(now).toUTCString()]);
  return body;
}

type StepAnswer = {
  path: string;
  status: number;
  /** Names and values in turn; `Date` is added to each answer. */
  headers: string[];
  hasDate: boolean;
  body: Buffer;
};

/** The answer of each step is created once. */
const answers = new WeakMap<Step, StepAnswer>();

export function answerOf(step: Step, path: string): StepAnswer {
  let answer = answers.get(step);
  if (answer?.path !== path) {
    answer = createAnswer(step, path);
    answers.set(step, answer);
  }
  return answer;
}

/**
 * The bodies of steps that need one and have none. The drip has ten bytes: one a second in 10 s.
 */
const standInBody: Partial<Record<Step["do"], Buffer>> = {
  truncate: Buffer.from("This answer is longer than what will arrive of it.\n"),
  drip: Buffer.from("drip drip\n"),
  garbage: Buffer.from([
    0x00,
    0xff,
    0xfe,
    0x16,
    0x03,
    0x7f,
    ...Buffer.from(" this is not HTTP\r\n\r\n"),
  ]),
};

function createAnswer(step: Step, path: string): StepAnswer {
  const body =
    step.body === undefined ? (standInBody[step.do] ?? Buffer.alloc(0)) : Buffer.from(step.body);
  const status = step.status ?? (step.do === "redirect" ? 302 : 200);
  const headers = Object.entries(step.headers ?? {}).flat();
  const has = (name: string): boolean =>
    Object.keys(step.headers ?? {}).some((given) => given.toLowerCase() === name);
  const mayHaveBody = status !== 204 && status !== 304;
  if (step.do === "redirect" && !has("location")) headers.push("Location", `/${path}?redirected`);
  if (body.byteLength > 0 && mayHaveBody && !has("content-type"))
    headers.push("Content-Type", contentType(body));
  if (mayHaveBody && !has("content-length") && !has("transfer-encoding"))
    headers.push("Content-Length", String(body.byteLength));
  return { path, status, headers, hasDate: has("date"), body };
}

function contentType(body: Buffer): string {
  try {
    JSON.parse(body.toString());
    return "application/json";
  } catch {
    return "text/plain; charset=utf-8";
  }
}
