import type { ServerResponse } from "node:http";
import type { Problem } from "../domain/problem.ts";

/** On everything that this host answers: never sniffed, never framed, never read by another origin, never kept. */
export const guardHeaders = {
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cache-Control": "no-store",
};

export function answerJson(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  const bytes = Buffer.from(JSON.stringify(body));
  response.writeHead(status, {
    ...guardHeaders,
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    ...headers,
    "Content-Type": "application/json; charset=utf-8",
    "Content-Length": String(bytes.length),
  });
  response.end(response.req.method === "HEAD" ? undefined : bytes);
}

export function answerProblem(response: ServerResponse, problem: Problem, headers: Record<string, string> = {}): void {
  const { status, code, message } = problem;
  answerJson(response, status, { code, message }, headers);
}
