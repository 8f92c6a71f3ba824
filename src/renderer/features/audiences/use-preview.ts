/** Who a rule that is not saved holds for. The last answer stays until the next one is there. */

import { useRef } from "react";
import type { AnswerOf, InputOf } from "../../../contract/contract.ts";
import { useLive } from "../../stores/live-data.ts";
import { useRested } from "./use-rested.ts";

export type Preview = { answer: AnswerOf<"audiences.preview"> | undefined; error: Error | null; isOld: boolean };

export function usePreview(asked: InputOf<"audiences.preview"> | null): Preview {
  const { value: rested, isOld } = useRested(asked);
  const { answer, error } = useLive("audiences.preview", rested);
  const last = useRef<AnswerOf<"audiences.preview">>(undefined);
  if (answer !== undefined) last.current = answer;
  if (asked === null) return { answer: undefined, error: null, isOld: false };
  return { answer: answer ?? last.current, error, isOld: isOld || answer === undefined };
}
