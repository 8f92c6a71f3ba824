/**
 * The phases of an attempt under the deadline. Teal where the clock's time was counted and not the
 * wall's.
 */

import { duration } from "../../kit/words.ts";
import type { Attempt } from "../timeline/timeline-model.ts";

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
          <span className="muted clip">
            real time, independent of the clock{isKept ? ", on a reused connection" : ""}
          </span>
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
          <Bar
            key={bar.phase}
            bar={bar}
            share={share}
            outcome={outcome}
            isLast={bar.phase === "done" || bar.state === "open"}
          />
        ))}
        <div
          className="phase-deadline"
          style={{ "--at": deadlineMs / axisMs } as React.CSSProperties}
        >
          <b>{deadlineMs / 1000} s deadline</b>
        </div>
      </div>
      {phases.dns === undefined && phases.connect !== undefined ? (
        <p className="sr">No DNS lookup.</p>
      ) : null}
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
        {state === "done"
          ? phaseDuration(toMs - fromMs)
          : state === "open"
            ? "incomplete"
            : state === "kept"
              ? "reused"
              : "–"}
      </span>
    </>
  );
}

/** Phases are short: tenths of a millisecond tell them apart. */
function phaseDuration(ms: number): string {
  if (ms === 0) return "0 ms";
  return ms < 100 ? `${ms.toFixed(ms < 1 ? 2 : 1)} ms` : duration(ms);
}

type PhaseName = "dns" | "connect" | "tls" | "sent" | "firstByte" | "done";

type PhaseBar = {
  phase: PhaseName;
  word: string;
  /**
   * `open` was going on when the attempt ended; `never` was not reached; `kept` was not needed on a
   * connection that was kept.
   */
  state: "done" | "open" | "never" | "kept";
  fromMs: number;
  toMs: number;
};

type Waterfall = { bars: PhaseBar[]; axisMs: number; deadlineMs: number; ticks: number[] };

const words: Record<PhaseName, string> = {
  dns: "DNS",
  connect: "connect",
  tls: "TLS",
  sent: "sent",
  firstByte: "first byte",
  done: "done",
};

/** The axis shows this much of the time after the deadline. */
const beyond = 1.2;
const tickSteps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600].map((seconds) => seconds * 1000);
const maxTicks = 6;

/** The phases of an attempt as bars on an axis that goes a little beyond the deadline. Pure. */
export function waterfall(
  { phases, durationMs, outcome, webhookUrl }: Attempt,
  deadlineMs: number,
): Waterfall {
  const isSecure = webhookUrl.toLowerCase().startsWith("https:");
  const names: PhaseName[] = [
    "dns",
    "connect",
    ...(isSecure ? (["tls"] as const) : []),
    "sent",
    "firstByte",
    "done",
  ];
  const lastReached = names.findLastIndex((name) => phases[name] !== undefined);
  const isKept = phases.connect === undefined && lastReached > names.indexOf("connect");
  const isWhole = phases.done !== undefined && (outcome === "success" || outcome === "http_error");

  const bars: PhaseBar[] = [];
  let fromMs = 0;
  names.forEach((phase, place) => {
    const word = words[phase];
    const toMs = phases[phase];
    if (toMs !== undefined) {
      bars.push({ phase, word, state: "done", fromMs, toMs });
      fromMs = toMs;
    } else if (place <= lastReached) {
      // DNS is not asked for addresses and for names below localhost.
      if (phase !== "dns")
        bars.push({ phase, word, state: isKept ? "kept" : "never", fromMs, toMs: fromMs });
    } else if (place === openPlace(names, lastReached, phases) && !isWhole) {
      bars.push({ phase, word, state: "open", fromMs, toMs: Math.max(durationMs, fromMs) });
    } else if (phase !== "dns") bars.push({ phase, word, state: "never", fromMs, toMs: fromMs });
  });
  const axisMs = Math.max(deadlineMs, durationMs) * beyond;
  const step = tickSteps.find((each) => deadlineMs / each <= maxTicks) ?? deadlineMs / maxTicks;
  const ticks = Array.from({ length: Math.ceil(deadlineMs / step) }, (_, place) => place * step);
  return { bars, axisMs, deadlineMs, ticks };
}

/**
 * The phase that the attempt ended in. Nothing reached: it was looking up or connecting, and the
 * record does not say which.
 */
function openPlace(
  names: readonly PhaseName[],
  lastReached: number,
  phases: Attempt["phases"],
): number {
  if (lastReached === -1 && phases.dns === undefined) return names.indexOf("connect");
  return lastReached + 1;
}
