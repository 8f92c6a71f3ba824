/**
 * One value of every message in memory, as the number of a value that was seen, in blocks of 4,096
 * messages; and how a filter's questions to several of them find messages. What a column holds, and
 * which filter asks which, is in `message-facts.ts`.
 */

import { blockSize } from "./posting-segments.ts";
import type { Db } from "./transactions.ts";

/** 40 MB for each of three columns, for ten million messages. */
const maxBlocks = 2500;

/** Values beyond these are not told apart in memory; their rows are read each time. */
const beyond = 65_535;

/** Changes of a block that are read one by one. */
const maxStale = 512;

/** Blocks that a walk looks at before it gives its caller a turn: half a millisecond's work. */
const blocksAtOnce = 64;

/** Messages that are found before the caller has a turn: more than a page. */
const foundAtOnce = 128;

/** What a table says of a value, by its number; 0 for a value that was not asked. */
const yes = 1;
const no = 2;

/** Places of a block by their numbers: those of `numbers[i]` end at `ends[i]`, the highest first. */
type Groups = { places: Uint16Array; numbers: number[]; ends: number[] };

/** What the messages of a block have to be asked: those pass whose number is `yes` in the table. */
type Pass = {
  numbers: Uint16Array;
  table: Uint8Array;
  /** How many pass, and where those are: of each number from a start to an end in `places`. */
  n: number;
  places: Uint16Array;
  spans: [number, number][];
  /** Which of some places pass, where the table is not enough. */
  exactly: ((places: Uint16Array) => Uint16Array) | null;
};

/** A block of which all messages pass. */
const everyone: Pass = {
  numbers: new Uint16Array(),
  table: new Uint8Array(),
  n: blockSize,
  places: new Uint16Array(),
  spans: [],
  exactly: null,
};

/**
 * `version`: what was asked of a block has to be asked again. `reads`: of many rows of a block, so
 * far.
 */
export type Memory = { version: number; reads: number };

/** One question about the messages. */
type Question = {
  /** Null when no message of the block can pass, `everyone` when all do. */
  passOf(block: number): Pass | null;
  /** Whether the block is in memory. */
  knows(block: number): boolean;
};

/** The values that were seen, numbered from 1; 0 stands where there is no message. */
class Values<Value> {
  readonly seen: (Value | undefined)[] = [undefined];
  readonly #numbers = new Map<Value, number>();

  numberOf(value: Value): number {
    const known = this.#numbers.get(value);
    if (known !== undefined) return known;
    if (this.seen.length >= beyond) return beyond;
    this.seen.push(value);
    this.#numbers.set(value, this.seen.length - 1);
    return this.seen.length - 1;
  }
}

type Block = {
  numbers: Uint16Array;
  stale: Set<number>;
  /** Null after a change. */
  groups: Groups | null;
};

/** One value of each message, which an expression over its row says. */
export class Column<Value extends string | number | null> {
  readonly #range;
  readonly #some;
  readonly #memory;
  readonly #blocks = new Map<number, Block>();
  #values = new Values<Value>();

  constructor(db: Db, memory: Memory, expression: string) {
    this.#memory = memory;
    const select = `SELECT id, ${expression} FROM messages`;
    this.#range = db
      .prepare<[number, number], [number, Value]>(`${select} WHERE id >= ? AND id < ?`)
      .raw();
    this.#some = db
      .prepare<[string], [number, Value]>(`${select} WHERE id IN (SELECT value FROM json_each(?))`)
      .raw();
  }

  /** Undefined for a message that is gone. */
  set(id: number, value: Value | undefined): void {
    const block = this.#blocks.get(blockOf(id));
    if (block !== undefined) this.#keep(block, id, value);
  }

  /** Its row is to be read again. */
  changed(id: number): void {
    const block = this.#blocks.get(blockOf(id));
    if (block === undefined) return;
    block.stale.add(id);
    if (block.stale.size > maxStale) this.#blocks.delete(blockOf(id));
  }

  rollback(): void {
    this.#blocks.clear();
    this.#values = new Values();
  }

