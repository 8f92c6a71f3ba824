/** What happened to a received request, in a word or two. */

import type { AnswerOf } from "../../../contract/contract.ts";
import type { Outcome } from "../../../domain/states.ts";
import { printAction, type ProgramStep } from "./program-text.ts";
import { outcomeOf } from "./step-words.ts";

export type Received = AnswerOf<"endpoints.requests">["items"][number];

/** The deadline of the documented retry profile. */
const deadlineMs = 5000;

/** Its step as the program has it now, unless the program has changed since. */
function stepOf({ step, did, status }: Received, steps: readonly ProgramStep[]): ProgramStep | null {
  const now = step === null ? undefined : steps[step];
  if (now === undefined || now.do !== did) return null;
  return status === null || now.status === undefined || now.status === status ? now : null;
}

export function didWords(request: Received, steps: readonly ProgramStep[]): string {
  const { did, status } = request;
  if (did === "default") return `${status ?? 200}, no step`;
  const step = stepOf(request, steps);
  if (did === "answer") return status === null ? "not answered" : String(status);
  if (step === null) return did === "redirect" && status !== null ? `redirect ${status}` : did;
  const { body: _, ...shown } = step;
  return printAction(shown);
}

export function didOutcome(request: Received, steps: readonly ProgramStep[]): Outcome {
  const { did, status } = request;
  const step = stepOf(request, steps);
  if (step !== null && did !== "answer") return outcomeOf(step, deadlineMs);
  if (did === "hang") return "timeout";
  if (status === null) return did === "answer" || did === "drip" ? "timeout" : "connection_error";
  if (did === "truncate") return "connection_error";
  return status >= 200 && status < 300 ? (step === null ? "success" : outcomeOf({ ...step, status }, deadlineMs)) : "http_error";
}

export function signatureVerdict({ signature }: Received): { word: "verifies" | "differs" | "none"; detail: string } {
  if (signature === null) return { word: "none", detail: "The request has no X-Signature." };
  const valid = signature.verifies.filter((each) => each.valid).map(({ name }) => name);
  if (valid.length > 0) return { word: "verifies", detail: `X-Signature verifies with the shared secret of ${valid.join(", ")}.` };
  const tried = signature.verifies.map(({ name }) => name);
  return {
    word: "differs",
    detail:
      tried.length === 0
        ? "No destination has a shared secret now."
        : `X-Signature differs from what the shared secret of ${tried.join(", ")} gives.`,
  };
}
