/** Writes the few kinds of DER that an X.509 certificate is made of (ITU-T X.690). */

export function sequence(...parts: Uint8Array[]): Uint8Array {
  return tagged(0x30, Buffer.concat(parts));
}

export function set(...parts: Uint8Array[]): Uint8Array {
  return tagged(0x31, Buffer.concat(parts));
}

/** A positive whole number, given as big-endian bytes. */
export function integer(bytes: Uint8Array): Uint8Array {
  const start = Math.min(
    bytes.findIndex((byte) => byte !== 0),
    bytes.byteLength - 1,
  );
  const digits = start === -1 ? Buffer.alloc(1) : bytes.subarray(start);
  return tagged(0x02, (digits[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.alloc(1), digits]) : digits);
}

export function boolean(value: boolean): Uint8Array {
  return tagged(0x01, Buffer.from([value ? 0xff : 0]));
}

export function objectIdentifier(dotted: string): Uint8Array {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  return tagged(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

export function utf8String(text: string): Uint8Array {
  return tagged(0x0c, Buffer.from(text));
}

export function octetString(bytes: Uint8Array): Uint8Array {
  return tagged(0x04, bytes);
}

/** Bits whose number is a multiple of eight less `unused`. */
export function bitString(bytes: Uint8Array, unused = 0): Uint8Array {
  return tagged(0x03, Buffer.concat([Buffer.from([unused]), bytes]));
}

/** UTCTime until 2049 and GeneralizedTime from then on, as RFC 5280 wants it. */
export function time(at: Date): Uint8Array {
  const digits = at.toISOString().replace(/[-:T]|\.\d+/g, "");
  return at.getUTCFullYear() < 2050 ? tagged(0x17, Buffer.from(digits.slice(2))) : tagged(0x18, Buffer.from(digits));
}

/** A context tag around a whole value, `[n] EXPLICIT`, or around a sequence's members. */
export function explicit(tag: number, content: Uint8Array): Uint8Array {
  return tagged(0xa0 | tag, content);
}

/** A context tag in the place of a string's own, `[n] IMPLICIT`. */
export function implicit(tag: number, content: Uint8Array): Uint8Array {
  return tagged(0x80 | tag, content);
}

function tagged(tag: number, content: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.from([tag]), length(content.byteLength), content]);
}

function length(size: number): Uint8Array {
  if (size < 0x80) return Buffer.from([size]);
  const bytes: number[] = [];
  for (let rest = size; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256);
  return Buffer.from([0x80 | bytes.length, ...bytes]);
}

function base128(value: number): number[] {
  const bytes = [value & 0x7f];
  for (let rest = Math.floor(value / 128); rest > 0; rest = Math.floor(rest / 128)) bytes.unshift((rest & 0x7f) | 0x80);
  return bytes;
}
