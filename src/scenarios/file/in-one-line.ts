/** Texts that somebody else wrote, in sentences and lists. */

export const longestShown = 60;

/** As it is when that is one plain line, else as JSON; a long one is cut. */
export function inOneLine(text: string): string {
  const plain = text !== "" && !/[\p{C}\p{Z}]{2}|^\p{Z}|\p{Z}$|[\p{Cc}\p{Zl}\p{Zp}]/u.test(text);
  const shown = plain ? text : JSON.stringify(text);
  return shown.length > longestShown ? `${shown.slice(0, longestShown)}…` : shown;
}
