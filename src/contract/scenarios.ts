/**
 * Scenarios and their results: the same in the inspector, on the command line and as JSON. Times
 * are those of the clock of the scenario's own pipeline; nothing in a report differs from run to
 * run.
 */

import { z } from "zod";
import { defineCall } from "./call.ts";
import { deliveryDetails } from "./deliveries.ts";
import { byId, deleted, listOf, timeText } from "./shapes.ts";

const place = { line: z.int().describe("From 1."), column: z.int().describe("From 1.") };

const scenarioProblem = z.object({ ...place, message: z.string() }).meta({ id: "ScenarioProblem" });
export type ScenarioProblem = z.input<typeof scenarioProblem>;

const scenarioAttempt = z
  .object({
    elapsedMs: z
      .int()
      .describe("Clock time from the beginning of the scenario to the start of the attempt."),
    round: z.int(),
    webhook: z.string().describe("The name of the endpoint, or the URL."),
    result: z.string().describe("The status of the answer, or the outcome without one."),
    heldMs: z
      .int()
      .nullable()
      .describe("How long an endpoint held it, in clock time; null when it did not."),
    error: z.string().nullable().describe("In words."),
  })
  .meta({ id: "ScenarioAttempt" });
export type ScenarioAttempt = z.input<typeof scenarioAttempt>;

const scenarioDifference = z
  .object({
    of: z.string().describe("The object that it is about, such as a delivery."),
    expected: z.string(),
    actual: z.string(),
    attempts: z
      .array(scenarioAttempt)
      .describe("Those behind it, the last of them when there were many."),
    attemptsBefore: z.int().describe("How many more there were before those."),
  })
  .meta({ id: "ScenarioDifference" });
export type ScenarioDifference = z.input<typeof scenarioDifference>;

const scenarioExpectation = z
  .object({
    ...place,
    text: z.string(),
    passed: z.boolean(),
    expected: z.string(),
    actual: z.string(),
    differences: z.array(scenarioDifference),
    moreDifferences: z.int().describe("How many further differences there were."),
  })
  .meta({ id: "ScenarioExpectationResult" });
export type ScenarioExpectationResult = z.input<typeof scenarioExpectation>;

const scenarioStep = z
  .object({
    ...place,
    verb: z.string(),
    text: z.string().describe("What it does."),
    name: z.string().nullable().describe("What it is for, where the file says so."),
    state: z
      .enum(["waiting", "running", "passed", "failed", "skipped"])
      .describe(
        "`waiting` and `running` while the scenario runs; `skipped` when an earlier step could not run.",
      ),
    elapsedMs: z
      .int()
      .nullable()
      .describe("Clock time since the beginning of the scenario, when the step was over."),
    outcome: z.string().nullable().describe("The result, in words."),
    problem: z
      .string()
      .nullable()
      .describe("Why it could not run, or what is wrong with its result."),
    expectations: z.array(scenarioExpectation),
  })
  .meta({ id: "ScenarioStepResult" });
export type ScenarioStepResult = z.input<typeof scenarioStep>;

export const scenarioReport = z
  .object({
    file: z.string().nullable(),
    name: z.string().nullable().describe("Null when the file cannot be read."),
    description: z.string().nullable(),
    state: z.enum(["running", "passed", "failed", "unusable"]),
    seed: z.int(),
    startedAt: timeText,
    endedAt: timeText,
    steps: z.array(scenarioStep),
    stepsLeftOut: z
      .int()
      .optional()
      .describe("How many further steps an answer of the control API has no room for."),
    problems: z.array(scenarioProblem).describe("Why the file is unusable."),
  })
  .meta({ id: "ScenarioReport" });
export type ScenarioReport = z.input<typeof scenarioReport>;

const scenarioText = z.string().max(1_000_000).describe("A scenario file: YAML.");

const readyScenario = z
  .object({
    file: z.string().describe("Its name, such as `outage.yaml`."),
    name: z.string(),
    description: z.string().nullable(),
    text: z.string().describe("The text of the file."),
    scenes: z.int().describe("How many scenes it has as a story: 0 without captions."),
  })
  .meta({ id: "ReadyScenario" });
