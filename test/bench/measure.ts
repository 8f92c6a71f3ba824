/** What a row answers, and how its numbers are made of several runs. */

export type Figure = {
  figure: string;
  unit: string;
  value: number;
  /**
   * The same work done by the least code, and `value / floor`, the medians of pairs taken in turn.
   */
  floor?: number;
  ratio?: number;
  /** None: the figure is there to be looked at. */
  mustReach?:
    | { ratio: number }
    | { ratioAtMost: number }
    | { atMost: number }
    | { atLeast: number };
  /** Every single run, for the JSON. */
  runs?: unknown;
};

/** Not counted before a rate is taken: until then neither side is compiled. */
export const warmUp = ({ quick }: BenchOptions): number => (quick ? 5000 : 20_000);

export type BenchOptions = { quick: boolean; say: (text: string) => void };

/** `large`: it takes minutes and gigabytes, and runs when it is asked for. */
export type Row = { name: string; large?: true; run(options: BenchOptions): Promise<Figure[]> };

export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  return (
    ((sorted[Math.ceil(middle) - 1] ?? Number.NaN) + (sorted[Math.floor(middle)] ?? Number.NaN)) / 2
  );
}

type Pairs = {
  value: number;
  floor: number;
  ratio: number;
  runs: { ours: number; floor: number; ratio: number }[];
};

/**
 * Both in turn, and each first in turn: what else the machine does then hits both. Three pairs for
 * most rows, so that all of them take less than half an hour.
 */
export async function takePairs(
  options: BenchOptions,
  ours: () => Promise<number>,
  floor: () => Promise<number>,
  count = 3,
): Promise<Pairs> {
  const runs: Pairs["runs"] = [];
  for (let pair = 0; pair < (options.quick ? 3 : count); pair += 1) {
    const first = pair % 2 === 0 ? await ours() : await floor();
    const second = pair % 2 === 0 ? await floor() : await ours();
    const run = pair % 2 === 0 ? { ours: first, floor: second } : { ours: second, floor: first };
    runs.push({ ...run, ratio: run.ours / run.floor });
    options.say(`${Math.round(run.ours)} : ${Math.round(run.floor)}`);
  }
  return {
    value: median(runs.map((run) => run.ours)),
    floor: median(runs.map((run) => run.floor)),
    ratio: median(runs.map((run) => run.ratio)),
    runs,
  };
}

export function reaches({ value, ratio, mustReach }: Figure): boolean | null {
  if (mustReach === undefined) return null;
  if ("ratio" in mustReach) return (ratio ?? 0) >= mustReach.ratio;
  if ("ratioAtMost" in mustReach) return (ratio ?? Infinity) <= mustReach.ratioAtMost;
  return "atMost" in mustReach ? value <= mustReach.atMost : value >= mustReach.atLeast;
}
