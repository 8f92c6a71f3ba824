import { z } from "zod";
import { defineCall } from "./call.ts";
import { listOf, time } from "./shapes.ts";
import { sourceAnswer } from "./sources.ts";

const byWriteKey = z.strictObject({ writeKey: z.string() });

export const unknownKeyCalls = [
  defineCall({
    name: "unknownKeys.list",
    method: "GET",
    path: "/api/unknown-keys",
    summary: "Write keys that no source has, with the requests that were kept.",
    answer: listOf(
      z.object({ writeKey: z.string(), requests: z.int(), firstAt: time, lastAt: time, lastPath: z.string() }).meta({ id: "UnknownKey" }),
    ),
  }),
  defineCall({
    name: "unknownKeys.adopt",
    method: "POST",
    path: "/api/unknown-keys/{writeKey}/adopt",
    summary: "Makes a source of the key and takes in what was kept.",
    params: byWriteKey,
    body: z.strictObject({ name: z.string() }),
    answer: sourceAnswer,
    status: 201,
  }),
  defineCall({
    name: "unknownKeys.forget",
    method: "DELETE",
    path: "/api/unknown-keys/{writeKey}",
    summary: "Forgets the key and what was kept.",
    params: byWriteKey,
    answer: z.object({ writeKey: z.string() }),
  }),
] as const;
