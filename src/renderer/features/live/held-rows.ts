/** The rows that were read and are still held, by the numbers of their ids, and what is known to be wrong with them. */

import type { AnswerOf } from "../../../contract/contract.ts";
import { messageIds, type MessageRowId } from "../../../domain/ids.ts";

export type MessageRow = AnswerOf<"messages.list">["items"][number];

export const numberOf = (id: string): number => messageIds.parse(id) ?? 0;
export const idOf = (number: number): string => messageIds.format(number as MessageRowId);
export const numbersOf = (items: readonly MessageRow[]): number[] => items.map(({ id }) => numberOf(id));

type HeldRows = {
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

export function createHeldRows(): HeldRows {
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
        if (known === undefined || JSON.stringify(known) !== JSON.stringify(item)) rows.set(number, item);
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
