/**
 * Every code point that is no half of a pair, as `unit` of `fc.string`: what "binary" draws, without
 * the table of all of them, which costs a second of processor time in each worker.
 */

import fc from "fast-check";

const firstHalf = 0xd800;
const halves = 0x800;

export const anyCharacter = fc.nat({ max: 0x10ffff - halves }).map(
  (place) => String.fromCodePoint(place < firstHalf ? place : place + halves),
  (character) => {
    const text = String(character);
    const point = text.codePointAt(0) ?? 0;
    if (String.fromCodePoint(point) !== text || !text.isWellFormed())
      throw new Error("It is not one character.");
    return point < firstHalf ? point : point - halves;
  },
);
