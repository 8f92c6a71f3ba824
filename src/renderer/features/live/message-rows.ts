/**
 * The rows of the list under one filter: reads those in view and a margin, drops distant ones, follows the changes.
 *
 * It follows (the newest rows stand on top, and every reading may move them) or it is paused (its top is fixed: nothing moves,
 * changed rows are read again in their places, and what is new above is only counted). It starts following; `pause` and
 * `follow` change that. One reading runs at a time; those that changes ask for keep a pause.
 */

import type { AnswerOf } from "../../../contract/contract.ts";
import { errorOf } from "../../kit/use-action.ts";
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

type Reading = (input: { limit: number; cursor?: string }) => Promise<AnswerOf<"messages.list">>;

type MessageRowsOptions = {
  /** With the filter. */
  read: Reading;
  readUnfiltered: Reading;
  isFiltered: boolean;
  /** What happens to a message after it came can make it match. */
  matchesLater: boolean;
  monotonic: () => number;
  /** Returns a cancel function. */
  later: (ms: number, run: () => void) => () => void;
  onChange: () => void;
};

export type MessageRows = {
  loaded(): boolean;
  following(): boolean;
  error(): Error | null;
  count(): number;
  /** Undefined: not read yet. */
  rowAt(position: number): MessageRow | undefined;
  positionOf(id: string): number | null;
  /** The cached rows, for suggestions. */
  cached(): Iterable<MessageRow>;
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

/** After a failure. */
const retryMs = 2000;

export function createMessageRows(options: MessageRowsOptions): MessageRows {
  const { isFiltered } = options;
  const rows = createCachedRows();
  let order: RowOrder & { totalIs?: (total: number) => void } = createFoundOrder({ found: [], more: false });
  let isLoaded = false;
  let isFollowing = true;
  let top = 0;
  let fresh = { count: 0, more: false };
  let isTopStale = true;
  let isFreshStale = false;
  let knownTotal: number | null = null;
  let view = { first: 0, last: 39 };
  let error: Error | null = null;
  let isReading = false;
  let isStopped = false;
  let pausedUntil = 0;
  let cancelTimer: (() => void) | null = null;

  const wanted = () => ({ first: Math.max(0, view.first - margin), last: Math.min(order.count() - 1, view.last + margin) });

  function isWithin(number: number, first: number, last: number): boolean {
    const position = order.positionOf(number);
    return position !== null && position >= first && position <= last;
  }

  async function readTop(): Promise<void> {
    isTopStale = false;
    const answer = await options.read({ limit: Math.min(maxCached / 2, view.last + margin + 1) });
    if (isLoaded && !isFollowing) return;
    const found = numbersOf(answer.items);
    const stretch = { found, more: answer.nextCursor !== null };
    const total = answer.totalCapped ? Math.max(answer.total, knownTotal ?? 0) : answer.total;
    top = found[0] ?? 0;
    order = isFiltered ? createFoundOrder(stretch) : createDenseOrder({ top, total });
    if (!isFiltered) order.learn({ before: top + 1, ...stretch });
    const kept = new Set(found);
    rows.dropUnless((number) => kept.has(number));
    rows.keep(answer.items);
    fresh = { count: 0, more: false };
    isLoaded = true;
  }

  /** The page that a position is on; where nothing is known of it yet, what comes after the last that is known. */
  async function readPage(position: number): Promise<void> {
    if (order.numberAt(position) !== null) return readStretch(position - (position % page), position - (position % page) + page - 1);
    let last = position;
    while (last >= 0 && order.numberAt(last) === null) last -= 1;
    const before = order.numberAt(last) ?? 1;
    const answer = await options.read({ limit: page, cursor: idOf(before) });
    order.learn({ before, found: numbersOf(answer.items), more: answer.nextCursor !== null });
    rows.keep(answer.items);
  }

  async function readStretch(first: number, last: number): Promise<void> {
    const start = order.numberAt(first);
    if (start === null) return;
    const expected: number[] = [];
    for (let position = first; position <= last; position += 1) {
      const number = order.numberAt(position);
      if (number !== null) expected.push(number);
    }
    const answer = await options.read({ limit: last - first + 1, cursor: idOf(start + 1) });
    const found = numbersOf(answer.items);
    if (!isFiltered) order.learn({ before: start + 1, found, more: answer.nextCursor !== null });
    rows.keep(answer.items.filter(({ id }) => order.positionOf(numberOf(id)) !== null));
    const read = new Set(found);
    for (const number of expected) {
      rows.setChanged(number, false);
      if (read.has(number)) continue;
      if (isFiltered) rows.setLost(number, true);
      else rows.drop(number);
    }
  }

  async function readLost(numbers: readonly number[]): Promise<void> {
    const answers = await Promise.all(numbers.map((number) => options.readUnfiltered({ limit: 1, cursor: idOf(number + 1) })));
    for (const [at, number] of numbers.entries()) {
      const items = (answers[at]?.items ?? []).filter(({ id }) => numberOf(id) === number);
      rows.keep(items);
      rows.setLost(number, false);
      if (items.length > 0) continue;
      rows.drop(number);
      order.drop(number);
    }
  }

  async function countFresh(): Promise<void> {
    isFreshStale = false;
    const { items } = await options.read({ limit: isFiltered ? page : 1 });
    if (isFollowing) return;
    const newest = numbersOf(items)[0] ?? 0;
    if (newest < top && !isFiltered) {
      // All messages were removed, and numbers start again.
      isFollowing = true;
      isTopStale = true;
      return;
    }
    const above = items.filter(({ id }) => numberOf(id) > top).length;
    fresh = isFiltered ? { count: above, more: above === page } : { count: newest - top, more: false };
  }

  type Job = { isPaced: boolean; run: () => Promise<void> };

  function nextJob(): Job | null {
    if (!isLoaded) return { isPaced: false, run: readTop };
    const { first, last } = wanted();
    const lost: number[] = [];
    let hasChanged = false;
    for (let position = first; position <= last; position += 1) {
      const number = order.numberAt(position);
      if (number !== null && rows.isLost(number)) lost.push(number);
      else if (number === null || rows.get(number) === undefined) return { isPaced: false, run: () => readPage(position) };
      else if (rows.isChanged(number)) hasChanged = true;
    }
    if (isFollowing && isTopStale) return { isPaced: true, run: readTop };
    // Eight at a time, so that a filter that many rows have left costs no more than a page.
    if (lost.length > 0) return { isPaced: true, run: () => readLost(lost.slice(0, 8)) };
    if (hasChanged) return { isPaced: true, run: () => readStretch(first, last) };
    if (!isFollowing && isFreshStale) return { isPaced: true, run: countFresh };
    return null;
  }

  function work(): void {
    if (isReading || isStopped) return;
    const job = nextJob();
    if (job === null) return;
    const wait = job.isPaced || error !== null ? pausedUntil - options.monotonic() : 0;
    cancelTimer?.();
    cancelTimer = null;
    if (wait > 0) {
      cancelTimer = options.later(wait, work);
      return;
    }
    isReading = true;
    void run(job);
  }

  async function run(job: Job): Promise<void> {
    const startedAt = options.monotonic();
    try {
      await job.run();
      error = null;
      const endedAt = options.monotonic();
      // A filter that is slow to read is read less often.
      pausedUntil = Math.max(startedAt + pauseMs, endedAt + (endedAt - startedAt));
    } catch (cause) {
      error = errorOf(cause);
      isTopStale = true;
      isFreshStale = true;
      pausedUntil = options.monotonic() + retryMs;
    }
    isReading = false;
    if (isStopped) return;
    if (rows.size() > maxCached) {
      const first = Math.floor((view.first + view.last - maxCached) / 2);
      rows.dropUnless((number) => isWithin(number, first, first + maxCached - 1));
    }
    options.onChange();
    work();
  }

  /** What is in view is read again in its place, the rest when it comes into view. */
  function invalidate(numbers: readonly number[]): void {
    const { first, last } = wanted();
    for (const number of numbers) {
      if (isWithin(number, first, last)) rows.setChanged(number, true);
      else rows.drop(number);
    }
  }

  work();

  return {
    loaded: () => isLoaded,
    following: () => isFollowing,
    error: () => error,
    count: () => order.count(),
    rowAt(position) {
      const number = order.numberAt(position);
      return number === null ? undefined : rows.get(number);
    },
    positionOf: (id) => order.positionOf(numberOf(id)),
    cached: () => rows.all(),
    fresh: () => fresh,

    look(first, last) {
      if (first === view.first && last === view.last) return;
      view = { first, last };
      work();
    },

    pause() {
      if (!isFollowing) return;
      isFollowing = false;
      isFreshStale = true;
      options.onChange();
      work();
    },

    follow() {
      if (isFollowing) return;
      isFollowing = true;
      isTopStale = true;
      view = { first: 0, last: view.last - view.first };
      pausedUntil = 0;
      options.onChange();
      work();
    },

    applyChanges(changes) {
      for (const { area, ids, count, added } of changes) {
        if (area !== "messages") continue;
        const touched = ids.map(numberOf).filter((number) => rows.get(number) !== undefined);
        const isAllKnown = count <= ids.length;
        const mayMove = added > 0 || options.matchesLater || !isAllKnown;
        isFreshStale ||= mayMove;
        isTopStale ||= mayMove || touched.length > 0;
        invalidate(isAllKnown ? touched : numbersOf([...rows.all()]));
      }
      work();
    },

    readAgain() {
      isTopStale = true;
      isFreshStale = true;
      invalidate(numbersOf([...rows.all()]));
      work();
    },

    totalIs(total) {
      knownTotal = total;
      if (!isLoaded || order.totalIs === undefined) return;
      const before = order.count();
      order.totalIs(total - fresh.count);
      if (order.count() !== before) options.onChange();
    },

    stop() {
      isStopped = true;
      cancelTimer?.();
    },
  };
}
