/** The value of a computed trait for one profile, and until when it is valid. */

import { comparesAll, memberOf, spellingOf } from "./evaluate.ts";
import {
  charactersPerStep,
  nameOf,
  windowMs,
  type EventFact,
  type InPieces,
  type ProfileFacts,
  type Steps,
} from "./facts.ts";
import type { Json, JsonObject } from "./json.ts";
import type { Aggregate, Computation } from "./rules.ts";

/**
 * The value is null when no event counts: there is none, none within the window, or none with a
 * property value that the aggregate can use. At `until`, time alone may change the value (null:
 * never).
 */
export type Computed = { value: Json; until: number | null };

export function* computeInPieces(
  computation: Computation,
  facts: ProfileFacts,
  now: number,
  steps: Steps,
): InPieces<Computed> {
  const running = startComputation(computation, now);
  for (const event of facts.events.get(nameOf(computation.event)) ?? []) {
    if (steps.left <= 0) yield;
    steps.left -= stepsOf(computation, event.properties);
    running.add(event);
  }
  return running.result();
}

/** Values that are no texts count as the largest that a message may have. */
function stepsOf({ property }: Computation, properties: JsonObject): number {
  const value = property === undefined ? null : memberOf(properties, property);
  const characters =
    typeof value === "string" ? value.length : typeof value === "object" && value ? 32_768 : 0;
  return 1 + Math.floor(characters / charactersPerStep);
}

export type RunningComputation = {
  /** The events of the computation's name, the oldest first. */
  add(event: Pick<EventFact, "at" | "properties">): void;
  result(): Computed;
};

export function startComputation(computation: Computation, now: number): RunningComputation {
  const { aggregate, property, where = [] } = computation;
  const window = windowMs(computation) ?? Infinity;
  const gather = gatherers[aggregate]();
  let oldest = Infinity;
  let newest = -Infinity;
  return {
    add({ at, properties }) {
      if (at <= now - window || !comparesAll(where, properties)) return;
      const value = property === undefined ? null : (memberOf(properties, property) ?? null);
      if (!gather.takes(value)) return;
      gather.add(value);
      oldest = Math.min(oldest, at);
      newest = Math.max(newest, at);
    },
    result() {
      if (newest === -Infinity) return { value: null, until: null };
      // The last event decides until it leaves the window, whichever leaves before.
      const until = (aggregate === "last" ? newest : oldest) + window;
      return { value: gather.value(), until: until === Infinity ? null : until };
    },
  };
}

type Gatherer = {
  /** Whether the aggregate can use such a value. */
  takes(value: Json): boolean;
  add(value: Json): void;
  /** Called after at least one was added. */
  value(): Json;
};

const gatherers: Record<Aggregate, () => Gatherer> = {
  count() {
    let count = 0;
    return { takes: () => true, add: () => void (count += 1), value: () => count };
  },
  unique() {
    const seen = new Set<string>();
    const key = distinctKeys();
    return {
      takes: isValue,
      add: (value) => void seen.add(key(value)),
      value: () => seen.size,
    };
  },
  first() {
    let first: Json = null;
    return { takes: isValue, add: (value) => void (first ??= value), value: () => first };
  },
  last() {
    let last: Json = null;
    return { takes: isValue, add: (value) => void (last = value), value: () => last };
  },
  mostFrequent() {
    const counts = new Map<string, number>();
    const key = distinctKeys();
    let most: { times: number; value: Json } = { times: 0, value: null };
    return {
      takes: isValue,
      add(value) {
        const name = key(value);
        const times = (counts.get(name) ?? 0) + 1;
        counts.set(name, times);
        // Of several equally frequent values, the newest.
        if (times >= most.times) most = { times, value };
      },
      value: () => most.value,
    };
  },
  sum() {
    let sum = zero;
    return ofNumbers(
      (value) => void (sum = plus(sum, decimalOf(value))),
      () => numberOf(sum),
    );
  },
  average() {
    let sum = zero;
    let count = 0;
    return ofNumbers(
      (value) => {
        sum = plus(sum, decimalOf(value));
        count += 1;
      },
      () => dividedBy(sum, count),
    );
  },
  min() {
    let min = Infinity;
    return ofNumbers(
      (value) => void (min = Math.min(min, value)),
      () => min,
    );
  },
  max() {
    let max = -Infinity;
    return ofNumbers(
      (value) => void (max = Math.max(max, value)),
      () => max,
    );
  },
};

function ofNumbers(add: (value: number) => void, result: () => number): Gatherer {
  return {
    takes: (value) => typeof value === "number",
    add(value) {
      if (typeof value === "number") add(value);
    },
    value() {
      const number = result();
      // A sum beyond the largest number is null. Adding 0 removes the sign of a zero, which JSON
      // does not keep.
      return Number.isFinite(number) ? number + 0 : null;
    },
  };
}

function isValue(value: Json): boolean {
  return value !== null;
}

/**
 * V8 hashes only texts up to 16,383 characters; longer ones of one length share a hash, and a map of
 * them compares each with all others.
 */
const maxHashedLength = 10_000;

/** Equal keys for equal values. A long spelling becomes the numbers of its parts. */
function distinctKeys(): (value: Json) => string {
  const parts = new Map<string, number>();
  const numberOfPart = (part: string): number => {
    const number = parts.get(part) ?? parts.size;
    parts.set(part, number);
    return number;
  };
  return (value) => {
    const spelling = spellingOf(value);
    if (spelling.length <= maxHashedLength) return spelling;
    const numbers: number[] = [];
    for (let at = 0; at < spelling.length; at += maxHashedLength)
      numbers.push(numberOfPart(spelling.slice(at, at + maxHashedLength)));
    // With its comma it is no spelling of a value.
    return numbers.join();
  };
}

/** `digits` times ten to the power of `exponent`: with these, 0.1 and 0.2 are 0.3, in any order. */
type Decimal = { digits: bigint; exponent: number };

export const zero: Decimal = { digits: 0n, exponent: 0 };

export function decimalOf(value: number): Decimal {
  const [mantissa = "0", exponent = "0"] = value.toExponential().split("e");
  const [whole = "0", fraction = ""] = mantissa.split(".");
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length };
}

export function plus(a: Decimal, b: Decimal): Decimal {
  const exponent = Math.min(a.exponent, b.exponent);
  return { digits: scaled(a, exponent) + scaled(b, exponent), exponent };
}

export function numberOf({ digits, exponent }: Decimal): number {
  return Number(`${digits}e${exponent}`);
}

/** The number nearest to the true quotient. */
export function dividedBy({ digits, exponent }: Decimal, divisor: number): number {
  const by = BigInt(divisor);
  // Far more digits than a number has; one more digit says whether there is a remainder, so that no
  // half is rounded wrongly.
  const extra = 40 + String(by).length;
  const dividend = digits * 10n ** BigInt(extra);
  const rest = dividend % by;
  const sticky = rest === 0n ? 0n : rest > 0n ? 1n : -1n;
  return numberOf({ digits: (dividend / by) * 10n + sticky, exponent: exponent - extra - 1 });
}

function scaled({ digits, exponent }: Decimal, to: number): bigint {
  return digits * 10n ** BigInt(exponent - to);
}
