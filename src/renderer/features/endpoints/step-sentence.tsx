/** What a step comes to, in one line below it. */

import { durationText } from "../../kit/duration-text.ts";
import { Icon } from "../../kit/icon.tsx";
import { duration } from "../../kit/words.ts";
import { useClock } from "../../stores/clock.ts";
import { printMatch, type ProgramStep } from "./program-text.ts";
import { extrasWords, outcomeOf, usualDripMs } from "./step-words.ts";

/** The deadline of the documented retry profile; others are named by it too, because receivers know this one. */
const deadlineMs = 5000;

/** So much of a body is enough to know it again. */
const bodyShown = 60;

export function StepSentence({ step }: { step: ProgramStep }) {
  const match = printMatch(step.match);
  return (
    <span className="sentence">
      {match === "" ? null : (
        <>
          for <span className="chip isolate">{match}</span> only; others skip this step.
        </>
      )}
      {step.chance === undefined ? null : (
        <span>
          <b>{Number((step.chance * 100).toPrecision(6))} %</b> of the requests; the others go on to the next step.
        </span>
      )}
      <Effect step={step} />
      <Icon name="down" small />
    </span>
  );
}

function Effect({ step }: { step: ProgramStep }) {
  const clock = useClock();
  const outcome = outcomeOf(step, deadlineMs);
  const lastsMs =
    (step.delayMs ?? 0) + (step.do === "hang" || step.do === "drip" ? (step.forMs ?? (step.do === "drip" ? usualDripMs : 0)) : 0);
  if (outcome === "timeout") {
    const isFast = clock?.mode === "faster" && lastsMs > 0;
    return (
      <span className="clip">
        Past the 5 s deadline: a <b className="tone timeout">timeout</b>.{" "}
        {isFast ? (
          <>
            At <span className="due">×{clock.speed}</span> it takes {duration(lastsMs / clock.speed)} of real time.
          </>
        ) : step.do === "hang" && step.forMs === undefined ? (
          "Nothing comes until the other side gives up."
        ) : null}
      </span>
    );
  }
  if (outcome === "connection_error") {
    const how = {
      reset: "A TCP reset",
      close: "Closed in order",
      garbage: "Not HTTP",
      truncate: "Half of the body, then the end",
      hang: `Closed after ${durationText(lastsMs)}`,
    };
    return (
      <span className="clip">
        {how[step.do as keyof typeof how]}: a <b className="tone connection_error">connection_error</b>.
      </span>
    );
  }
  const { words, body } = extrasWords(step, durationText);
  const isLimited = step.match !== undefined || step.chance !== undefined;
  if (isLimited && words === "no delay, no headers, no body") return null;
  return (
    <span className="clip">
      {step.do === "redirect" ? "Redirects are not followed; " : null}
      {step.do === "drip" ? `Byte by byte over ${durationText(step.forMs ?? usualDripMs)}; ` : null}
      {words}
      {body === null ? null : (
        <>
          {" "}
          <code className="isolate">{body.slice(0, bodyShown)}</code>
        </>
      )}
    </span>
  );
}
