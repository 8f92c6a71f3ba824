/** The head and body of what a step answers, made once for each step. */

import type { Step } from "../../domain/configuration.ts";

type StepAnswer = {
  path: string;
  status: number;
  /** Names and values in turn; `Date` comes with each answer. */
  headers: string[];
  hasDate: boolean;
  body: Buffer;
};

const made = new WeakMap<Step, StepAnswer>();

export function answerOf(step: Step, path: string): StepAnswer {
  let answer = made.get(step);
  if (answer?.path !== path) {
    answer = makeAnswer(step, path);
    made.set(step, answer);
  }
  return answer;
}

/** What is sent where a step needs bytes and has no body of its own. Ten bytes: a drip of 10 s sends one a second. */
const standInBody: Partial<Record<Step["do"], Buffer>> = {
  truncate: Buffer.from("This answer is longer than what will arrive of it.\n"),
  drip: Buffer.from("drip drip\n"),
  garbage: Buffer.from([0x00, 0xff, 0xfe, 0x16, 0x03, 0x7f, ...Buffer.from(" this is not HTTP\r\n\r\n")]),
};

function makeAnswer(step: Step, path: string): StepAnswer {
  const body = step.body === undefined ? (standInBody[step.do] ?? Buffer.alloc(0)) : Buffer.from(step.body);
  const status = step.status ?? (step.do === "redirect" ? 302 : 200);
  const headers = Object.entries(step.headers ?? {}).flat();
  const has = (name: string): boolean => Object.keys(step.headers ?? {}).some((given) => given.toLowerCase() === name);
  const mayHaveBody = status !== 204 && status !== 304;
  if (step.do === "redirect" && !has("location")) headers.push("Location", `/${path}?redirected`);
  if (body.byteLength > 0 && mayHaveBody && !has("content-type")) headers.push("Content-Type", contentType(body));
  if (mayHaveBody && !has("content-length") && !has("transfer-encoding")) headers.push("Content-Length", String(body.byteLength));
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
