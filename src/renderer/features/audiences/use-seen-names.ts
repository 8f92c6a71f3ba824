/** Names that messages have brought, for suggestions. */

import type { AnswerOf } from "../../../contract/contract.ts";
import { useLive } from "../../stores/live-data.ts";

const none: AnswerOf<"profiles.seen"> = { traits: [], events: [] };

export function useSeenNames(): AnswerOf<"profiles.seen"> {
  return useLive("profiles.seen", {}).answer ?? none;
}
