/** 40 bits of a string: few enough to pack with a place in a block into a double, many enough that two of a million strings hardly ever meet. */
export function hash40(value: string): number {
  // As the database will give it back: a lone surrogate is not UTF-8.
  const text = value.toWellFormed();
  let a = 0x811c9dc5;
  let b = 0x9747b28c;
  for (let i = 0; i < text.length; i += 1) {
    const code = text.charCodeAt(i);
    a = Math.imul(a ^ code, 0x01000193);
    b = Math.imul(b ^ code, 0x5bd1e995);
  }
  a ^= a >>> 15;
  b ^= b >>> 13;
  return (a >>> 0) * 256 + (b & 0xff);
}
