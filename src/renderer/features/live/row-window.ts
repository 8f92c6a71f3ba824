/**
 * Which rows a scrolled list shows. Rows are placed in a part of the list that stays where it is while the list scrolls
 * beneath it, so no coordinate grows with the number of rows.
 */

/** The row of the design, `--row`. */
export const rowHeight = 28;

/** What every browser can still scroll (Firefox ends at 17.8 million pixels). A longer list moves more than a pixel for each. */
const longest = 15_000_000;

type ListSize = { count: number; viewport: number };

type RowWindow = {
  /** Height of what scrolls. */ space: number;
  first: number;
  last: number;
  /** Where the first row stands, from the top of the view. */ shift: number;
};

function spaceOf({ count }: ListSize): number {
  return Math.min(count * rowHeight, longest);
}

/** Pixels of the list for each pixel scrolled. */
function ratioOf(size: ListSize): number {
  const space = spaceOf(size);
  return space > size.viewport ? (size.count * rowHeight - size.viewport) / (space - size.viewport) : 1;
}

export function windowOf(scrollTop: number, size: ListSize): RowWindow {
  const end = Math.max(0, size.count * rowHeight - size.viewport);
  const offset = Math.min(Math.max(0, scrollTop) * ratioOf(size), end);
  const first = Math.floor(offset / rowHeight);
  const last = Math.min(size.count, Math.ceil((offset + size.viewport) / rowHeight)) - 1;
  return { space: spaceOf(size), first, last, shift: first * rowHeight - offset };
}

/** Where to scroll so that a row is wholly in view; the same place when it is. */
export function scrollTopFor(position: number, scrollTop: number, size: ListSize): number {
  const ratio = ratioOf(size);
  const top = position * rowHeight;
  const offset = scrollTop * ratio;
  if (top < offset) return top / ratio;
  if (top + rowHeight > offset + size.viewport) return (top + rowHeight - size.viewport) / ratio;
  return scrollTop;
}
