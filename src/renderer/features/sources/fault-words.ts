/** A fault of the ingest side in words, and how the editor makes one. */

import type { AnswerOf } from "../../../contract/contract.ts";
import { durationText } from "../../kit/duration-text.ts";

export type Fault = AnswerOf<"sources.get">["faults"][number];

/** `503, Retry-After 2 s, for the next 3 requests` */
export function faultWords(fault: Fault): string {
  const { delayMs = 0, retryAfter, perSecond = defaultPerSecond } = fault;
  const words: string[] = [];
  if (fault.do === "answer") words.push(String(fault.status ?? 500));
  if (fault.do === "cut") words.push("cut the connection");
  if (fault.do === "lose-answer") words.push("accept, then lose the answer");
  if (fault.do === "limit")
    words.push(`429 above ${perSecond} ${perSecond === 1 ? "request" : "requests"} a second`);
  if (hasRetryAfter(fault) && retryAfter !== undefined) words.push(`Retry-After ${retryAfter}`);
  if (fault.do === "delay") words.push(`wait ${durationText(delayMs)}`);
  else if (fault.do === "delay-answer") words.push(`accept, answer after ${durationText(delayMs)}`);
  else if (delayMs > 0) words.push(`after ${durationText(delayMs)}`);
  return `${words.join(", ")}, ${whenWords(fault)}`;
}

/** As the hosted service has it. */
export const defaultPerSecond = 1000;

export function hasRetryAfter(fault: Fault): boolean {
  return fault.do === "answer" || fault.do === "limit";
}

function whenWords({ times, chance }: Fault): string {
  const requests =
    times === undefined
      ? "every request"
      : times === 1
        ? "the next request"
        : `the next ${times} requests`;
  if (chance === undefined) return requests;
  const share = `${Number((chance * 100).toPrecision(12))} % of the requests`;
  return times === undefined ? share : `${share}, ${times} in all`;
}

export const newFault: Fault = { do: "answer", status: 503, times: 3 };

/** The same fault doing something else: what the new action has no use for is left out. */
export function faultDoing(
  { status, retryAfter, delayMs, perSecond, ...when }: Fault,
  does: Fault["do"],
): Fault {
  switch (does) {
    case "answer":
      return { ...when, do: does, status: status ?? 503, ...defined({ retryAfter, delayMs }) };
    case "limit":
      return {
        ...when,
        do: does,
        perSecond: perSecond ?? defaultPerSecond,
        ...defined({ retryAfter, delayMs }),
      };
    case "cut":
    case "lose-answer":
      return { ...when, do: does, ...defined({ delayMs }) };
    case "delay":
    case "delay-answer":
      return { ...when, do: does, delayMs: delayMs ?? 1000 };
  }
}

/** With a member set, or left out when the value is null. */
export function faultWith<
  Name extends "status" | "retryAfter" | "delayMs" | "perSecond" | "times" | "chance",
>(fault: Fault, name: Name, value: number | null): Fault {
  const { [name]: _, ...others } = fault;
  return (value === null ? others : { ...others, [name]: value }) as Fault;
}

function defined<Members extends object>(members: Members): Partial<Members> {
  return Object.fromEntries(
    Object.entries(members).filter(([, value]) => value !== undefined),
  ) as Partial<Members>;
}
