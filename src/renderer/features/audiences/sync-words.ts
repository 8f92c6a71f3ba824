import type { Sync } from "../../../domain/rules.ts";
import { span } from "../../kit/words.ts";

/** When changes are sent, in the few words of a list. */
export function syncWords(sync: Sync): string {
  if (typeof sync !== "string") return `every ${span(sync.everyMs)}`;
  return sync === "manual" ? "by hand" : "after each event";
}
