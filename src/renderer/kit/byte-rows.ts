/** Recorded bytes cut into rows that say at which byte they begin. */

/** As the API gives bytes: text when they are valid UTF-8. */
export type RecordedBytes = string | { base64: string };

const encoder = new TextEncoder();

export function bytesOf(recorded: RecordedBytes): Uint8Array {
  if (typeof recorded === "string") return encoder.encode(recorded);
  return Uint8Array.from(atob(recorded.base64), (character) => character.charCodeAt(0));
}

export function sizeOf(recorded: RecordedBytes): number {
  if (typeof recorded === "string") {
    let size = recorded.length;
    for (let at = 0; at < recorded.length; at++) {
      const unit = recorded.charCodeAt(at);
      // Half a surrogate pair is two of the four bytes of its character.
      if (unit > 0x7ff && (unit < 0xd800 || unit > 0xdfff)) size += 2;
      else if (unit > 0x7f) size++;
    }
    return size;
  }
  const padding = /=*$/.exec(recorded.base64)?.[0].length ?? 0;
  return (recorded.base64.length / 4) * 3 - padding;
}

/** A stretch of the text, and the place of its first byte. */
type TextRow = { offset: number; start: number; end: number };

/** A row ends after a line break, or with the character that reaches its `width` in bytes. */
export function textRows(text: string, width: number): TextRow[] {
  const rows: TextRow[] = [];
  let start = 0;
  let offset = 0;
  let rowOffset = 0;
  /** Where the row is to end: a character that lies across it moves no later one. */
  let border = width;
  const endRow = (end: number): void => {
    rows.push({ offset: rowOffset, start, end });
    start = end;
    rowOffset = offset;
  };
  for (let at = 0; at < text.length;) {
    const code = text.codePointAt(at) ?? 0;
    at += code > 0xffff ? 2 : 1;
    offset += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    if (code === 0x0a) {
      endRow(at);
      border = offset + width;
    } else if (offset >= border) {
      endRow(at);
      border += width;
    }
  }
  if (start < text.length) endRow(text.length);
  return rows;
}

export function hexOf(bytes: Uint8Array): string[] {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0"));
}

/** The bytes as characters, a dot for those that are none. */
export function asciiOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) =>
    byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : ".",
  ).join("");
}
