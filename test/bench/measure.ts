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
  mustReach?: { ratio: number } | { atMost: number } | { atLeast: number };
  /** Every single run, for the JSON. */
  runs?: unknown;
};

export type BenchOptions = { quick: boolean; say: (text: string) => void };

export type Row = { name: string; run(options: BenchOptions): Promise<Figure[]> };

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

export type Pairs = {
  value: number;
  floor: number;
  ratio: number;
  runs: { ours: number; floor: number; ratio: number }[];
};

/** Ours, floor, ours, floor …: what else the machine does then hits both. */
export async function takePairs(
  options: BenchOptions,
  ours: () => Promise<number>,
  floor: () => Promise<number>,
): Promise<Pairs> {
  const runs: Pairs["runs"] = [];
  for (let pair = 0; pair < (options.quick ? 3 : 5); pair += 1) {
    const run = { ours: await ours(), floor: await floor() };
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
  return "atMost" in mustReach ? value <= mustReach.atMost : value >= mustReach.atLeast;
}
