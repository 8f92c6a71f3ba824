/**
 * Texts that the browser keeps for the page. One that refuses that, in a frame without the right to
 * it or with cookies blocked, throws at the mere mention: the page then works without.
 */

/** For all visits, or for reloads of this tab. */
type Store = "localStorage" | "sessionStorage";

export function readKept(key: string, store: Store = "localStorage"): string | null {
  try {
    return window[store].getItem(key);
  } catch {
    return null;
  }
}

/** Null removes it. Returns false when the browser has no room, or refuses. */
export function writeKept(
  key: string,
  text: string | null,
  store: Store = "localStorage",
): boolean {
  try {
    if (text === null) window[store].removeItem(key);
    else window[store].setItem(key, text);
    return true;
  } catch {
    return false;
  }
}
