/**
 * `X-Signature`: lower-case hex HMAC-SHA1 of the body's bytes, keyed with the shared secret in
 * UTF-8.
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
