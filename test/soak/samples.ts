/** One look at everything, every ten seconds, and the row of the table that it makes. */

import type { AnswerOf } from "../../src/contract/contract.ts";
import type { Program } from "../bench/children.ts";
import type { InspectorPage } from "../bench/inspector-page.ts";
import type { LoopDelay } from "../bench/loop-delay.ts";
import { median } from "../bench/measure.ts";
import { sum, type Check } from "./accounts.ts";
import type { Load } from "./load.ts";

export type Sample = {
  second: number;
  accepted: number;
  kept: number;
  queued: number;
  waiting: number;
  residentMb: number;
  heapMb: number;
  nodes: number;
  loopP99: number;
  loopMax: number;
  clock: string;
};

/** The states that the messages of the soak come through, collected over all samples. */
type Seen = Set<string>;

type Watched = {
  program: Program;
  inspector: InspectorPage;
  load: Load;
  startedAt: number;
  seen: Seen;
};

export async function takeSample({
  program,
  inspector,
  load,
  startedAt,
  seen,
}: Watched): Promise<Sample> {
  program.send({});
  const loop = await program.answer<LoopDelay>();
  const { heapBytes, nodes } = await inspector.memory();
  const { messages, deliveries, queueDepth } = await program.call<AnswerOf<"stats.get">>(
    "GET",
    "/api/stats",
  );
  const { mode, speed } = await program.call<AnswerOf<"clock.get">>("GET", "/api/clock");
  for (const [state, n] of Object.entries(messages.byState)) if (n > 0) seen.add(state);
  return {
    second: Math.round((performance.now() - startedAt) / 1000),
    accepted: sum(load.accepted),
    kept: messages.total,
    queued: queueDepth,
    waiting: deliveries.byState.waiting ?? 0,
    residentMb: program.residentBytes() / 1e6,
    heapMb: heapBytes / 1e6,
    nodes,
    loopP99: loop.p99,
    loopMax: loop.max,
    clock: mode === "faster" ? `×${speed}` : mode,
  };
}

const columns: readonly { head: string; width: number; of: (sample: Sample) => string }[] = [
  { head: "second", width: 6, of: ({ second }) => String(second) },
  { head: "accepted", width: 9, of: ({ accepted }) => String(accepted) },
  { head: "kept", width: 6, of: ({ kept }) => String(kept) },
  { head: "queued", width: 6, of: ({ queued }) => String(queued) },
  { head: "waiting", width: 7, of: ({ waiting }) => String(waiting) },
  { head: "memory MB", width: 9, of: ({ residentMb }) => residentMb.toFixed(0) },
  { head: "page MB", width: 7, of: ({ heapMb }) => heapMb.toFixed(1) },
  { head: "nodes", width: 6, of: ({ nodes }) => String(nodes) },
  { head: "loop p99 ms", width: 11, of: ({ loopP99 }) => loopP99.toFixed(1) },
  { head: "longest", width: 7, of: ({ loopMax }) => loopMax.toFixed(0) },
  { head: "clock", width: 6, of: ({ clock }) => clock },
];

export const tableHead = columns.map(({ head, width }) => head.padStart(width)).join("  ");
export const tableRow = (sample: Sample): string =>
  columns.map(({ of, width }) => of(sample).padStart(width)).join("  ");

/** A page that grows by what it has shown would pass this in half an hour. */
const mostHeapMb = 200;
const mostGrowthMb = 40;

export function checkMemory(samples: readonly Sample[]): Check[] {
  const quarter = (nth: number): number => {
    const from = Math.floor((samples.length * (nth - 1)) / 4);
    return median(
      samples
        .slice(from, Math.floor((samples.length * nth) / 4))
        .map(({ residentMb }) => residentMb),
    );
  };
  const [second, last] = [quarter(2), quarter(4)];
  const heap = Math.max(...samples.map(({ heapMb }) => heapMb));
  return [
    {
      what: "the program's memory is flat",
      found: `${second.toFixed(0)} MB in the second quarter, ${last.toFixed(0)} MB in the last`,
      passed: last <= second + Math.max(second * 0.2, mostGrowthMb),
    },
    {
      what: "the page's memory stays small",
      found: `at most ${heap.toFixed(1)} MB of script memory`,
      passed: heap < mostHeapMb,
    },
  ];
}
