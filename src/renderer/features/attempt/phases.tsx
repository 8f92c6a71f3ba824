/** The phases of an attempt under the deadline. Teal where the clock's time was counted and not the wall's. */

import { duration } from "../../kit/words.ts";
import type { Attempt } from "./rounds.ts";
import { waterfall, type PhaseBar } from "./waterfall.ts";

export function Phases({ attempt, deadlineMs }: { attempt: Attempt; deadlineMs: number }) {
  const { bars, axisMs, ticks } = waterfall(attempt, deadlineMs);
  const { simulated, outcome, phases } = attempt;
  const share = (ms: number): string => `${(ms / axisMs) * 100}%`;
  const isKept = bars.some(({ state }) => state === "kept");
  return (
    <section className="section attempt-phases">
      <div className="section-head">
        <h3>Phases</h3>
        {simulated ? (
          <span className="due">clock time, because the test endpoint held it</span>
        ) : (
          <span className="muted clip">real time, whatever the clock does{isKept ? ", on a connection that was kept" : ""}</span>
        )}
      </div>
      <div className={simulated ? "waterfall simulated" : "waterfall"}>
        <span />
        <span className="phase-axis" aria-hidden="true">
          {ticks.map((at) => (
            <b key={at} style={{ "--x": share(at) } as React.CSSProperties}>
              {at === 0 ? "0" : `${at / 1000} s`}
            </b>
          ))}
        </span>
        <span />
        {bars.map((bar) => (
          <Bar key={bar.phase} bar={bar} share={share} outcome={outcome} isLast={bar.phase === "done" || bar.state === "open"} />
        ))}
        <div className="phase-deadline" style={{ "--at": deadlineMs / axisMs } as React.CSSProperties}>
          <b>{deadlineMs / 1000} s deadline</b>
        </div>
      </div>
      {phases.dns === undefined && phases.connect !== undefined ? <p className="sr">DNS was not asked.</p> : null}
    </section>
  );
}

function Bar({
  bar: { phase, word, state, fromMs, toMs },
  share,
  outcome,
  isLast,
}: {
  bar: PhaseBar;
  share: (ms: number) => string;
  outcome: Attempt["outcome"];
  isLast: boolean;
}) {
  return (
    <>
      <span className={isLast && state !== "never" ? "strong" : "muted"}>{word}</span>
      <span className="bar">
        {state === "never" || state === "kept" ? null : (
          <i
            className={state === "open" ? `ph-open ${outcome}` : `ph-${phase}`}
            style={{ "--x": share(fromMs), "--w": share(toMs - fromMs) } as React.CSSProperties}
          />
        )}
      </span>
      <span className={state === "open" ? `num tone ${outcome}` : "num"}>
        {state === "done" ? phaseDuration(toMs - fromMs) : state === "open" ? "not done" : state === "kept" ? "kept" : "–"}
      </span>
    </>
  );
}

/** Phases are short: tenths of a millisecond tell them apart. */
function phaseDuration(ms: number): string {
  if (ms === 0) return "0 ms";
  return ms < 100 ? `${ms.toFixed(ms < 1 ? 2 : 1)} ms` : duration(ms);
}
