/** Sums and averages of decimal numbers: 0.1 and 0.2 are 0.3, in any order. */

/** `digits` times ten to the power of `exponent`. */
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
  // Far more digits than a number has; one more digit says whether there is a remainder, so that no half is rounded wrongly.
  const extra = 40 + String(by).length;
  const dividend = digits * 10n ** BigInt(extra);
  const rest = dividend % by;
  const sticky = rest === 0n ? 0n : rest > 0n ? 1n : -1n;
  return numberOf({ digits: (dividend / by) * 10n + sticky, exponent: exponent - extra - 1 });
}

function scaled({ digits, exponent }: Decimal, to: number): bigint {
  return digits * 10n ** BigInt(exponent - to);
}
