/**
 * Two lanes, Hookyard and the receiver, and the requests of one message between them: what arrived,
 * what was lost, what took effect.
 */

import { outcomeShapes } from "../../kit/glyph.tsx";
import type { Sequence, SequenceStep } from "./check-words.ts";

const width = 740;
const [upper, lower] = [22, 84];
const firstX = 104;
/** Of a request that goes down, of the work, and of its answer that goes up. */
const [down, work, up] = [36, 54, 36] as const;

export function SequencePicture({
  sequence: { steps, isTogether, effects, wanted },
}: {
  sequence: Sequence;
}) {
  const apart = isTogether ? 200 : (width - firstX) / steps.length;
  const times = effects === 1 ? "once" : effects === 2 ? "twice" : `${effects} times`;
  const sentence = `${steps.map((step) => `Request ${step.number}: ${step.answer}.`).join(" ")} The message took effect ${times}.`;
  return (
    <svg className="sequence" viewBox={`0 0 ${width} 104`} role="img" aria-label={sentence}>
      <path className="lane" d={`M86 ${upper}H${width}M86 ${lower}H${width}`} />
      <text x="0" y={upper + 4}>
        Hookyard
      </text>
      <text x="0" y={lower + 4}>
        receiver
      </text>
      {steps.map((step, nth) => (
        <Exchange
          key={step.number}
          step={step}
          nth={nth}
          x={firstX + nth * apart}
          isTogether={isTogether}
        />
      ))}
      <text
        x={firstX + (steps.length - 1) * apart + down + work + 8}
        y="101"
        className={effects === wanted ? "q" : "bad"}
      >
        effects: {effects}
      </text>
    </svg>
  );
}

type ExchangeProps = { step: SequenceStep; nth: number; x: number; isTogether: boolean };

function Exchange({
  step: { number, isLost, answer, outcome },
  nth,
  x,
  isTogether,
}: ExchangeProps) {
  const answered = x + down + work;
  const [endX, endY] = isLost ? [answered + up / 2, (upper + lower) / 2] : [answered + up, upper];
  return (
    <g>
      <text x={x} y="14" className="q">
        request {number}
        {nth === 0 ? "" : isTogether ? ", at the same time" : ", the same message"}
      </text>
      <path className="go" d={`M${x} ${upper}L${x + down} ${lower}`} />
      <rect x={x + down} y={lower - 8} width={work} height="16" rx="2" />
      <text x={x + down + work / 2} y={lower + 4} textAnchor="middle" className="w">
        works
      </text>
      <path className={isLost ? "lost" : "go"} d={`M${answered} ${lower}L${endX} ${endY}`} />
      <circle cx={x} cy={upper} r="4" />
      <g className={`${outcome} tone`} transform={`translate(${endX - 5} ${endY - 5})`}>
        {outcomeShapes[outcome]}
      </g>
      <text x={endX + 10} y={isLost ? endY + 4 : endY + 20} className={isLost ? "gone" : "q"}>
        {answer.length > 22 ? "no answer" : answer}
      </text>
    </g>
  );
}
