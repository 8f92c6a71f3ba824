import { blockSize, digest, finishHash, type Hash, stateBytes } from "./hash.ts";

/** A key with its first block taken in on both sides: what HMAC does anew for each message, done once. */
export type HmacKey = { readonly hash: Hash; readonly inner: Int32Array; readonly outer: Int32Array };

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
