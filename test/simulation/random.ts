/** Draws of one run: the same seed gives the same ones. */

import { drawUnit } from "../../src/domain/random.ts";

export class Random {
  readonly #seed: number;
  readonly #lane: number;
  #drawn = 0;

  /** Lanes have nothing in common, so that more draws in one change nothing in another. */
  constructor(seed: number, lane: number) {
    this.#seed = seed;
    this.#lane = lane;
  }

  unit(): number {
    return drawUnit(this.#seed, this.#lane, this.#drawn++);
  }

  below(limit: number): number {
    return Math.floor(this.unit() * limit);
  }

  between(from: number, to: number): number {
    return from + this.below(to - from + 1);
  }

  chance(share: number): boolean {
    return this.unit() < share;
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)] as Item;
  }

  some<Item>(items: readonly Item[], least = 0): Item[] {
    const kept = items.filter(() => this.chance(0.5));
    return kept.length >= least ? kept : items.slice(0, least);
  }

  /** By weight. */
  weighted<Name extends string>(weights: Readonly<Record<Name, number>>): Name {
    const entries = Object.entries(weights) as [Name, number][];
    let left = this.unit() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [name, weight] of entries) if ((left -= weight) < 0) return name;
    return (entries[0] as [Name, number])[0];
  }
}
