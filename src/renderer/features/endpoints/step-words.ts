/** What a step comes to, as an outcome and in words. */

import type { Outcome } from "../../../domain/states.ts";
import type { ProgramStep } from "./program-text.ts";

const reasons: Record<number, string> = {
  200: "OK",
  201: "Created",
  202: "Accepted",
  204: "No Content",
  301: "Moved Permanently",
  302: "Found",
  303: "See Other",
  307: "Temporary Redirect",
  308: "Permanent Redirect",
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  408: "Request Timeout",
  409: "Conflict",
  410: "Gone",
  413: "Content Too Large",
  422: "Unprocessable Content",
  429: "Too Many Requests",
  500: "Internal Server Error",
  501: "Not Implemented",
  502: "Bad Gateway",
  503: "Service Unavailable",
  504: "Gateway Timeout",
};

export const usualStatuses: readonly number[] = Object.keys(reasons).map(Number);
export const redirectStatuses: readonly number[] = usualStatuses.filter((status) => status >= 300 && status < 400);

export function statusWords(status: number): string {
  const reason = reasons[status];
  return reason === undefined ? String(status) : `${status} ${reason}`;
}

export const statusOf = (step: ProgramStep): number => step.status ?? (step.do === "redirect" ? 302 : 200);

/** The engine's: a drip without a duration. */
export const usualDripMs = 10_000;

/** What an attempt with this deadline makes of it. */
export function outcomeOf(step: ProgramStep, timeoutMs: number): Outcome {
  const delayMs = step.delayMs ?? 0;
  if (delayMs >= timeoutMs) return "timeout";
  switch (step.do) {
    case "answer":
    case "redirect":
      return ofStatus(statusOf(step));
    case "hang":
      return step.forMs === undefined || delayMs + step.forMs >= timeoutMs ? "timeout" : "connection_error";
    case "drip":
      return delayMs + (step.forMs ?? usualDripMs) >= timeoutMs ? "timeout" : ofStatus(statusOf(step));
    case "reset":
    case "close":
    case "truncate":
    case "garbage":
      return "connection_error";
  }
}

function ofStatus(status: number): Outcome {
  return status >= 200 && status < 300 ? "success" : "http_error";
}

/** `no delay, 1 header, body {"error":…` */
export function extrasWords(step: ProgramStep, durationText: (ms: number) => string): { words: string; body: string | null } {
  const headers = Object.keys(step.headers ?? {}).length;
  const words = [
    (step.delayMs ?? 0) === 0 ? "no delay" : `${durationText(step.delayMs ?? 0)} delay`,
    headers === 0 ? "no headers" : `${headers} header${headers === 1 ? "" : "s"}`,
  ];
  const body = step.body === undefined || step.body === "" ? null : step.body;
  return { words: body === null ? `${words.join(", ")}, no body` : `${words.join(", ")}, body`, body };
}
