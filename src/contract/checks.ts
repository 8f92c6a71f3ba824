/**
 * Checks of users' receivers (`hookyard check` in the inspector). Shared secrets and the headers of
 * a check are in no answer.
 */

import { z } from "zod";
import { advices } from "../domain/advice.ts";
import { destinationIds } from "../domain/ids.ts";
import { defineCall } from "./call.ts";
import { byId, headers, idOf, listOf, timeText } from "./shapes.ts";

const state = z.enum(["coming", "running", "pass", "fail", "warn", "skipped"]);
export type CheckState = z.input<typeof state>;

const checkLine = z
  .object({
    id: z.string().describe("Such as `duplicate-together`; it does not change."),
    title: z.string().describe("What a right receiver does."),
    group: z.string(),
    state,
    brief: z.string().describe("A few words; empty before the result."),
  })
  .meta({ id: "CheckLine" });
export type CheckLine = z.input<typeof checkLine>;

const check = z
  .object({
    id: z.string(),
    url: z.string().describe("Without credentials."),
    state: z.enum(["running", "done", "stopped", "unusable"]),
    problem: z.string().nullable().describe("Why it is unusable."),
    startedAt: timeText.describe("In wall-clock time."),
    durationMs: z.int(),
    seed: z.int(),
    score: z.int().describe("Of 100, of the results so far."),
    hasEffects: z.boolean(),
    checks: z.array(checkLine).describe("In the order of the report."),
  })
  .meta({ id: "ReceiverCheck" });
export type ReceiverCheck = z.input<typeof check>;

const checkRequest = z
  .object({
    at: timeText,
    head: z.string(),
    body: z.string(),
    sentAs: z.string().nullable().describe("What is unusual about how it was sent."),
    outcome: z.enum(["answered", "timeout", "connection_error", "tls_error", "hung_up"]),
    status: z.int().nullable(),
    durationMs: z.number(),
    answerHead: z.string(),
    answerBody: z.string(),
    error: z.string().nullable(),
  })
  .meta({ id: "CheckRequest" });
export type CheckRequestAnswer = z.input<typeof checkRequest>;

const checkResult = z
  .object({
    id: z.string(),
    title: z.string(),
    group: z.string(),
    verdict: z.enum(["pass", "fail", "warn", "skipped"]),
    brief: z.string(),
    detail: z.string().describe("What happened, and what follows from it."),
    advice: z.enum(advices).nullable().describe("The usual fix."),
    effects: z
      .array(z.object({ token: z.string(), wanted: z.int(), found: z.array(z.string()) }))
      .describe("Failed ones first."),
    requests: z
      .array(checkRequest)
      .describe("The first, the last, and those that explain the verdict."),
    scenario: z.string().nullable().describe("A failed check as a scenario file."),
  })
  .meta({ id: "CheckResult" });
export type CheckResultAnswer = z.input<typeof checkResult>;

const ids = z.array(z.string()).max(100);

export const checkCalls = [
  defineCall({
    name: "checks.start",
    summary:
      "Starts a check of a receiver: several hundred real requests. Answers immediately; `checks.get` has the results as they come.",
    body: z.strictObject({
      url: z.string().max(10_000),
      secret: z.string().max(10_000).optional().describe("The receiver's shared secret."),
      useSecretOf: idOf(destinationIds)
        .optional()
        .describe("In place of `secret`: sign with the shared secret of this destination."),
      headers: headers.optional().describe("Sent with every request."),
      effects: z
        .strictObject({ url: z.string().max(10_000) })
        .optional()
        .describe(
          "Where the receiver lists what it has done. The API starts no commands: only `hookyard check` has `--effects-command`.",
        ),
      message: z
        .record(z.string(), z.json())
        .optional()
        .describe(
          "A message that the receiver expects: a track, identify, page, screen or group. A track with the event Order Completed when left out. `{{token}}` in it stands for the token.",
        ),
      only: ids.optional(),
      skip: ids.optional(),
      timeoutMs: z
        .int()
        .min(1)
        .max(600_000)
        .optional()
        .describe("For a single request; 5000 when left out."),
      seed: z.int().min(0).max(2_147_483_647).optional(),
    }),
    answer: check,
    status: 201,
  }),
  defineCall({
    name: "checks.list",
    summary: "The newest checks since the start, newest first.",
    answer: listOf(check),
  }),
  defineCall({
    name: "checks.get",
    summary: "One check, with its results so far.",
    params: byId(z.string()),
    answer: check,
  }),
  defineCall({
    name: "checks.result",
    summary: "One result with its requests, effects and scenario.",
    params: z.object({ id: z.string(), check: z.string() }),
    answer: checkResult,
  }),
  defineCall({
    name: "checks.report",
    summary: "The report of the results so far, as `hookyard check` writes it, in pieces.",
    params: byId(z.string()),
    query: z.object({
      as: z.enum(["html", "json", "junit"]),
      from: z.coerce.number().int().min(0).default(0).describe("`next` of the piece before."),
    }),
    answer: z.object({
      file: z.string().describe("A name for it."),
      text: z.string(),
      next: z.int().nullable().describe("Null in the last piece."),
    }),
  }),
  defineCall({
    name: "checks.stop",
    summary: "Ends a check that is running. Its results stay.",
    params: byId(z.string()),
    answer: check,
  }),
] as const;
