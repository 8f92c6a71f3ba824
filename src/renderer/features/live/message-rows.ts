/**
 * The rows of the list under one filter: reads those in view and a margin, drops distant ones,
 * follows the changes.
 *
 * It follows (the newest rows stand on top, and every reading may move them) or it is paused (its
 * top is fixed: nothing moves, changed rows are read again in their places, and what is new above
 * is only counted). It starts following; `pause` and `follow` change that. One reading runs at a
 * time; those that changes ask for keep a pause.
 */

import type { AnswerOf } from "../../../contract/contract.ts";
import { PacedReader, type Reading, type Time } from "../../kit/paced-reader.ts";
import type { Change } from "../../transport/transport.ts";
import {
  createDenseOrder,
  createFoundOrder,
  createCachedRows,
  idOf,
  type MessageRow,
  numberOf,
  numbersOf,
  type RowOrder,
} from "./cached-rows.ts";

type ReadMessages = (input: {
  limit: number;
  cursor?: string;
}) => Promise<AnswerOf<"messages.list">>;

type MessageRowsOptions = Time & {
  /** With the filter. */
  read: ReadMessages;
  readUnfiltered: ReadMessages;
  isFiltered: boolean;
  /** What happens to a message after it came can make it match. */
  matchesLater: boolean;
  onChange: () => void;
};

export type MessageRows = {
  loaded(): boolean;
  following(): boolean;
  error(): Error | null;
  count(): number;
  /** How many match; `more`: it is not counted to the end. */
  total(): { count: number; more: boolean };
  /** Undefined: not read yet. */
  rowAt(position: number): MessageRow | undefined;
  /** Null: not known yet. */
  idAt(position: number): string | null;
  positionOf(id: string): number | null;
  /** How many rows are kept. */
  cached(): number;
  /** How many arrived since it was paused; `more`: there are more than that. */
  fresh(): { count: number; more: boolean };
  /** The rows in view. */
  look(first: number, last: number): void;
  pause(): void;
  follow(): void;
  applyChanges(changes: readonly Change[]): void;
  /** Changes were missed. */
  readAgain(): void;
  /** How many messages there are without a filter. */
  totalIs(total: number): void;
  stop(): void;
};

const page = 100;

/** Rows around the view that are kept fresh too. */
const margin = 20;

/** Six pages: what is shown, and what a person scrolls back to at once. */
const maxCached = 600;

/** A list changes at most this often: faster than the eye, slower than a busy pipeline. */
const pauseMs = 150;

export const createMessageRows = (options: MessageRowsOptions): MessageRows =>
  new PagedRows(options);

/**
 * Which rows are in view, whether they follow, and what is out of date: from these it decides what
 * is read next.
 */
class PagedRows implements MessageRows {
  readonly #options: MessageRowsOptions;
  readonly #read: ReadRows;
  readonly #reader: PacedReader;
  #isLoaded = false;
  #isFollowing = true;
  #isTopStale = true;
  #isFreshStale = false;
  #fresh = { count: 0, more: false };
  #total = { count: 0, more: false };
  #knownTotal: number | null = null;
  #view = { first: 0, last: 39 };

