/**
 * What SHA-1 and SHA-256 have in common: blocks of 64 bytes, a state of 32-bit words, the same
 * padding; and HMAC with either.
 */

export type Hash = {
  readonly initial: readonly number[];
  /** Adds the 64 bytes at `offset` to the state. */
  compress(state: Int32Array, bytes: Uint8Array, offset: number): void;
};

const blockSize = 64;

const tail = new Uint8Array(2 * blockSize);

/**
 * Adds all of `bytes` to the state and ends it; `before` is how many bytes were added before, in
 * whole blocks.
 */
function finishHash(hash: Hash, state: Int32Array, bytes: Uint8Array, before: number): void {
  const whole = bytes.length - (bytes.length % blockSize);
  for (let offset = 0; offset < whole; offset += blockSize) hash.compress(state, bytes, offset);

  const rest = bytes.length - whole;
  for (let at = 0; at < rest; at++) tail[at] = bytes[whole + at] as number;
  tail[rest] = 0x80;
  const padded = rest + 9 <= blockSize ? blockSize : 2 * blockSize;
  tail.fill(0, rest + 1, padded);
  const bits = (before + bytes.length) * 8;
  writeWord(tail, padded - 8, Math.floor(bits / 2 ** 32));
  writeWord(tail, padded - 4, bits | 0);
  for (let offset = 0; offset < padded; offset += blockSize) hash.compress(state, tail, offset);
}

export function digest(hash: Hash, bytes: Uint8Array): Uint8Array {
  const state = Int32Array.from(hash.initial);
  finishHash(hash, state, bytes, 0);
  return stateBytes(state);
}

function stateBytes(state: Int32Array): Uint8Array {
  const bytes = new Uint8Array(state.length * 4);
  for (let index = 0; index < state.length; index++)
    writeWord(bytes, index * 4, state[index] as number);
  return bytes;
}

function writeWord(bytes: Uint8Array, at: number, word: number): void {
  bytes[at] = word >>> 24;
  bytes[at + 1] = word >>> 16;
  bytes[at + 2] = word >>> 8;
  bytes[at + 3] = word;
}

const byteHex = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

export function hex(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at++) text += byteHex[bytes[at] as number];
  return text;
}

/** A key with its first block added on both sides, which is the same for every message. */
export type HmacKey = {
  readonly hash: Hash;
  readonly inner: Int32Array;
  readonly outer: Int32Array;
};

export function hmacKey(hash: Hash, secret: Uint8Array): HmacKey {
  const key = secret.length > blockSize ? digest(hash, secret) : secret;
  const side = (pad: number): Int32Array => {
    const block = new Uint8Array(blockSize).fill(pad);
    for (let at = 0; at < key.length; at++) block[at] = (key[at] as number) ^ pad;
    const state = Int32Array.from(hash.initial);
    hash.compress(state, block, 0);
    return state;
  };
  return { hash, inner: side(0x36), outer: side(0x5c) };
}

export function hmac(key: HmacKey, message: Uint8Array): Uint8Array {
  const inner = key.inner.slice();
  finishHash(key.hash, inner, message, blockSize);
  const outer = key.outer.slice();
  finishHash(key.hash, outer, stateBytes(inner), blockSize);
  return stateBytes(outer);
}
