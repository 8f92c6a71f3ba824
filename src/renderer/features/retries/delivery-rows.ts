/**
 * The rows of the Retries view: a stretch of the list around what is in view, read from a place in it and read again from
 * there while deliveries move. Places are learnt on the way down, so that the way up needs no more than the one before.
 */

import type { AnswerOf } from "../../../contract/contract.ts";
import { errorOf } from "../../kit/use-action.ts";

export type DeliveryRow = AnswerOf<"deliveries.list">["items"][number];

type DeliveryRowsOptions = {
  read: (input: { limit: number; cursor?: string }) => Promise<AnswerOf<"deliveries.list">>;
  /** Where the list goes on after a row. */
  cursorAfter: (row: DeliveryRow) => string;
  /** Returns a cancel function. */
  later: (ms: number, run: () => void) => () => void;
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

/** After a failure. */
const retryMs = 2000;

export function createDeliveryRows({ read, cursorAfter, later, onChange }: DeliveryRowsOptions): DeliveryRows {
  const places = new Map<number, string | undefined>([[0, undefined]]);
  let view = { first: 0, last: margin };
  let start = 0;
  let rows: DeliveryRow[] = [];
  let total = 0;
  let count = 0;
  let oldestAt = Infinity;
  let isReady = false;
  let isStale = true;
  let isReading = false;
  let isStopped = false;
  let error: Error | null = null;
  let lastWanting: string | null = null;
  let cancelPause: (() => void) | null = null;

  /** The list may have become shorter than where the view still is. */
  const firstInView = (): number => Math.min(view.first, Math.max(0, count - 1));
  const wantedFirst = (): number => Math.max(0, firstInView() - margin);

  function isCovered(): boolean {
    return isReady && start <= firstInView() && start + rows.length >= Math.min(view.last + 1, count);
  }

  function forgetPlacesAfter(last: number): void {
    for (const place of places.keys()) if (place > last) places.delete(place);
  }

  /** Where a stretch begins, so that the rows in view stay where they are although some above them have left. */
  function aligned(place: number, items: readonly DeliveryRow[]): number {
    if (place === 0) return 0;
    const before = Math.max(...[...places.keys()].filter((each) => each < place));
    for (let at = view.first; at <= view.last; at += 1) {
      const id = rows[at - start]?.id;
      const index = id === undefined ? -1 : items.findIndex((item) => item.id === id);
      if (index !== -1) return Math.max(before + 1, at - index);
    }
    return place;
  }

  async function readStretch(): Promise<void> {
    isStale = false;
    const place = Math.max(...[...places.keys()].filter((each) => each <= wantedFirst()));
    const cursor = places.get(place);
    const limit = Math.min(maxRead, Math.max(view.last, view.first) + margin + 1 - place);
    const { items, nextCursor, total: matching } = await read({ limit, ...(cursor === undefined ? {} : { cursor }) });
    if (place > 0 && items.length === 0) {
      // Nothing is left of what stood here.
      forgetPlacesAfter(0);
      return readStretch();
    }
    const from = aligned(place, items);
    const end = from + items.length;
    forgetPlacesAfter(place - 1);
    places.set(from, cursor);
    for (let next = placeStep; next <= items.length; next += placeStep) {
      const before = items[next - 1];
      if (before !== undefined) places.set(from + next, cursorAfter(before));
    }
    total = matching;
    count = nextCursor === null ? end : Math.max(total, end + 1);
    start = Math.min(Math.max(from, wantedFirst()), end);
    rows = items.slice(start - from);
    for (const { createdAt } of items) oldestAt = Math.min(oldestAt, Date.parse(createdAt));
    isReady = true;
  }

  /** What is not there is read at once; what may have changed, failed, or did not come at the last reading, after a pause. */
  function work(): void {
    const wanting = isCovered() ? null : `${view.first} ${view.last} ${count} ${start} ${rows.length}`;
    if (isStopped || isReading || (wanting === null && !isStale)) return;
    if (cancelPause !== null && (wanting === null || wanting === lastWanting || error !== null)) return;
    lastWanting = wanting;
    cancelPause?.();
    cancelPause = null;
    isReading = true;
    void run();
  }

  async function run(): Promise<void> {
    try {
      await readStretch();
      error = null;
    } catch (cause) {
      error = errorOf(cause);
      isStale = true;
    }
    isReading = false;
    if (isStopped) return;
    cancelPause = later(error === null ? pauseMs : retryMs, () => {
      cancelPause = null;
      work();
    });
    onChange();
    work();
  }

  work();

  return {
    isReady: () => isReady,
    error: () => error,
    total: () => total,
    count: () => count,
    rowAt: (position) => rows[position - start],
    positionOf(id) {
      const at = rows.findIndex((row) => row.id === id);
      return at === -1 ? null : start + at;
    },
    oldestAt: () => oldestAt,
    look(first, last) {
      view = { first, last };
      work();
    },
    change() {
      isStale = true;
      work();
    },
    stop() {
      isStopped = true;
      cancelPause?.();
    },
  };
}
