/**
 * The bytes of a text; half a surrogate pair becomes U+FFFD, as it does everywhere where texts
 * become bytes.
 */
export function utf8Bytes(text: string): Uint8Array {
  const length = text.length;
  const bytes = new Uint8Array(length * 3);
  let size = 0;
  for (let at = 0; at < length; at++) {
    let code = text.charCodeAt(at);
    if (code < 0x80) {
      bytes[size++] = code;
      continue;
    }
    if (code < 0x800) {
      bytes[size++] = 0xc0 | (code >> 6);
      bytes[size++] = 0x80 | (code & 0x3f);
      continue;
    }
    if (code >= 0xd800 && code <= 0xdfff) {
      const next = code <= 0xdbff && at + 1 < length ? text.charCodeAt(at + 1) : 0;
      if (next >= 0xdc00 && next <= 0xdfff) {
        at++;
        code = 0x10000 + ((code - 0xd800) << 10) + (next - 0xdc00);
        bytes[size++] = 0xf0 | (code >> 18);
        bytes[size++] = 0x80 | ((code >> 12) & 0x3f);
        bytes[size++] = 0x80 | ((code >> 6) & 0x3f);
        bytes[size++] = 0x80 | (code & 0x3f);
        continue;
      }
      code = 0xfffd;
    }
    bytes[size++] = 0xe0 | (code >> 12);
    bytes[size++] = 0x80 | ((code >> 6) & 0x3f);
    bytes[size++] = 0x80 | (code & 0x3f);
  }
  return bytes.slice(0, size);
}

/** The text of the bytes, or null when they are not UTF-8. */
export function utf8Text(bytes: Uint8Array): string | null {
  let escaped = "";
  for (const byte of bytes) {
    escaped +=
      byte < 0x80 && byte !== 0x25
        ? String.fromCharCode(byte)
        : `%${byte.toString(16).padStart(2, "0")}`;
  }
  try {
    return decodeURIComponent(escaped);
  } catch {
    return null;
  }
}
