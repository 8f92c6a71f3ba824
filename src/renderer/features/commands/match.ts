/** Which commands a few typed letters mean, best first, and which letters of them to mark. */

import type { Command } from "../../stores/commands.ts";

export type Match = {
  command: Command;
  /** Where the typed words stand in the label. */ marks: readonly { start: number; end: number }[];
  score: number;
};

/**
 * Every typed word must begin a word of the label, or stand in it, or in what stands beside it;
 * beginnings of the label count most.
 */
export function matchCommands(commands: readonly Command[], text: string): Match[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return commands
    .flatMap((command) => {
      const match = matchCommand(command, words);
      return match === null ? [] : [{ command, ...match }];
    })
    .sort((a, b) => b.score - a.score);
}

function matchCommand(
  { label, hint = "", also = "" }: Command,
  words: readonly string[],
): Omit<Match, "command"> | null {
  const name = label.toLowerCase();
  const beside = `${hint} ${also}`.toLowerCase();
  const marks: { start: number; end: number }[] = [];
  let score = 0;
  for (const word of words) {
    const atWordStart = name.startsWith(word) ? 0 : name.indexOf(` ${word}`) + 1;
    const start = atWordStart > 0 || name.startsWith(word) ? atWordStart : name.indexOf(word);
    if (start < 0 && !beside.includes(word)) return null;
    score += start < 0 ? 0.5 : start === 0 ? 3 : atWordStart > 0 ? 2 : 1;
    if (start >= 0) marks.push({ start, end: start + word.length });
  }
  return { marks: marks.sort((a, b) => a.start - b.start), score };
}

/** A label cut at its marks; marks that overlap count once. */
export function markedParts(
  label: string,
  marks: Match["marks"],
): { text: string; marked: boolean }[] {
  const parts: { text: string; marked: boolean }[] = [];
  let at = 0;
  for (const { start, end } of marks) {
    if (start < at) continue;
    if (start > at) parts.push({ text: label.slice(at, start), marked: false });
    parts.push({ text: label.slice(start, end), marked: true });
    at = end;
  }
  if (at < label.length) parts.push({ text: label.slice(at), marked: false });
  return parts;
}
