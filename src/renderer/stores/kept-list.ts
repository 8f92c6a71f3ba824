/** Lists that stay in this browser. Its other tabs read and change the same ones. */

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
      const value: unknown = JSON.parse(window.localStorage.getItem(key) ?? "[]");
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
      try {
        window.localStorage.setItem(key, JSON.stringify(items));
        unkept = null;
      } catch {
        unkept = items;
      }
      show(items, unkept !== null);
    },
  };
}
