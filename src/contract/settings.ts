import { z } from "zod";
import { contextIps, parities } from "../domain/configuration.ts";
import { destinationIds, messageIds, sourceIds, webhookIds } from "../domain/ids.ts";
import { hostedFindings, hostedPieces } from "../domain/parity.ts";
import { defineCall } from "./call.ts";
import { answerMode, idOf } from "./shapes.ts";

const members = {
  parity: z
    .enum(parities)
    .describe(
      "`hosted` sets the pieces below as at the hosted service, of all sources and destinations too; `own` sets back those that are still so. Each can be changed by itself.",
    ),
  answers: answerMode.describe(
    "A piece of parity: the `mode` of new sources, and of all sources when it is changed.",
  ),
  correctClockSkew: z
    .union([z.literal("auto"), z.boolean()])
    .describe("A piece of parity: of new sources, and of all when it is changed."),
  retryProfile: z
    .string()
    .describe("A piece of parity: of new destinations, and of all when it is changed."),
  contextIp: z
    .enum(contextIps)
    .describe(
      "A piece of parity: `direct` fills `context.ip` of a server's messages only with `context.direct: true`.",
    ),
  limitMessageIds: z
    .boolean()
    .describe("A piece of parity: rejects a `messageId` of 100 characters or more."),
  vendor: z.string().describe("The product token of `User-Agent: <vendor>/1.0`."),
  seed: z.int().describe("Feeds retry jitter, random failures and shares of faults."),
  jitter: z.boolean(),
  laneConnections: z.int().describe("Connections per webhook."),
  unknownKeys: answerMode.describe("How requests with an unknown write key are answered."),
  maxMessages: z
    .int()
    .nullable()
    .describe("Retention: the newest accepted messages that are kept; null keeps all."),
  maxAgeMs: z.int().nullable().describe("Retention: for how long, in real time; null keeps all."),
  maxBytes: z
    .int()
    .nullable()
    .describe(
      "Retention: the maximum size of the data file in bytes, in addition to the quotas of what is not accepted; null for no limit.",
    ),
  maxRejectedBytes: z
    .int()
    .describe(
      "The quota for rejected and duplicate messages, in bytes; the oldest are removed first.",
    ),
  maxUnknownKeyBytes: z
    .int()
    .describe(
      "The quota for requests with an unknown write key, in bytes; the oldest are removed first.",
    ),
  synchronous: z.enum(["NORMAL", "FULL"]),
};

const settingsAnswer = z.object(members).meta({ id: "Settings" });
export const settingsChanges = z.strictObject(members).partial().meta({ id: "SettingsChanges" });

const paritiesAnswer = z
  .object({
    parity: z.enum(parities),
    isChanged: z.boolean().describe("Parity is `hosted`, and a piece differs."),
    pieces: z.array(
      z.object({
        name: z.enum(hostedPieces),
        title: z.string(),
        value: z.union([z.string(), z.boolean(), z.number()]),
        hosted: z.union([z.string(), z.boolean(), z.number()]),
        isHosted: z.boolean(),
        others: z.array(z.string()).describe("Sources or destinations with a value of their own."),
      }),
    ),
    findings: z
      .array(
        z.object({
          code: z.enum(hostedFindings),
          sentence: z.string().describe("What works here, and what happens there."),
          destinationId: idOf(destinationIds).nullable(),
          webhookId: idOf(webhookIds).nullable(),
          sourceId: idOf(sourceIds).nullable(),
          messageId: idOf(messageIds).nullable(),
        }),
      )
      .describe("What works here and would not at the hosted service, or works differently there."),
  })
  .meta({ id: "Parity" });

export const settingsCalls = [
  defineCall({
    name: "settings.parity",
    summary: "How far the configuration is like the hosted service, and what would not work there.",
    answer: paritiesAnswer,
  }),
  defineCall({
    name: "settings.get",
    summary: "The settings.",
    answer: settingsAnswer,
  }),
  defineCall({
    name: "settings.update",
    summary: "Changes the given members.",
    body: settingsChanges,
    answer: settingsAnswer,
  }),
] as const;
