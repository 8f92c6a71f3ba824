/** One word for a shell. Plain words need no quotes; in quotes only the quote itself is special. */
export function shellQuoted(text: string): string {
  return /^[\w.:/@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
