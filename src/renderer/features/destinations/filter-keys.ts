/**
 * A key for each filter of a list, which stays with it when others are added or removed and when
 * it is renamed, and with it what is typed in its fields.
 */

export type FilterKey = { name: string; key: number };

let newest = 0;

/** The keys of a list, from those that it had before. */
export function filterKeys(before: readonly FilterKey[], names: readonly string[]): FilterKey[] {
  const keys: (number | undefined)[] = names.map(() => undefined);
  const keep = (isIt: (old: FilterKey, place: number, name: string, at: number) => boolean) => {
    for (const [at, name] of names.entries())
      keys[at] ??= before.find(
        (old, place) => !keys.includes(old.key) && isIt(old, place, name, at),
      )?.key;
  };
  // By the place first: two have the same name until the API has refused that.
  keep((old, place, name, at) => old.name === name && place === at);
  keep((old, _, name) => old.name === name);
  // Renamed.
  if (before.length === names.length) keep((_, place, __, at) => place === at);
  return names.map((name, at) => ({ name, key: keys[at] ?? (newest += 1) }));
}
