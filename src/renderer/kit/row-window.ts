/**
 * Which rows a scrolled list shows. The rows stay in a sticky part of the list while the list
 * scrolls beneath it, so no coordinate grows with the number of rows.
 */

/**
 * Every browser can scroll this far (Firefox stops at 17.8 million pixels). A longer list moves by
 * more than a pixel per pixel.
 */
const maxScrollPx = 15_000_000;

export type ListSize = {
  count: number;
  rowPx: number;
  /** The height in which rows are seen. */ viewport: number;
};

type RowWindow = {
  /** The height of the scrolled content. */ space: number;
  first: number;
  last: number;
  /** The offset of the first row from the top of the view. */ shift: number;
};

function spaceOf({ count, rowPx }: ListSize): number {
  return Math.min(count * rowPx, maxScrollPx);
}

/** Pixels of the list for each pixel scrolled. */
function ratioOf(size: ListSize): number {
  const space = spaceOf(size);
  return space > size.viewport
    ? (size.count * size.rowPx - size.viewport) / (space - size.viewport)
    : 1;
}

export function windowOf(scrollTop: number, size: ListSize): RowWindow {
  const end = Math.max(0, size.count * size.rowPx - size.viewport);
  const offset = Math.min(Math.max(0, scrollTop) * ratioOf(size), end);
  const first = Math.floor(offset / size.rowPx);
  const last = Math.min(size.count, Math.ceil((offset + size.viewport) / size.rowPx)) - 1;
  return { space: spaceOf(size), first, last, shift: first * size.rowPx - offset };
}

/** Where to scroll to make a row fully visible; unchanged when it is. */
export function scrollTopFor(position: number, scrollTop: number, size: ListSize): number {
  const ratio = ratioOf(size);
  const top = position * size.rowPx;
  const offset = scrollTop * ratio;
  if (top < offset) return top / ratio;
  if (top + size.rowPx > offset + size.viewport) return (top + size.rowPx - size.viewport) / ratio;
  return scrollTop;
}
