/** The texts of a simulated client, its calls and its batches. */

import type { AnswerOf } from "../../../contract/contract.ts";
import { count } from "../../kit/words.ts";

export type Client = AnswerOf<"clients.list">["items"][number];
type ClientDetails = AnswerOf<"clients.get">;
export type Batch = AnswerOf<"clients.batches">["items"][number];
export type Call = ClientDetails["queue"][number];

export const reasonWords: Record<Batch["reason"], string> = {
  size: "queue full",
  time: "interval elapsed",
  flush: "flushed manually",
  close: "flushed on close",
};

export function callWords({ type, event, userId }: Call): string {
  return [type, event, userId === null ? null : `of ${userId}`]
    .filter((word) => word !== null && word !== "")
    .join(" ");
}

/** The result of the newest try, in a few words. */
export function answerWords({ status, failure }: Batch["tries"][number]): string {
  return status === null
    ? (failure ?? "in flight")
    : failure === null
      ? String(status)
      : `${status}, ${failure}`;
}

export function callsWords(n: number): string {
  return n === 1 ? "1 call" : `${count(n)} calls`;
}
