/** What separates words; marks count as part of the letter before them. */
const separators = /[^\p{L}\p{N}\p{Mn}\p{Mc}]+/u;
const turns = /(?<=\p{Ll}[\p{Mn}\p{Mc}]*)(?=\p{Changes_When_Lowercased})/u;
const marksFirst = /^[\p{Mn}\p{Mc}]+/u;
/** They choose how an emoji looks, and would be all that is left of one. */
const variationSelectors = /[\uFE00-\uFE0F]/g;

/**
 * Words are split at white space, punctuation, symbols and where a lower-case letter meets an
 * upper-case one. Digits stay with their word, letters of every alphabet keep, all is lower case
 * and joined by single `_`. A name without a letter or digit gives an empty string.
 */
export function snakeCase(name: string): string {
  return name
    .normalize("NFC")
    .replace(variationSelectors, "")
    .split(separators)
    .flatMap((part) => part.replace(marksFirst, "").split(turns))
    .filter((word) => word !== "")
    .join("_")
    .toLowerCase()
    .normalize("NFC");
}
