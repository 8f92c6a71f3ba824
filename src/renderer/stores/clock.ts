/** The pipeline's clock in the page: the API's last answer, advanced by the time since then. */

import { useEffect, useState } from "react";
import type { AnswerOf, InputOf } from "../../contract/contract.ts";
import { orToast } from "../kit/copy.tsx";
import { call } from "../transport/transport.ts";
import { readAgain, useFeed, useLive } from "./live-data.ts";
import { saveQueue } from "./save-queue.ts";

type ClockAnswer = AnswerOf<"clock.get">;
export type AdvanceAnswer = ClockAnswer["advance"];

type Mode = Pick<ClockAnswer, "mode"> & { speed?: number };

const modeOf = ({ mode, speed }: ClockAnswer): Mode =>
  mode === "faster" ? { mode, speed } : { mode };

/** A second press builds on the first, though the clock does not say yet what that one has set. */
const useMode = saveQueue<Mode>({ mode: "real" }, async (mode) =>
  modeOf(await call("clock.set", mode as InputOf<"clock.set">)),
);

let lastAnswer: ClockAnswer | undefined;
/** Set here or elsewhere. */
let lastRunning: Mode = { mode: "real" };
let receivedAt = 0;
/** How far the machine's time is from the page's own clock, which stands still while it sleeps. */
let apartMs = 0;

const apartNow = (): number => Date.now() - window.performance.now();
/** More than two clocks of one machine differ by otherwise. */
const sleptMs = 2000;

export function useClock(): ClockAnswer | undefined {
  const { answer } = useLive("clock.get", {});
  if (answer !== lastAnswer) {
    lastAnswer = answer;
    if (answer !== undefined) {
      useMode.getState().arrived(modeOf(answer));
      if (answer.mode !== "paused") lastRunning = modeOf(answer);
    }
    receivedAt = window.performance.now();
    apartMs = apartNow();
  }
  return answer;
}

export function nowOf(clock: ClockAnswer): number {
  const now = Date.parse(clock.now);
  if (clock.mode === "paused" || clock.advance !== null) return now;
  // Whether it still runs is not known while the connection is lost.
  const until = useFeed.getState().lostAt ?? window.performance.now();
  return now + Math.max(0, until - receivedAt) * clock.speed;
}

/**
 * The clock's time, again and again: once a second, ten times a second when it runs fast and motion
 * is welcome.
 */
export function useNow(): number | null {
  const clock = useClock();
  const [, tick] = useState(0);
  const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  const every = clock?.mode === "faster" && !still ? 100 : 1000;
  const runs = clock !== undefined && clock.mode !== "paused";
  useEffect(() => {
    if (!runs) return undefined;
    const timer = window.setInterval(() => {
      tick((n) => n + 1);
      if (Math.abs(apartNow() - apartMs) < sleptMs) return;
      apartMs = apartNow();
      readAgain("clock.get");
    }, every);
    return () => window.clearInterval(timer);
  }, [runs, every]);
  return clock === undefined ? null : nowOf(clock);
}

export function setClock(mode: ClockAnswer["mode"], speed?: number): Promise<void> {
  const next: Mode = speed === undefined ? { mode } : { mode, speed };
  if (mode !== "paused") lastRunning = next;
  return orToast(() => useMode.getState().put(() => next));
}

/** Space, as in a video player. */
export function pauseOrRun(): Promise<void> {
  const now = useMode.getState().pending?.value ?? lastAnswer;
  if (now?.mode === "paused") return setClock(lastRunning.mode, lastRunning.speed);
  return setClock("paused");
}

export const stepClock = (): Promise<void> =>
  orToast(() => call("clock.advance", { to: "next-due" }));
export const advanceClock = (byMs: number): Promise<void> =>
  orToast(() => call("clock.advance", { byMs }));

const minuteMs = 60_000;

/** Offered by the clock bar and by the palette. */
export const advanceDurations = [
  { label: "1 m", ms: minuteMs },
  { label: "10 m", ms: 10 * minuteMs },
  { label: "1 h", ms: 60 * minuteMs },
  { label: "4 h", ms: 240 * minuteMs },
  { label: "24 h", ms: 1440 * minuteMs },
] as const;
export type AdvanceDuration = (typeof advanceDurations)[number];

/** Whoever asked for it. */
export const cancelAdvance = (): Promise<void> => orToast(() => call("clock.cancelAdvance", {}));
export const advanceToIdle = (): Promise<void> =>
  orToast(() => call("clock.advance", { to: "idle" }));
