/**
 * What each command prints with `--json`. `resources/command-line.schema.json` is made from it; a
 * test runs the commands against that file.
 */

import { z } from "zod";
import { calls } from "../../src/contract/contract.ts";
import { messageSummary } from "../../src/contract/messages.ts";
import { scenarioReport } from "../../src/contract/scenarios.ts";

const count = z.int();
const texts = z.array(z.string());

export const verbAnswers = {
  serve: z
    .object({
      event: z.literal("ready"),
      ingestUrl: z.string(),
      ingestTlsUrl: z.string().optional(),
      uiUrl: z.string(),
      token: z.string(),
      endpointsUrl: z.string(),
      endpointsTlsUrl: z.string(),
      dataDir: z.string().nullable(),
    })
    .describe("The first line."),
  apply: z.object({
    file: z.string(),
    created: count,
    updated: count,
    kept: texts,
    missing: texts,
  }),
  send: z.object({
    sourceId: z.string(),
    messages: z.array(
      z.object({
        messageId: z.string(),
        id: z.string().nullable(),
        state: z.string().nullable(),
        reason: z.string().nullable(),
      }),
    ),
  }),
  tail: messageSummary.describe("Each line."),
  wait: z.object({ met: z.boolean(), total: count, items: z.array(messageSummary) }),
  messages: calls["messages.list"].answer,
  show: calls["messages.get"].answer,
  clock: z.union([calls["clock.get"].answer, calls["clock.advance"].answer]),
  retry: z.object({ count }),
  reset: calls["pipeline.reset"].answer,
  open: z.object({ url: z.string() }),
  run: z.object({ scenarios: z.array(scenarioReport) }),
  check: z.object({
    url: z.string(),
    startedAt: z.string(),
    durationMs: z.number(),
    seed: count,
    verdict: z.enum(["pass", "fail"]),
    score: z.number(),
    checks: z.array(z.looseObject({ id: z.string(), verdict: z.string() })),
  }),
  explore: z.object({
    name: z.string(),
    seed: count,
    schedules: count,
    stopped: z.boolean(),
    notes: texts,
    unsteady: z.array(z.object({ number: count, text: z.string() })),
    gone: z.string().nullable(),
    coverage: z.looseObject({}),
    finding: z
      .object({
        number: count,
        violations: texts,
        states: z.array(z.object({ expected: z.string(), actual: z.string() })),
        schedule: texts,
        scenario: z.string().nullable(),
      })
      .nullable(),
  }),
  share: z.object({ file: z.string(), bytes: count, messages: count }),
  doctor: z.object({
    dataDir: z.string(),
    inUse: z.boolean(),
    sizes: z.object({
      data: count.nullable(),
      log: count.nullable(),
      free: count.nullable(),
    }),
    format: count.nullable(),
    newestFormat: count,
    rows: z.record(z.string(), count),
    checked: texts,
    findings: z.array(z.object({ level: z.string(), message: z.string(), cure: z.string() })),
  }),
  backup: z.object({ file: z.string(), bytes: count, messages: count }),
};

/** One document; the answer of a command is below `properties`. Unknown members are refused. */
export function verbSchema(): object {
  return z.toJSONSchema(z.object(verbAnswers), {
    io: "input",
    target: "draft-7",
    override({ jsonSchema }) {
      if (jsonSchema.type === "object" && jsonSchema.properties !== undefined)
        jsonSchema.additionalProperties ??= false;
    },
  });
}
