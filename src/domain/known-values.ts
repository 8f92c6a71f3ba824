/**
 * What is known of the names in a pipeline, so that names with spaces need no quotes while a filter is
 * written: the values that `messages.values` has answered.
 */

import { type FilterKey, type GoesOn, keyOf, tokensOf } from "./message-filter.ts";

/** Null: how many there are is not known. */
export type SeenValue = { key: FilterKey; value: string; count: number | null };

export type Asked = { key?: FilterKey | undefined; text: string };

/** Keys whose values are names with spaces. */
export const spacedKeys: ReadonlySet<FilterKey> = new Set<FilterKey>([
  "event",
  "source",
  "destination",
]);

/** As many values as the API suggests at most. */
const maxAnswered = 20;

/** The answers for what was written since the field was opened. */
export class KnownValues {
  readonly #answers: ReadonlyMap<string, readonly SeenValue[]>;

  constructor(answers: ReadonlyMap<string, readonly SeenValue[]> = new Map()) {
    this.#answers = answers;
  }

  with({ key, text }: Asked, items: readonly SeenValue[]): KnownValues {
    return new KnownValues(
      new Map([...this.#answers, [`${key ?? ""} ${text.toLowerCase()}`, items]]),
    );
  }

  /** The answer, or what is known from the beginning of the text. */
  of({ key, text }: Asked): { items: readonly SeenValue[]; isAnswered: boolean } {
    const wanted = text.toLowerCase();
    for (let end = wanted.length; end >= 0; end -= 1) {
      const items = this.#answers.get(`${key ?? ""} ${wanted.slice(0, end)}`);
      if (items === undefined) continue;
      // All that begin with less, so that none is missing.
      const isWhole = key !== undefined && items.length < maxAnswered;
      return { items, isAnswered: end === wanted.length || isWhole };
    }
    return { items: [], isAnswered: false };
  }

  /** A name goes on behind a space while one that is known does, or nothing is known yet. */
  readonly goesOn: GoesOn = (chip, value) => {
    const key = keyOf(chip);
    if (!spacedKeys.has(key)) return false;
    const { items, isAnswered } = this.of({ key, text: value });
    const wanted = value.toLowerCase();
    return !isAnswered || items.some((each) => each.value.toLowerCase().startsWith(wanted));
  };

  /** The shortest name of which it is not known whether it ends before its last word. */
  undecided(draft: string): Asked | null {
    const open: Asked[] = [];
    tokensOf(draft, (chip, text) => {
      const asked = { key: keyOf(chip), text };
      if (spacedKeys.has(asked.key) && !this.of(asked).isAnswered) open.push(asked);
      return this.goesOn(chip, text);
    });
    return open[0] ?? null;
  }
}
