/**
 * The `request` step: a request to a receiver that is not Hookyard's, past the pipeline, as
 * `hookyard check` makes them.
 */

import { z } from "zod";
import { members } from "./members.ts";
import { everyStep, name, oneOf, text, whole } from "./setup-schema.ts";
import { hangUps, signatures, wantedAnswers } from "../../receiver/request-spec.ts";

const url = z.url({ protocol: /^https?$/, error: "a full http or https URL" });

/** In real time, which somebody waits. */
export const maxApartMs = 10_000;

const request = members({
  url,
  method: text.optional().describe("POST when left out."),
  headers: z.record(z.string(), text).optional(),
  body: text
    .optional()
    .describe(
      "Sent unchanged, but {{token}}, {{token2}} … are texts that are new in each run, and {{env.HOOKYARD_NAME}} is a variable of the environment. {{copy}} is the number of each of its copies, from 1.",
    ),
  signature: oneOf(signatures)
    .optional()
    .describe(
      "X-Signature, with the shared secret from the environment variable HOOKYARD_SECRET. No signature when left out.",
    ),
  otherBody: text.optional().describe("The body whose signature of-other-body takes."),
  slow: z.boolean({ error: "true or false" }).optional().describe("In small pieces."),
  hangUp: oneOf(hangUps)
    .optional()
    .describe("When the connection ends without an answer that is read."),
  waitMs: whole(0, 60_000)
    .optional()
    .describe("Before a hang-up while-working or without-reading."),
  connection: oneOf(["kept", "close"])
    .optional()
    .describe("On one connection with the requests before, or one that it asks to close."),
  copies: whole(2, 200)
    .optional()
    .describe("So many of it, on connections that are open before the first byte is sent."),
  apartMs: whole(0, maxApartMs)
    .optional()
    .describe("Between the copies: at the same time when left out."),
  tries: whole(1, 10)
    .optional()
    .describe("So many times in all while it is answered 5xx, 408 or 429, or not at all."),
  answers: oneOf(wantedAnswers)
    .optional()
    .describe(
      "What each answer has to be: 2xx, anything but 2xx, or anything but a server error or no answer within 5 s. one 2xx: at least one of the copies is answered 2xx.",
    ),
});

const command = members({
  run: name.describe(
    "For the shell; it has to end with 0 within 30 s. Only hookyard run and hookyard/testing run one.",
  ),
  listens: url
    .optional()
    .describe("Afterwards, waits until something listens there: 10 s at most."),
});
export const commandStep = members({
  command: z.union([name, command], { error: "a command, or a mapping of run and listens" }),
  ...everyStep,
}).meta({ id: "ScenarioCommand" });
export type CommandStep = z.output<typeof commandStep>;

export const requestStep = members({
  request,
  ...everyStep,
}).meta({
  id: "ScenarioRequest",
});
export type RequestStep = z.output<typeof requestStep>;
