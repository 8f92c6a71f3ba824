/**
 * `X-Signature`: lower-case hex HMAC-SHA1 of the body's bytes, keyed with the shared secret in
 * UTF-8. Of a batch of a mapping, it covers the first element only.
 */

import { hex, hmac, hmacKey, type HmacKey } from "./hash.ts";
import { sha1Hash } from "./sha1.ts";
import { utf8Bytes } from "./utf8.ts";

export function signatureKey(secret: string): HmacKey {
  return hmacKey(sha1Hash, utf8Bytes(secret));
}

export function sign(key: HmacKey, body: Uint8Array): string {
  return hex(hmac(key, body));
}

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c];
const openings = [0x5b, 0x7b];
const closings = [0x5d, 0x7d];

/** What a signature may cover: the body, or of an array its first element. */
export function coverable(body: Uint8Array): Uint8Array[] {
  if (body[0] !== 0x5b) return [body];
  let depth = 0;
  let isText = false;
  for (let at = 1; at < body.length; at += 1) {
    const byte = body[at] as number;
    if (byte === quote) isText = !isText;
    else if (isText) at += byte === backslash ? 1 : 0;
    else if (depth === 0 && (byte === comma || byte === 0x5d)) return [body, body.subarray(1, at)];
    else if (openings.includes(byte)) depth += 1;
    else if (closings.includes(byte)) depth -= 1;
  }
  return [body];
}
