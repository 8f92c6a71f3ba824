/**
 * Each state and each outcome has a shape and a colour of its own, always together, and its word
 * wherever there is room.
 */

import type { ReactNode } from "react";
import type { MessageState, Outcome } from "../../domain/states.ts";

const line = {
  stroke: "currentColor",
  fill: "none",
  strokeWidth: 1.5,
  strokeLinecap: "round",
  strokeLinejoin: "round",
} as const;
const cut = { ...line, stroke: "var(--bg)", strokeWidth: 1.6 } as const;

export type StateName = MessageState | "received";

const disc = (
  <>
    <circle cx="6" cy="6" r="5.5" fill="currentColor" />
    <path d="M3.5 6.2l1.8 1.8 3.2-3.8" {...cut} />
  </>
);
const square = (
  <>
    <rect x=".75" y=".75" width="10.5" height="10.5" rx="1.5" fill="currentColor" />
    <path d="M4 4l4 4M8 4L4 8" {...cut} />
  </>
);

/** The verdict of a check. */
type VerdictName = "pass" | "fail" | "warn" | "skipped";

const states: Record<StateName | VerdictName | "checked" | "routed" | "not-routed", ReactNode> = {
  received: (
    <>
      <circle cx="6" cy="6" r="4.5" {...line} />
      <circle cx="6" cy="6" r="1.75" fill="currentColor" />
    </>
  ),
  rejected: (
    <>
      <path d="M3.7.75h4.6L11.25 3.7v4.6L8.3 11.25H3.7L.75 8.3V3.7z" fill="currentColor" />
      <path d="M3.6 6h4.8" {...cut} />
    </>
  ),
  filtered: <path d="M1.2 2.2h9.6L6 10.2z" {...line} />,
  duplicate: (
    <>
      <rect x="1" y="1" width="7" height="7" rx="1.2" {...line} />
      <path d="M10.8 4v5.6a1.2 1.2 0 0 1-1.2 1.2H4" {...line} />
    </>
  ),
  queued: (
    <circle
      cx="6"
      cy="6"
      r="4.6"
      stroke="currentColor"
      fill="none"
      strokeWidth="1.6"
      strokeDasharray="2.1 1.51"
    />
  ),
  sending: <path d="M2.5.9l8.6 5.1-8.6 5.1z" fill="currentColor" />,
  waiting: (
    <>
      <circle cx="6" cy="6" r="4.75" {...line} />
      <path d="M6 3.4V6l1.9 1.4" {...line} />
    </>
  ),
  delivered: disc,
  failed: square,
  pass: disc,
  fail: square,
  warn: (
    <>
      <path d="M6 .6L11.7 11H.3z" fill="currentColor" />
      <path d="M6 4.4v3M6 9.3v.01" {...cut} />
    </>
  ),
  skipped: (
    <>
      <circle
        cx="6"
        cy="6"
        r="4.6"
        stroke="currentColor"
        fill="none"
        strokeWidth="1.5"
        strokeDasharray="2.1 1.51"
      />
      <path d="M4 6h4" {...line} />
    </>
  ),
  expired: <path d="M2 .75h8v1.9L7.2 6 10 9.35v1.9H2v-1.9L4.8 6 2 2.65z" fill="currentColor" />,
  cancelled: (
    <>
      <circle cx="6" cy="6" r="4.75" {...line} />
      <path d="M2.8 9.2l6.4-6.4" {...line} />
    </>
  ),
  checked: <path d="M2.2 6.4l2.7 2.7 5-5.6" {...line} />,
  routed: <path d="M1 6h9M7 3l3 3-3 3" {...line} />,
  "not-routed": <path d="M1 6h6M9.5 2.5v7" {...line} />,
};

export type OutcomeName = Outcome | "under_way" | "coming";

/** On a 10 px grid, for SVG of our own as well. */
export const outcomeShapes: Record<OutcomeName, ReactNode> = {
  success: <circle cx="5" cy="5" r="4.25" fill="currentColor" />,
  http_error: <rect x="1" y="1" width="8" height="8" fill="currentColor" />,
  timeout: <path d="M0 .6h10v3H6.3V9.4H3.7V3.6H0z" fill="currentColor" />,
  connection_error: (
    <path
      d="M1.6 1.6l6.8 6.8M8.4 1.6L1.6 8.4"
      stroke="currentColor"
      strokeWidth="2.2"
      fill="none"
    />
  ),
  tls_error: <path d="M5 0l5 5-5 5-5-5z" fill="currentColor" />,
  under_way: (
    <>
      <circle cx="5" cy="5" r="3.9" fill="none" stroke="currentColor" strokeWidth="1.3" />
      <path d="M5 .9a4.1 4.1 0 0 1 0 8.2z" fill="currentColor" />
    </>
  ),
  coming: <circle cx="5" cy="5" r="3.4" fill="var(--bg)" stroke="currentColor" strokeWidth="1.4" />,
};

export function StateGlyph({ state, big = false }: { state: keyof typeof states; big?: boolean }) {
  return (
    <svg className={`glyph ${state}${big ? " big" : ""}`} viewBox="0 0 12 12" aria-hidden="true">
      {states[state]}
    </svg>
  );
}

export function OutcomeGlyph({ outcome, big = false }: { outcome: OutcomeName; big?: boolean }) {
  return (
    <svg className={`glyph ${outcome}${big ? " big" : ""}`} viewBox="0 0 10 10" aria-hidden="true">
      {outcomeShapes[outcome]}
    </svg>
  );
}

/** The shape and its word. */
export function State({ state }: { state: StateName }) {
  return (
    <span className={`state ${state}`}>
      <StateGlyph state={state} />
      {state}
    </span>
  );
}
