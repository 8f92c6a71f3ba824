/** How a simulated client, its calls and its batches are said. */

import type { AnswerOf } from "../../../contract/contract.ts";
import { count } from "../../kit/words.ts";

export type Client = AnswerOf<"clients.list">["items"][number];
type ClientDetails = AnswerOf<"clients.get">;
export type Batch = AnswerOf<"clients.batches">["items"][number];
export type Call = ClientDetails["queue"][number];

export const reasonWords: Record<Batch["reason"], string> = {
  size: "the queue was full",
  time: "its time had come",
  flush: "flushed by hand",
  close: "flushed by the close",
};

export function callWords({ type, event, userId }: Call): string {
  return [type, event, userId === null ? null : `of ${userId}`].filter((word) => word !== null && word !== "").join(" ");
}

/** What was said at the end of the newest try, in a few words. */
export function answerWords({ status, failure }: Batch["tries"][number]): string {
  return status === null ? (failure ?? "on the wire") : failure === null ? String(status) : `${status}, ${failure}`;
}

export function callsWords(n: number): string {
  return n === 1 ? "1 call" : `${count(n)} calls`;
}
