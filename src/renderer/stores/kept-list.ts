/** Lists that stay in this browser. Its other tabs read and change the same ones. */

import { readKept, writeKept } from "../kit/kept.ts";

type KeptList<Item> = {
  read(): readonly Item[];
  change(edit: (items: readonly Item[]) => readonly Item[]): void;
};

/**
 * `show` gets the list whenever it has changed, here or in another tab. `isFull`: this browser has
 * no room for it, so it lives as long as the page.
 */
export function keptList<Item>(
  key: string,
  itemOf: (value: unknown) => Item | null,
  show: (items: readonly Item[], isFull: boolean) => void,
): KeptList<Item> {
  let unkept: readonly Item[] | null = null;
  const read = (): readonly Item[] => {
    if (unkept !== null) return unkept;
    try {
      const value: unknown = JSON.parse(readKept(key) ?? "[]");
      return Array.isArray(value) ? value.flatMap((each) => itemOf(each) ?? []) : [];
    } catch {
      return [];
    }
  };
  window.addEventListener("storage", (event) => {
    if (unkept === null && (event.key === key || event.key === null)) show(read(), false);
  });
  return {
    read,
    change(edit) {
      const items = edit(read());
      unkept = writeKept(key, JSON.stringify(items)) ? null : items;
      show(items, unkept !== null);
    },
  };
}
