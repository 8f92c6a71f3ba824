/**
 * Stories: scenarios with captions, played scene by scene in a pipeline of their own beside the
 * user's. The inspector shows that pipeline while a story plays.
 */

import { z } from "zod";
import { defineCall } from "./call.ts";
import { byId, deleted, listOf } from "./shapes.ts";

const parts = z
  .array(
    z.object({
      text: z.string(),
      value: z.boolean().describe("Read from what happened, as all numbers and names are."),
    }),
  )
  .meta({ id: "Caption" });
export type CaptionAnswer = z.output<typeof parts>;

const scene = z
  .object({
    caption: parts.nullable().describe("Null until the scene was played."),
    why: parts.nullable(),
    place: z
      .object({ view: z.string(), path: z.array(z.string()) })
      .nullable()
      .describe("The view that it opens, and what is open in it."),
    highlight: z.string().nullable().describe("The text of the element to highlight."),
    state: z
      .enum(["waiting", "passed", "failed"])
      .describe("`failed`: an expectation of the scene does not hold."),
    problems: z.array(z.string()).describe("What does not hold, in sentences."),
  })
  .meta({ id: "Scene" });
export type SceneAnswer = z.output<typeof scene>;

const story = z
  .object({
    id: z
      .string()
      .describe("Calls with the header `Hookyard-Pipeline` and this id go to its pipeline."),
    file: z.string().nullable(),
    name: z.string(),
    description: z.string().nullable(),
    at: z.int().describe("The scene that is shown, from 1; 0 before the first."),
    run: z.int().describe("How often it was started: a step back starts it again."),
    scenes: z.array(scene),
  })
  .meta({ id: "Story" });
export type StoryAnswer = z.output<typeof story>;

export const storyCalls = [
  defineCall({
    name: "stories.list",
    summary: "The stories that are open.",
    answer: listOf(story),
  }),
  defineCall({
    name: "stories.open",
    summary:
      "Opens a scenario with captions as a story: its pipeline is started in memory beside the user's own, which stays as it is.",
    body: z.strictObject({
      text: z.string().max(1_000_000).optional().describe("A scenario file: YAML."),
      file: z
        .string()
        .max(1000)
        .optional()
        .describe("Without `text`, one of the scenarios that come with Hookyard."),
    }),
    answer: story,
    status: 201,
  }),
  defineCall({
    name: "stories.get",
    summary: "One story.",
    params: byId(z.string()),
    answer: story,
  }),
  defineCall({
    name: "stories.go",
    summary:
      "Plays up to a scene, and returns when it is there. To go back, the story is run again from its seed.",
    params: byId(z.string()),
    body: z.strictObject({
      to: z.int().min(0).describe("0 is the start."),
      again: z.boolean().default(false).describe("Runs it from the start in any case."),
    }),
    answer: story,
  }),
  defineCall({
    name: "stories.close",
    summary: "Ends a story and its pipeline.",
    params: byId(z.string()),
    answer: deleted(z.string()),
  }),
] as const;
