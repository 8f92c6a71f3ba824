/**
 * Which message stands at which position of the list, by the numbers in their ids. The order is fixed at its top: what comes
 * later does not move a row. Without a filter a position is arithmetic, corrected by the gaps that reading has shown;
 * with one it is known as far as the list has been read.
 */

/** Numbers that were read, newest first, below `before` (exclusive); `more` says that older ones exist. */
type Stretch = { before: number; found: readonly number[]; more: boolean };

export type RowOrder = {
  /** Rows that the list has, as far as is known. */
  count(): number;
  /** Null: not read yet. */
  numberAt(position: number): number | null;
  positionOf(number: number): number | null;
  learn(stretch: Stretch): void;
  /** A single one turned out not to exist. */
  drop(number: number): void;
};

/** All messages from `top` down. `total` says how many there are, until reading has reached the oldest. */
export function createDenseOrder({ top, total }: { top: number; total: number }): RowOrder & { totalIs(total: number): void } {
  /** Numbers without a message, each from its highest to its lowest, highest first; never adjoining. */
  let gaps: { high: number; low: number }[] = [];
  let oldest: number | null = null;
  let expected = total;

  function addGap(high: number, low: number): void {
    if (high < low) return;
    const apart = gaps.filter((gap) => gap.low > high + 1 || gap.high < low - 1);
    const joined = gaps.filter((gap) => !apart.includes(gap));
    apart.push({ high: Math.max(high, ...joined.map((gap) => gap.high)), low: Math.min(low, ...joined.map((gap) => gap.low)) });
    gaps = apart.sort((a, b) => b.high - a.high);
  }

  function positionOf(number: number): number | null {
    let position = top - number;
    for (const gap of gaps) {
      if (gap.high < number) break;
      if (gap.low <= number) return null;
      position -= gap.high - gap.low + 1;
    }
    return position < 0 ? null : position;
  }

  return {
    count: () => (oldest === null ? expected : oldest > top ? 0 : (positionOf(oldest) ?? -1) + 1),
    numberAt(position) {
      let number = top - position;
      for (const gap of gaps) {
        if (gap.high < number) break;
        number -= gap.high - gap.low + 1;
      }
      return number > 0 && (oldest === null || number >= oldest) ? number : null;
    },
    positionOf,
    learn({ before, found, more }) {
      let next = Math.min(before, top + 1) - 1;
      for (const number of found) {
        addGap(next, number + 1);
        next = number - 1;
      }
      if (!more) oldest = next + 1;
    },
    drop(number) {
      addGap(number, number);
      if (number === oldest) {
        const gap = gaps.find(({ low }) => low === number);
        oldest = (gap?.high ?? number) + 1;
      }
    },
    totalIs(total) {
      expected = total;
    },
  };
}

/** Rows that the list seems to have beyond what was read, so that it can be scrolled on. */
const beyond = 20;

/** The messages that match a filter. */
export function createFoundOrder(first: Omit<Stretch, "before">): RowOrder {
  let numbers = [...first.found];
  let more = first.more;

  return {
    count: () => numbers.length + (more ? beyond : 0),
    numberAt: (position) => numbers[position] ?? null,
    positionOf(number) {
      let low = 0;
      let high = numbers.length - 1;
      while (low <= high) {
        const middle = (low + high) >> 1;
        const at = numbers[middle] ?? 0;
        if (at === number) return middle;
        if (at > number) low = middle + 1;
        else high = middle - 1;
      }
      return null;
    },
    /** Only what continues the list: rows that have come to match in between would shift those below them. */
    learn(stretch) {
      const last = numbers.at(-1);
      if (last !== undefined && stretch.before !== last) return;
      numbers.push(...stretch.found);
      more = stretch.more;
    },
    drop(number) {
      numbers = numbers.filter((each) => each !== number);
    },
  };
}
