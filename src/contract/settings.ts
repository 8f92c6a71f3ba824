import { z } from "zod";
import { defineCall } from "./call.ts";
import { answerMode } from "./shapes.ts";

const members = {
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

export const settingsCalls = [
  defineCall({
    name: "settings.get",
    method: "GET",
    path: "/api/settings",
    summary: "The settings.",
    answer: settingsAnswer,
  }),
  defineCall({
    name: "settings.update",
    method: "PATCH",
    path: "/api/settings",
    summary: "Changes the given members.",
    body: settingsChanges,
    answer: settingsAnswer,
  }),
] as const;
