/** What the answers to a request have to be. Asked by searches and by the `request` step. */

import { isAccepted, isCrash, saidYes, type Sent } from "./request.ts";
import type { WantedAnswers } from "./request-spec.ts";

/** The first that is not as wanted. */
export function wrongAnswer(sent: readonly Sent[], wanted: WantedAnswers): Sent | undefined {
  switch (wanted) {
    case "2xx":
      return sent.find((one) => !isAccepted(one));
    case "one 2xx":
      return sent.some(isAccepted) ? undefined : sent[0];
    case "refused":
      return sent.find(saidYes);
    case "no crash":
      return sent.find(isCrash);
  }
}
