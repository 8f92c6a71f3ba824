import { z } from "zod";
import { defineCall } from "./call.ts";

const about = z
  .object({
    version: z.string(),
    ingestUrl: z.string(),
    endpointsUrl: z.string(),
    endpointsTlsUrl: z.string(),
    dataDir: z.string().nullable().describe("Null when the data is in memory only."),
  })
  .meta({ id: "About" });
export type AboutAnswer = z.output<typeof about>;

export const aboutCalls = [
  defineCall({
    name: "about.get",
    method: "GET",
    path: "/api/about",
    summary: "The running Hookyard: its version, where it listens, where its data is.",
    answer: about,
  }),
] as const;
