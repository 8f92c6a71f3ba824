/**
 * Text from outside, cut where a character would be invisible or would change the order of others,
 * so that each can be drawn as an escape.
 */

type TextPiece = {
  text: string;
  /** The character that `text` stands for, when it is an escape. */ escaped: string | null;
};

/** Controls, half surrogate pairs, direction marks, and whatever takes no room. */
const unseen = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u;
const eachUnseen = new RegExp(unseen.source, "gu");

const short: Readonly<Record<string, string>> = {
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\b": "\\b",
  "\f": "\\f",
};

function escapeOf(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  const known = short[character];
  if (known !== undefined) return known;
  return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, "0")}`;
}

/** `U+202E`, for the tooltip of an escape. */
export function codePointOf(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}

function hasUnseen(text: string): boolean {
  return unseen.test(text);
}

export function visiblePieces(text: string): TextPiece[] {
  if (!hasUnseen(text)) return text === "" ? [] : [{ text, escaped: null }];
  const pieces: TextPiece[] = [];
  let from = 0;
  for (const match of text.matchAll(eachUnseen)) {
    if (match.index > from) pieces.push({ text: text.slice(from, match.index), escaped: null });
    pieces.push({ text: escapeOf(match[0]), escaped: match[0] });
    from = match.index + match[0].length;
  }
  if (from < text.length) pieces.push({ text: text.slice(from), escaped: null });
  return pieces;
}

/** The same in one string, for places that take only text: titles, labels. */
export function visibleText(text: string): string {
  return visiblePieces(text)
    .map((piece) => piece.text)
    .join("");
}
