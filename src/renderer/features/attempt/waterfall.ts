/** The phases of an attempt as bars on an axis that goes a little beyond the deadline. Pure. */

import type { Attempt } from "./rounds.ts";

type PhaseName = "dns" | "connect" | "tls" | "sent" | "firstByte" | "done";

export type PhaseBar = {
  phase: PhaseName;
  word: string;
  /** `open` was going on when the attempt ended; `never` was not reached; `kept` was not needed on a connection that was kept. */
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
const mostTicks = 6;

export function waterfall({ phases, durationMs, outcome, webhookUrl }: Attempt, deadlineMs: number): Waterfall {
  const isSecure = webhookUrl.toLowerCase().startsWith("https:");
  const names: PhaseName[] = ["dns", "connect", ...(isSecure ? (["tls"] as const) : []), "sent", "firstByte", "done"];
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
      if (phase !== "dns") bars.push({ phase, word, state: isKept ? "kept" : "never", fromMs, toMs: fromMs });
    } else if (place === openPlace(names, lastReached, phases) && !isWhole) {
      bars.push({ phase, word, state: "open", fromMs, toMs: Math.max(durationMs, fromMs) });
    } else if (phase !== "dns") bars.push({ phase, word, state: "never", fromMs, toMs: fromMs });
  });
  const axisMs = Math.max(deadlineMs, durationMs) * beyond;
  const step = tickSteps.find((each) => deadlineMs / each <= mostTicks) ?? deadlineMs / mostTicks;
  const ticks = Array.from({ length: Math.ceil(deadlineMs / step) }, (_, place) => place * step);
  return { bars, axisMs, deadlineMs, ticks };
}

/** The phase that the attempt ended in. Nothing reached: it was looking up or connecting, and the record does not say which. */
function openPlace(names: readonly PhaseName[], lastReached: number, phases: Attempt["phases"]): number {
  if (lastReached === -1 && phases.dns === undefined) return names.indexOf("connect");
  return lastReached + 1;
}