  /** Asks for each value once, and each time for those that have no number. */
  question(allows: (value: Value) => boolean): Question {
    let values = this.#values;
    let table = new Uint8Array(0);
    return {
      knows: (number) => this.#blocks.has(number),
      passOf: (number) => {
        const block = this.#block(number);
        const { numbers } = block;
        if (values !== this.#values || table.length === 0) {
          values = this.#values;
          table = new Uint8Array(beyond + 1);
        }
        const { places, numbers: kinds, ends } = (block.groups ??= grouped(numbers));
        const spans: Pass["spans"] = [];
        let n = 0;
        for (const [at, each] of kinds.entries()) {
          if (table[each] === 0)
            table[each] = each === beyond || allows(values.seen[each] as Value) ? yes : no;
          if (table[each] === no) continue;
          const [start, end] = [ends[at - 1] ?? 0, ends[at] as number];
          spans.push([start, end]);
          n += end - start;
        }
        if (n === 0) return null;
        const first = number * blockSize;
        const exactly = (asked: Uint16Array): Uint16Array => {
          const unknown = Array.from(asked).filter((place) => numbers[place] === beyond);
          if (unknown.length === 0) return asked;
          this.#memory.reads += 1;
          const ids = JSON.stringify(unknown.map((place) => first + place));
          const allowed = new Set<number>();
          for (const [id, value] of this.#some.all(ids)) if (allows(value)) allowed.add(id - first);
          return asked.filter((place) => numbers[place] !== beyond || allowed.has(place));
        };
        return {
          numbers,
          table,
          n,
          places,
          spans,
          exactly: kinds.includes(beyond) ? exactly : null,
        };
      },
    };
  }

  /** How many messages of a block have each value. */
  counted(number: number): Map<Value, number> {
    const block = this.#block(number);
    const { numbers, ends } = (block.groups ??= grouped(block.numbers));
    return new Map(
      numbers.flatMap((each, at): [Value, number][] =>
        each === beyond
          ? []
          : [[this.#values.seen[each] as Value, (ends[at] as number) - (ends[at - 1] ?? 0)]],
      ),
    );
  }

  #block(number: number): Block {
    const first = number * blockSize;
    const known = this.#blocks.get(number);
    if (known === undefined) {
      this.#memory.reads += 1;
      const block: Block = { numbers: new Uint16Array(blockSize), stale: new Set(), groups: null };
      for (const [id, value] of this.#range.all(first, first + blockSize))
        this.#keep(block, id, value);
      if (this.#blocks.size >= maxBlocks)
        this.#blocks.delete(this.#blocks.keys().next().value as number);
      this.#blocks.set(number, block);
      return block;
    }
    if (known.stale.size > 0) {
      for (const id of known.stale) this.#keep(known, id, undefined);
      for (const [id, value] of this.#some.all(JSON.stringify([...known.stale])))
        this.#keep(known, id, value);
      known.stale.clear();
    }
    return known;
  }

  #keep(block: Block, id: number, value: Value | undefined): void {
    block.numbers[id % blockSize] = value === undefined ? 0 : this.#values.numberOf(value);
    block.groups = null;
  }
}

/** How many there are of each number, and then where the next of it goes. Zero between calls. */
const next = new Uint16Array(beyond + 1);

function grouped(of: Uint16Array): Groups {
  const numbers: number[] = [];
  for (const number of of) {
    if (next[number] === 0 && number !== 0) numbers.push(number);
    next[number] = (next[number] as number) + 1;
  }
  let end = 0;
  const ends = numbers.map((number) => {
    const start = end;
    end += next[number] as number;
    next[number] = start;
    return end;
  });
  const places = new Uint16Array(end);
  for (let place = blockSize - 1; place >= 0; place -= 1) {
    const number = of[place] as number;
    if (number === 0) continue;
    places[next[number] as number] = place;
    next[number] = (next[number] as number) + 1;
  }
  for (const number of numbers) next[number] = 0;
  next[0] = 0;
  return { places, numbers, ends };
}

type Span = { earliest: number | null; latest: number | null };

/** When messages were received: blocks that are wholly before or after a time are passed over. */
export class Times {
  readonly #span;
  readonly #within;
  readonly #spans = new Map<number, Span>();

  constructor(db: Db) {
    this.#span = db.prepare<[number, number], Span>(
      `SELECT min(received_at) AS earliest, max(received_at) AS latest FROM messages WHERE id >= ? AND id < ?`,
    );
    this.#within = db
      .prepare<[number, number, number, number], number>(
        "SELECT id FROM messages WHERE id >= ? AND id < ? AND received_at >= ? AND received_at < ?",
      )
      .pluck();
  }

  changed(id: number): void {
    this.#spans.delete(blockOf(id));
  }

  rollback(): void {
    this.#spans.clear();
  }

  question(since: number, until: number): Question {
    return {
      knows: (number) => this.#spans.has(number),
      passOf: (number) => {
        const first = number * blockSize;
        const { earliest, latest } = this.#spanOf(number);
        if (earliest === null || latest === null || latest < since || earliest >= until)
          return null;
        if (earliest >= since && latest < until) return everyone;
        const table = new Uint8Array(blockSize);
        for (const id of this.#within.all(first, first + blockSize, since, until))
          table[id - first] = yes;
        return { ...everyone, numbers: everyPlace, table };
      },
    };
  }

  #spanOf(number: number): Span {
    const known = this.#spans.get(number);
    if (known !== undefined) return known;
    const span = this.#span.get(number * blockSize, (number + 1) * blockSize) as Span;
    this.#spans.set(number, span);
    return span;
  }
}

const everyPlace = Uint16Array.from({ length: blockSize }, (_, place) => place);

/** What a filter asks of what is in memory. It may be asked as long as its filter is used. */
export class MessageTest {
  readonly #questions;
  readonly #newestBefore;
  readonly #memory;
  /** What was asked last. */
  #block = -1;
  #version = -1;
  #passes: readonly Pass[] | null = null;

  constructor(
    questions: readonly Question[],
    newestBefore: (id: number) => number | null,
    memory: Readonly<Memory>,
  ) {
    this.#questions = questions;
    this.#newestBefore = newestBefore;
    this.#memory = memory;
  }

  holds(id: number): boolean {
    const place = id % blockSize;
    const passes = this.#passesOf(blockOf(id));
    return passes !== null && passes.every((pass) => allows(pass, place));
  }

  /** Ids that pass, newest first, some at a time; nothing where a walk has gone far. */
  *matching(before: number): Generator<number[]> {
    let ids: number[] = [];
    let blocks = 0;
    for (let newest = this.#newestBefore(before); newest !== null;) {
      const block = blockOf(newest);
      const first = block * blockSize;
      const { reads } = this.#memory;
      const passes = this.#passesOf(block);
      const n = passes === null ? 0 : findPlaces(passes, newest - first);
      for (let i = 0; i < n; i += 1) ids.push(first + (found[i] as number));
      blocks += 1;
      if (reads !== this.#memory.reads || blocks === blocksAtOnce || ids.length >= foundAtOnce) {
        yield ids;
        ids = [];
        blocks = 0;
      }
      newest = this.#questions.some((each) => each.knows(block - 1))
        ? first - 1
        : this.#newestBefore(first);
    }
    yield ids;
  }

  #passesOf(block: number): readonly Pass[] | null {
    const { version } = this.#memory;
    if (block === this.#block && version === this.#version) return this.#passes;
    this.#block = block;
    this.#version = version;
    this.#passes = this.#ask(block);
    return this.#passes;
  }

  #ask(block: number): readonly Pass[] | null {
    const passes: Pass[] = [];
    for (const question of this.#questions) {
      const pass = question.passOf(block);
      if (pass === null) return null;
      if (pass !== everyone) passes.push(pass);
    }
    return passes;
  }
}

/** The places that were found last, the highest first. */
const found = new Uint16Array(blockSize);

/** So few places cost less to sort than all places to look at. */
const maxSorted = 128;

/** How many places up to one pass. A loop without branches for each question. */
function findPlaces(passes: readonly Pass[], newest: number): number {
  const inOrder = passes.toSorted((a, b) => a.n - b.n);
  let n = firstPlaces(inOrder[0] as Pass, newest);
  for (const { numbers, table, exactly } of inOrder) {
    const asked = n;
    n = 0;
    for (let i = 0; i < asked; i += 1) {
      const place = found[i] as number;
      found[n] = place;
      n += (table[numbers[place] as number] as number) & yes;
    }
    if (exactly === null) continue;
    const left = exactly(found.slice(0, n));
    found.set(left);
    n = left.length;
  }
  return n;
}

/** All that may pass, and all others too where that costs less. */
function firstPlaces({ n: most, places, spans }: Pass, newest: number): number {
  let n = 0;
  const isFew = spans.length === 1 || (spans.length > 0 && most <= maxSorted);
  if (newest < blockSize - 1 || !isFew) {
    for (let place = newest; place >= 0; place -= 1) found[n++] = place;
    return n;
  }
  for (const [start, end] of spans) {
    found.set(places.subarray(start, end), n);
    n += end - start;
  }
  if (spans.length > 1) found.subarray(0, n).sort().reverse();
  return n;
}

function allows({ numbers, table, exactly }: Pass, place: number): boolean {
  if (table[numbers[place] as number] !== yes) return false;
  return exactly === null || exactly(Uint16Array.of(place)).length > 0;
}

export function blockOf(id: number): number {
  return Math.floor(id / blockSize);
}