export type ReadyScenario = z.input<typeof readyScenario>;

const scenarioRun = z
  .object({
    id: z.string(),
    report: scenarioReport.describe(
      "Grows while the scenario runs: steps that are still to come are `waiting`.",
    ),
  })
  .meta({ id: "ScenarioRun" });
export type ScenarioRunAnswer = z.input<typeof scenarioRun>;

const whatIfDifference = z
  .object({
    what: z.string().describe("What is compared."),
    asItWas: z.string(),
    whatIf: z.string(),
    difference: z.string(),
    isLoss: z.boolean().describe("A receiver never has the message, or the delivery is lost."),
  })
  .meta({ id: "WhatIfDifference" });
export type WhatIfDifference = z.input<typeof whatIfDifference>;

const whatIfAnswer = z.object({
  name: z.string(),
  text: z.string().describe("The scenario with the changed answer."),
  changedLine: z
    .int()
    .nullable()
    .describe("The line of the changed answer, from 1; null when the attempt got that answer."),
  notes: z
    .array(z.string())
    .describe("What was left out or could not be recorded exactly, in sentences."),
  asItWas: deliveryDetails.describe("From the record."),
  whatIf: deliveryDetails.describe(
    "From the run, with the ids of the recorded delivery and its webhooks; its attempts have ids of their own.",
  ),
  differences: z.array(whatIfDifference),
});

export const scenarioCalls = [
  defineCall({
    name: "scenarios.list",
    summary: "The scenarios that come with Hookyard.",
    answer: listOf(readyScenario),
  }),
  defineCall({
    name: "scenarios.check",
    summary: "Checks a scenario's text, and returns each problem with its place. Runs nothing.",
    body: z.strictObject({ text: scenarioText }),
    answer: z.object({
      name: z.string().nullable().describe("Null when there are problems."),
      problems: z.array(scenarioProblem),
    }),
  }),
  defineCall({
    name: "scenarios.run",
    summary:
      "Starts a scenario in its own pipeline, in memory and with its own clock. Returns immediately; `scenarioRuns.get` returns the progress.",
    body: z.strictObject({
      text: scenarioText,
      file: z.string().max(1000).optional().describe("Its name in the report."),
      seed: z.int().optional().describe("Replaces the seed of the file."),
    }),
    answer: scenarioRun,
    status: 201,
  }),
  defineCall({
    name: "scenarios.record",
    summary:
      "Creates a scenario from messages: their sources and destinations, receivers that answer as they did, and the results as expectations.",
    body: z.strictObject({
      messageIds: z
        .array(z.string())
        .min(1)
        .max(1000)
        .describe("The `id`s of the messages, in any order."),
      name: z.string().min(1).max(200).optional(),
    }),
    answer: z.object({
      text: z.string(),
      notes: z.array(z.string()).describe("What could not be recorded exactly, in sentences."),
    }),
  }),
  defineCall({
    name: "scenarios.whatIf",
    summary:
      "Writes the delivery of an attempt as a scenario, runs it in its own pipeline with that one answer changed, and compares both. Nothing is sent to its webhooks.",
    body: z.strictObject({
      messageId: z.string().describe("The `id` of the message."),
      attemptId: z.string(),
      answer: z
        .strictObject({
          do: z.enum(["answer", "hang", "reset"]).optional().describe("`answer` when left out."),
          status: z.int().min(200).max(599).optional().describe("Of an answer: 200 when left out."),
        })
        .describe("In place of what the attempt got."),
    }),
    answer: whatIfAnswer,
  }),
  defineCall({
    name: "scenarioRuns.list",
    summary: "The newest runs since the start, newest first.",
    answer: listOf(scenarioRun),
  }),
  defineCall({
    name: "scenarioRuns.get",
    summary: "One run.",
    params: byId(z.string()),
    answer: scenarioRun,
  }),
  defineCall({
    name: "scenarioRuns.delete",
    summary: "Ends a run if it is in progress, and deletes it.",
    params: byId(z.string()),
    answer: deleted(z.string()),
  }),
] as const;
