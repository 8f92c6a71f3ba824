/**
 * What a `forward` step changes on the way, as the words of a program's line, and back. The line
 * has no room for its URL.
 */

import type { AnswerOf } from "../../../contract/contract.ts";
import { holdOrders, losses, lossLooks, tamperings } from "../../../domain/configuration.ts";
import { durationText, parseDuration } from "../../kit/duration-text.ts";

type ProgramStep = AnswerOf<"endpoints.get">["steps"][number];

/** `lose answer as timeout copies 2 together` */
export function forwardWords(step: ProgramStep): string {
  const {
    lose,
    loseAs,
    copies = 1,
    together,
    tamper,
    hold,
    order,
    forMs,
    delayAfterMs = 0,
    status,
  } = step;
  return [
    ...(hold === undefined ? [] : [`hold ${hold}`]),
    ...(order === undefined ? [] : [order]),
    ...(forMs === undefined ? [] : [`within ${durationText(forMs)}`]),
    ...(tamper === undefined ? [] : [`tamper ${tamper}`]),
    ...(copies === 1 ? [] : [`copies ${copies}`]),
    ...(together === undefined ? [] : [together ? "together" : "apart"]),
    ...(lose === undefined ? [] : [`lose ${lose}`]),
    ...(loseAs === undefined ? [] : [`as ${loseAs}`]),
    ...(delayAfterMs === 0 ? [] : [`later ${durationText(delayAfterMs)}`]),
    ...(status === undefined ? [] : [`status ${status}`]),
  ].join(" ");
}

const wanted =
  "After forward come lose answer, lose request, as timeout, copies 2, together, tamper body, hold 3, seeded, later 2 s, status 503.";

/**
 * Takes what follows a word of these off the list. Undefined when it is none of these words; else
 * what is wrong, or null.
 */
export function takeForwardWord(
  step: ProgramStep,
  word: string,
  rest: string[],
): string | null | undefined {
  const oneOf = <Value extends string>(values: readonly Value[]): Value | null =>
    values.find((value) => value === rest[0]) ?? null;
  const number = (): number | null => (/^\d{1,3}$/.test(rest[0] ?? "") ? Number(rest[0]) : null);
  const take = <Name extends keyof ProgramStep>(
    name: Name,
    value: ProgramStep[Name] | null,
  ): string | null => {
    if (value === null) return `“${word} ${rest[0] ?? ""}” is not understood. ${wanted}`;
    rest.shift();
    step[name] = value;
    return null;
  };
  switch (word) {
    case "lose":
      return take("lose", oneOf(losses));
    case "as":
      return take("loseAs", oneOf(lossLooks));
    case "tamper":
      return take("tamper", oneOf(tamperings));
    case "copies":
      return take("copies", number());
    case "hold":
      return take("hold", number());
    case "status":
      return take("status", number());
    case "later":
    case "within": {
      const text = /^(ms|s|m|min|h)$/i.test(rest[1] ?? "")
        ? rest.splice(0, 2).join(" ")
        : (rest.shift() ?? "");
      rest.unshift(text);
      return take(word === "later" ? "delayAfterMs" : "forMs", parseDuration(text));
    }
    case "together":
    case "apart":
      step.together = word === "together";
      return null;
  }
  const order = holdOrders.find((each) => each === word);
  if (order === undefined) return undefined;
  step.order = order;
  return null;
}
