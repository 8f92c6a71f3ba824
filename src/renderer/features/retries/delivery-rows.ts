/**
 * The rows of the Retries view: a stretch of the list around what is in view, read from a place in
 * it and read again from there while deliveries move. Places are learnt on the way down, so that
 * the way up needs no more than the one before.
 */

import type { AnswerOf } from "../../../contract/contract.ts";
import { PacedReader, type Reading, type Time } from "../../kit/paced-reader.ts";

export type DeliveryRow = AnswerOf<"deliveries.list">["items"][number];

type DeliveryRowsOptions = Time & {
  read: (input: { limit: number; cursor?: string }) => Promise<AnswerOf<"deliveries.list">>;
  /** Where the list goes on after a row. */
  cursorAfter: (row: DeliveryRow) => string;
  onChange: () => void;
};

export type DeliveryRows = {
  isReady(): boolean;
  error(): Error | null;
  /** Deliveries that match. */
  total(): number;
  /** Rows of the list: as many, unless some above the stretch have left meanwhile. */
  count(): number;
  /** Undefined: not read yet. */
  rowAt(position: number): DeliveryRow | undefined;
  positionOf(id: string): number | null;
  /** When the oldest delivery that was read was made. */
  oldestAt(): number;
  /** The rows in view. */
  look(first: number, last: number): void;
  /** Deliveries have moved. */
  change(): void;
  stop(): void;
};

/** Rows around the view, so that a turn of the wheel shows what is there. */
const margin = 40;

/** What one reading may ask for. */
const maxRead = 1000;

/** From one place that is remembered to the next. */
const placeStep = 50;

/** Between two readings of a list that changes all the time. */
const pauseMs = 400;

export const createDeliveryRows = (options: DeliveryRowsOptions): DeliveryRows =>
  new StretchOfRows(options);

class StretchOfRows implements DeliveryRows {
  readonly #options: DeliveryRowsOptions;
  readonly #reader: PacedReader;
  readonly #places = new Map<number, string | undefined>([[0, undefined]]);
  #view = { first: 0, last: margin };
  #start = 0;
  #rows: DeliveryRow[] = [];
  #total = 0;
  #count = 0;
  #oldestAt = Infinity;
  #isReady = false;
  #isStale = true;
  /** What the last reading was to bring. */
  #lastWanting: string | null = null;

  constructor(options: DeliveryRowsOptions) {
    this.#options = options;
    this.#reader = new PacedReader({
      ...options,
      next: () => this.#nextReading(),
      pauseAfter: () => pauseMs,
      onFailure: () => void (this.#isStale = true),
      onEnd: options.onChange,
    });
    this.#reader.wake();
  }

  isReady = (): boolean => this.#isReady;
  error = (): Error | null => this.#reader.error;
  total = (): number => this.#total;
  count = (): number => this.#count;
  rowAt = (position: number): DeliveryRow | undefined => this.#rows[position - this.#start];
  oldestAt = (): number => this.#oldestAt;

  positionOf(id: string): number | null {
    const at = this.#rows.findIndex((row) => row.id === id);
    return at === -1 ? null : this.#start + at;
  }

  look(first: number, last: number): void {
    this.#view = { first, last };
    this.#reader.wake();
  }

  change(): void {
    this.#isStale = true;
    this.#reader.wake();
  }

  stop(): void {
    this.#reader.stop();
  }

  /**
   * What is not there is read at once; what may have changed, or did not come at the last reading,
   * after a pause.
   */
  #nextReading(): Reading | null {
    const { first, last } = this.#view;
    const wanting = this.#isCovered()
      ? null
      : `${first} ${last} ${this.#count} ${this.#start} ${this.#rows.length}`;
    if (wanting === null && !this.#isStale) return null;
    return {
      isPaced: wanting === null || wanting === this.#lastWanting,
      run: () => {
        this.#lastWanting = wanting;
        return this.#readStretch();
      },
    };
  }

  /** The list may have become shorter than where the view still is. */
  #firstInView(): number {
    return Math.min(this.#view.first, Math.max(0, this.#count - 1));
  }

  #isCovered(): boolean {
    const end = this.#start + this.#rows.length;
    return (
      this.#isReady &&
      this.#start <= this.#firstInView() &&
      end >= Math.min(this.#view.last + 1, this.#count)
    );
  }

  async #readStretch(): Promise<void> {
    this.#isStale = false;
    const wantedFirst = Math.max(0, this.#firstInView() - margin);
    const place = Math.max(...[...this.#places.keys()].filter((each) => each <= wantedFirst));
    const cursor = this.#places.get(place);
    const limit = Math.min(
      maxRead,
      Math.max(this.#view.last, this.#view.first) + margin + 1 - place,
    );
    const { items, nextCursor, total } = await this.#options.read({
      limit,
      ...(cursor === undefined ? {} : { cursor }),
    });
    if (place > 0 && items.length === 0) {
      // Nothing is left of what stood here.
      this.#forgetPlacesAfter(0);
      return this.#readStretch();
    }
    const from = this.#aligned(place, items);
    const end = from + items.length;
    this.#learnPlaces(place, from, cursor, items);
    this.#total = total;
    this.#count = nextCursor === null ? end : Math.max(total, end + 1);
    // From where the view is by now.
    this.#start = Math.min(Math.max(from, this.#firstInView() - margin), end);
    this.#rows = items.slice(this.#start - from);
    for (const { createdAt } of items)
      this.#oldestAt = Math.min(this.#oldestAt, Date.parse(createdAt));
    this.#isReady = true;
  }

  /**
   * Where a stretch begins, so that the rows in view stay where they are although some above them
   * have left.
   */
  #aligned(place: number, items: readonly DeliveryRow[]): number {
    if (place === 0) return 0;
    const before = Math.max(...[...this.#places.keys()].filter((each) => each < place));
    for (let at = this.#view.first; at <= this.#view.last; at += 1) {
      const id = this.rowAt(at)?.id;
      const index = id === undefined ? -1 : items.findIndex((item) => item.id === id);
      if (index !== -1) return Math.max(before + 1, at - index);
    }
    return place;
  }

  #learnPlaces(
    place: number,
    from: number,
    cursor: string | undefined,
    items: readonly DeliveryRow[],
  ): void {
    this.#forgetPlacesAfter(place - 1);
    this.#places.set(from, cursor);
    for (let next = placeStep; next <= items.length; next += placeStep) {
      const before = items[next - 1];
      if (before !== undefined) this.#places.set(from + next, this.#options.cursorAfter(before));
    }
  }

  #forgetPlacesAfter(last: number): void {
    for (const place of this.#places.keys()) if (place > last) this.#places.delete(place);
  }
}
