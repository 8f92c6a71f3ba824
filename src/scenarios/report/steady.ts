/** Takes out of a text what differs from run to run: the ports of this pipeline, and ids that it drew itself. */

import type { AnswerOf } from "../../contract/contract.ts";
import type { History } from "../run/history.ts";

export type Steady = (text: string) => string;

export function createSteady(
  about: AnswerOf<"about.get">,
  history: Pick<History, "messages">,
  isKnownId: (messageId: string) => boolean,
): Steady {
  const ports = [about.ingestUrl, about.endpointsUrl, about.endpointsTlsUrl].map((url) => new URL(url).port);
  const portPattern = new RegExp(`:(?:${ports.join("|")})(?!\\d)`, "g");
  const drawn = history.messages.filter(({ details: { messageId } }) => messageId !== "" && !isKnownId(messageId));
  return (text) => {
    let steady = text.replace(portPattern, "");
    for (const { ordinal, details } of drawn) steady = steady.replaceAll(details.messageId, `#${ordinal}`);
    return steady;
  };
}
