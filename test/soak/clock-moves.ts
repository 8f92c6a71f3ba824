/** Moves the clock in every way there is, over and over, one move after the other. */

import type { Program } from "../bench/children.ts";

type Move = {
  name: string;
  path: "/api/clock" | "/api/clock/advance";
  body: object;
  thenWaitMs: number;
};

const set = (body: { mode: string; speed?: number }, thenWaitMs: number): Move => ({
  name: body.speed === undefined ? body.mode : `×${body.speed}`,
  path: "/api/clock",
  body,
  thenWaitMs,
});
const advance = (name: string, body: object): Move => ({
  name,
  path: "/api/clock/advance",
  body,
  thenWaitMs: 300,
});
const step = advance("step", { to: "next-due" });

/** Pauses are short: attempts that a test endpoint holds stay on their connections meanwhile. */
const moves: readonly Move[] = [
  set({ mode: "real" }, 8000),
  step,
  step,
  step,
  advance("+1 s", { byMs: 1000 }),
  set({ mode: "faster", speed: 10 }, 6000),
  set({ mode: "paused" }, 2000),
  step,
  step,
  advance("+10 s", { byMs: 10_000 }),
  set({ mode: "faster", speed: 60 }, 6000),
  advance("+1 min", { byMs: 60_000 }),
  set({ mode: "faster", speed: 600 }, 10_000),
];

type ClockMoves = {
  made: Record<string, number>;
  /** The longest that a move took until its answer. */
  longestMs(): number;
  problems: string[];
  stop(): Promise<void>;
};

export function startClockMoves(program: Program): ClockMoves {
  const made: Record<string, number> = {};
  const problems: string[] = [];
  let longest = 0;
  let isStopped = false;
  let wake = (): void => undefined;

  const wait = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });

  async function run(): Promise<void> {
    for (let at = 0; !isStopped; at += 1) {
      const move = moves[at % moves.length];
      if (move === undefined) return;
      const startedAt = performance.now();
      try {
        await program.call("POST", move.path, move.body);
      } catch (error) {
        problems.push(`${move.name}: ${String(error)}`);
      }
      longest = Math.max(longest, performance.now() - startedAt);
      made[move.name] = (made[move.name] ?? 0) + 1;
      if (!isStopped) await wait(move.thenWaitMs);
    }
  }
  const running = run();

  return {
    made,
    longestMs: () => longest,
    problems,
    async stop() {
      isStopped = true;
      wake();
      await running;
    },
  };
}
