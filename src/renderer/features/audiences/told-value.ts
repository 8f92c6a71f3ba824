/** The value of a trait in a recorded identify, as JSON; null when there is none. */

import type { AnswerOf } from "../../../contract/contract.ts";

export function toldValue(raw: AnswerOf<"messages.get">["raw"], key: string): string | null {
  if (typeof raw !== "string") return null;
  try {
    const { traits } = JSON.parse(raw) as { traits?: Record<string, unknown> };
    return traits === undefined || !Object.hasOwn(traits, key) ? null : JSON.stringify(traits[key]);
  } catch {
    return null;
  }
}
