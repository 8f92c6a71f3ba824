/**
 * Which message stands at which position of the list, by the numbers in their ids. The order is
 * fixed at its top: what comes later does not move a row. Without a filter a position is
 * arithmetic, corrected by the gaps that reading has shown; with one it is known as far as the list
 * has been read.
 */

import type { AnswerOf } from "../../../contract/contract.ts";
import { messageIds, type MessageRowId } from "../../../domain/ids.ts";

/**
 * Numbers that were read, newest first, below `before` (exclusive); `more` says that older ones
 * exist.
 */
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

/**
 * All messages from `top` down. `total` says how many there are, until reading has reached the
 * oldest.
 */
export function createDenseOrder({
  top,
  total,
}: {
  top: number;
  total: number;
}): RowOrder & { totalIs(total: number): void } {
  /**
   * Numbers without a message, each from its highest to its lowest, highest first; never adjoining.
   */
  let gaps: { high: number; low: number }[] = [];
  let oldest: number | null = null;
  let expected = total;

  function addGap(high: number, low: number): void {
    if (high < low) return;
    const apart = gaps.filter((gap) => gap.low > high + 1 || gap.high < low - 1);
    const joined = gaps.filter((gap) => !apart.includes(gap));
    apart.push({
      high: Math.max(high, ...joined.map((gap) => gap.high)),
      low: Math.min(low, ...joined.map((gap) => gap.low)),
    });
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
    /**
     * Only what continues the list: rows that have come to match in between would shift those below
     * them.
     */
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

export type MessageRow = AnswerOf<"messages.list">["items"][number];

/** The cached rows, by the numbers of their ids, and which of them are out of date. */
export const numberOf = (id: string): number => messageIds.parse(id) ?? 0;
export const idOf = (number: number): string => messageIds.format(number as MessageRowId);
export const numbersOf = (items: readonly MessageRow[]): number[] =>
  items.map(({ id }) => numberOf(id));

type CachedRows = {
  get(number: number): MessageRow | undefined;
  all(): Iterable<MessageRow>;
  /** A row that is as it was stays the same object, so that nothing is drawn again for it. */
  keep(items: readonly MessageRow[]): void;
  drop(number: number): void;
  dropUnless(stays: (number: number) => boolean): void;
  size(): number;
  isChanged(number: number): boolean;
  /** A reading should have brought it and did not: it no longer matches, or is gone. */
  isLost(number: number): boolean;
  setChanged(number: number, isChanged: boolean): void;
  setLost(number: number, isLost: boolean): void;
};

export function createCachedRows(): CachedRows {
  const rows = new Map<number, MessageRow>();
  const changed = new Set<number>();
  const lost = new Set<number>();

  const mark = (set: Set<number>, number: number, isIn: boolean): void => {
    if (isIn) set.add(number);
    else set.delete(number);
  };

  return {
    get: (number) => rows.get(number),
    all: () => rows.values(),
    keep(items) {
      for (const item of items) {
        const number = numberOf(item.id);
        const known = rows.get(number);
        if (known === undefined || JSON.stringify(known) !== JSON.stringify(item))
          rows.set(number, item);
        changed.delete(number);
        lost.delete(number);
      }
    },
    drop(number) {
      rows.delete(number);
      changed.delete(number);
    },
    dropUnless(stays) {
      for (const number of rows.keys()) if (!stays(number)) this.drop(number);
    },
    size: () => rows.size,
    isChanged: (number) => changed.has(number),
    isLost: (number) => lost.has(number),
    setChanged: (number, isChanged) => mark(changed, number, isChanged),
    setLost: (number, isLost) => mark(lost, number, isLost),
  };
}