  constructor(options: MessageRowsOptions) {
    this.#options = options;
    this.#read = new ReadRows(options);
    this.#reader = new PacedReader({
      ...options,
      next: () => {
        const reading = this.#nextReading();
        return reading === null
          ? null
          : { ...reading, run: () => this.#read.noticingChanges(reading.run) };
      },
      // A filter that is slow to read is read less often.
      pauseAfter: (tookMs) => Math.max(pauseMs - tookMs, tookMs),
      onFailure: () => this.#becomeStale(),
      onEnd: () => {
        this.#read.dropFarFrom((this.#view.first + this.#view.last) / 2);
        options.onChange();
      },
    });
    this.#reader.wake();
  }

  loaded = (): boolean => this.#isLoaded;
  following = (): boolean => this.#isFollowing;
  error = (): Error | null => this.#reader.error;
  count = (): number => this.#read.order.count();
  total = (): { count: number; more: boolean } => this.#total;
  rowAt = (position: number): MessageRow | undefined => this.#read.rowAt(position);
  idAt(position: number): string | null {
    const number = this.#read.order.numberAt(position);
    return number === null ? null : idOf(number);
  }

  positionOf = (id: string): number | null => this.#read.order.positionOf(numberOf(id));
  cached = (): number => this.#read.rows.size();
  fresh = (): { count: number; more: boolean } => this.#fresh;

  look(first: number, last: number): void {
    if (first === this.#view.first && last === this.#view.last) return;
    this.#view = { first, last };
    this.#reader.wake();
  }

  pause(): void {
    if (!this.#isFollowing) return;
    this.#isFollowing = false;
    this.#isFreshStale = true;
    this.#options.onChange();
    this.#reader.wake();
  }

  follow(): void {
    if (this.#isFollowing) return;
    this.#isFollowing = true;
    this.#isTopStale = true;
    this.#view = { first: 0, last: this.#view.last - this.#view.first };
    this.#reader.endPause();
    this.#options.onChange();
    this.#reader.wake();
  }

  applyChanges(changes: readonly Change[]): void {
    for (const { area, ids, count, added } of changes) {
      if (area !== "messages") continue;
      const numbers = ids.map(numberOf);
      const isAllKnown = count <= ids.length;
      const mayMove = added > 0 || this.#options.matchesLater || !isAllKnown;
      this.#isFreshStale ||= mayMove;
      this.#isTopStale ||= mayMove || this.#read.isAnyThere(numbers);
      this.#read.invalidate(isAllKnown ? numbers : "all", this.#wanted());
    }
    this.#reader.wake();
  }

  readAgain(): void {
    this.#becomeStale();
    this.#read.invalidate("all", this.#wanted());
    this.#reader.wake();
  }

  totalIs(total: number): void {
    this.#knownTotal = total;
    const { order } = this.#read;
    if (!this.#isLoaded || order.totalIs === undefined) return;
    const before = order.count();
    order.totalIs(total - this.#fresh.count);
    if (order.count() !== before) this.#options.onChange();
  }

  stop(): void {
    this.#reader.stop();
  }

  #becomeStale(): void {
    this.#isTopStale = true;
    this.#isFreshStale = true;
  }

  #wanted(): Stretch {
    return {
      first: Math.max(0, this.#view.first - margin),
      last: Math.min(this.count() - 1, this.#view.last + margin),
    };
  }

  #nextReading(): Reading | null {
    if (!this.#isLoaded) return { isPaced: false, run: () => this.#readTop() };
    const wanted = this.#wanted();
    const { missing, lost, hasChanged } = this.#read.conditionOf(wanted);
    if (missing !== null) return { isPaced: false, run: () => this.#read.readPage(missing) };
    if (this.#isFollowing && this.#isTopStale) return { isPaced: true, run: () => this.#readTop() };
    // Eight at a time, so that a filter that many rows have left costs no more than a page.
    if (lost.length > 0) return { isPaced: true, run: () => this.#read.readLost(lost.slice(0, 8)) };
    if (hasChanged) return { isPaced: true, run: () => this.#read.readStretch(wanted) };
    if (!this.#isFollowing && this.#isFreshStale)
      return { isPaced: true, run: () => this.#countFresh() };
    return null;
  }

  async #readTop(): Promise<void> {
    this.#isTopStale = false;
    const answer = await this.#options.read({
      limit: Math.min(maxCached / 2, this.#view.last + margin + 1),
    });
    this.#total = { count: answer.total, more: answer.totalCapped };
    if (this.#isLoaded && !this.#isFollowing) return;
    this.#read.restart(answer, this.#knownTotal ?? 0);
    this.#fresh = { count: 0, more: false };
    this.#isLoaded = true;
  }

  async #countFresh(): Promise<void> {
    const { isFiltered, readUnfiltered } = this.#options;
    const { top } = this.#read;
    this.#isFreshStale = false;
    const { items, total, totalCapped } = await this.#options.read({
      limit: isFiltered ? page : 1,
    });
    this.#total = { count: total, more: totalCapped };
    const newest = numbersOf(items)[0] ?? 0;
    // With a filter, the newest row may only match no more.
    const all = newest < top && isFiltered ? (await readUnfiltered({ limit: 1 })).items : items;
    if (this.#isFollowing) return;
    if ((numbersOf(all)[0] ?? 0) < top) {
      // All messages were removed, and numbers start again.
      this.#isFollowing = true;
      this.#isTopStale = true;
      return;
    }
    const above = items.filter(({ id }) => numberOf(id) > top).length;
    this.#fresh = isFiltered
      ? { count: above, more: above === page }
      : { count: newest - top, more: false };
  }
}

/** Positions, both inclusive. */
type Stretch = { first: number; last: number };

/**
 * The rows that were read, in the order that is known of them; reads pages, stretches and single
 * rows into them.
 */
class ReadRows {
  readonly #options: Pick<MessageRowsOptions, "read" | "readUnfiltered" | "isFiltered">;
  readonly rows = createCachedRows();
  order: RowOrder & { totalIs?: (total: number) => void } = createFoundOrder({
    found: [],
    more: false,
  });
  /** The newest row. */
  top = 0;
  /** Since the reading began; null while nothing is read. */
  #changedMeanwhile: (readonly number[] | "all")[] | null = null;

  constructor(options: Pick<MessageRowsOptions, "read" | "readUnfiltered" | "isFiltered">) {
    this.#options = options;
  }

  rowAt(position: number): MessageRow | undefined {
    const number = this.order.numberAt(position);
    return number === null ? undefined : this.rows.get(number);
  }

  /** `missing` is the first position that was not read. */
  conditionOf({ first, last }: Stretch): {
    missing: number | null;
    lost: number[];
    hasChanged: boolean;
  } {
    const lost: number[] = [];
    let hasChanged = false;
    for (let position = first; position <= last; position += 1) {
      const number = this.order.numberAt(position);
      if (number !== null && this.rows.isLost(number)) lost.push(number);
      else if (number === null || this.rows.get(number) === undefined)
        return { missing: position, lost, hasChanged };
      else if (this.rows.isChanged(number)) hasChanged = true;
    }
    return { missing: null, lost, hasChanged };
  }

  /** With the newest rows. */
  restart(
    { items, nextCursor, total, totalCapped }: AnswerOf<"messages.list">,
    knownTotal: number,
  ): void {
    const found = numbersOf(items);
    const stretch = { found, more: nextCursor !== null };
    this.top = found[0] ?? 0;
    this.order = this.#options.isFiltered
      ? createFoundOrder(stretch)
      : createDenseOrder({
          top: this.top,
          total: totalCapped ? Math.max(total, knownTotal) : total,
        });
    if (!this.#options.isFiltered) this.order.learn({ before: this.top + 1, ...stretch });
    const kept = new Set(found);
    this.rows.dropUnless((number) => kept.has(number));
    this.rows.keep(items);
  }

  /**
   * The page that a position is on; where nothing is known of it yet, what comes after the last
   * that is known.
   */
  async readPage(position: number): Promise<void> {
    const first = position - (position % page);
    if (this.order.numberAt(position) !== null)
      return this.readStretch({ first, last: first + page - 1 });
    let last = position;
    while (last >= 0 && this.order.numberAt(last) === null) last -= 1;
    const before = this.order.numberAt(last) ?? 1;
    const answer = await this.#options.read({ limit: page, cursor: idOf(before) });
    this.order.learn({ before, found: numbersOf(answer.items), more: answer.nextCursor !== null });
    this.rows.keep(answer.items);
  }

  async readStretch({ first, last }: Stretch): Promise<void> {
    const { isFiltered, read } = this.#options;
    const { order, rows } = this;
    const start = order.numberAt(first);
    if (start === null) return;
    const expected: number[] = [];
    for (let position = first; position <= last; position += 1) {
      const number = order.numberAt(position);
      if (number !== null) expected.push(number);
    }
    const answer = await read({ limit: last - first + 1, cursor: idOf(start + 1) });
    const found = numbersOf(answer.items);
    if (!isFiltered) order.learn({ before: start + 1, found, more: answer.nextCursor !== null });
    rows.keep(answer.items.filter(({ id }) => order.positionOf(numberOf(id)) !== null));
    const there = new Set(found);
    for (const number of expected) {
      rows.setChanged(number, false);
      if (there.has(number)) continue;
      if (isFiltered) rows.setLost(number, true);
      else rows.drop(number);
    }
  }

  /** Rows that no longer match, each as it is now; those that are gone leave their places. */
  async readLost(numbers: readonly number[]): Promise<void> {
    const answers = await Promise.all(
      numbers.map((number) => this.#options.readUnfiltered({ limit: 1, cursor: idOf(number + 1) })),
    );
    for (const [at, number] of numbers.entries()) {
      const items = (answers[at]?.items ?? []).filter(({ id }) => numberOf(id) === number);
      this.rows.keep(items);
      this.rows.setLost(number, false);
      if (items.length > 0) continue;
      this.rows.drop(number);
      this.order.drop(number);
    }
  }

  isAnyThere = (numbers: readonly number[]): boolean =>
    numbers.some((number) => this.rows.get(number) !== undefined);

  /** What is wanted is read again in its place, the rest when it is wanted. */
  invalidate(numbers: readonly number[] | "all", wanted: Stretch): void {
    this.#changedMeanwhile?.push(numbers);
    for (const number of this.#there(numbers)) {
      if (this.#isWithin(number, wanted)) this.rows.setChanged(number, true);
      else this.rows.drop(number);
    }
  }

  /** What changes while it is being read may be in the answer as it was before. */
  async noticingChanges(reading: () => Promise<void>): Promise<void> {
    const changed: (readonly number[] | "all")[] = [];
    this.#changedMeanwhile = changed;
    try {
      await reading();
    } finally {
      this.#changedMeanwhile = null;
    }
    for (const numbers of changed)
      for (const number of this.#there(numbers)) this.rows.setChanged(number, true);
  }

  #there(numbers: readonly number[] | "all"): readonly number[] {
    return numbers === "all"
      ? numbersOf([...this.rows.all()])
      : numbers.filter((number) => this.rows.get(number) !== undefined);
  }

  dropFarFrom(middle: number): void {
    if (this.rows.size() <= maxCached) return;
    const first = Math.floor(middle - maxCached / 2);
    this.rows.dropUnless((number) =>
      this.#isWithin(number, { first, last: first + maxCached - 1 }),
    );
  }

  #isWithin(number: number, { first, last }: Stretch): boolean {
    const position = this.order.positionOf(number);
    return position !== null && position >= first && position <= last;
  }
}
