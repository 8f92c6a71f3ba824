/**
 * The element of the view that a scene highlights: the one that shows the scene's text, wherever
 * the view puts it, now or when its answer has come.
 */

import { useEffect } from "react";

const attribute = "data-highlight";
/** What a text is part of, as somebody in the audience sees it. */
const whole = "[role=row], [role=option], tr, li, .line, button, a, h1, h2, h3, dd, td, p";

function visible(element: Element): boolean {
  return element.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true });
}

/** Rows say the most in one line, and buttons and fields the least. */
function rank(element: Element): number {
  if (element.closest("nav, .strip, .filterbar, [role=tablist], [role=toolbar]") !== null) return 3;
  if (element.closest("[role=row], [role=option], tr, .stage-rows, .stage-body") !== null) return 0;
  return element.closest("button, label") === null ? 1 : 2;
}

function find(text: string): Element | null {
  const main = document.querySelector("main");
  if (main === null || text === "") return null;
  const walker = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
  let best: { element: Element; rank: number } | null = null;
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const parent = node.parentElement;
    if (parent === null || !(node.nodeValue ?? "").includes(text) || !visible(parent)) continue;
    const own = parent.closest(whole);
    const element = own !== null && main.contains(own) ? own : parent;
    const place = rank(element);
    if (best === null || place < best.rank) best = { element, rank: place };
  }
  return best?.element ?? null;
}

export function useHighlight(text: string | null, key: string): void {
  useEffect(() => {
    if (text === null) return undefined;
    let current: Element | null = null;
    const mark = (): void => {
      const found = find(text);
      if (found === current && current?.hasAttribute(attribute) === true) return;
      current?.removeAttribute(attribute);
      current = found;
      found?.setAttribute(attribute, "");
      found?.scrollIntoView({ block: "nearest" });
    };
    mark();
    const watcher = new MutationObserver(mark);
    watcher.observe(document.body, { childList: true, subtree: true, characterData: true });
    return () => {
      watcher.disconnect();
      current?.removeAttribute(attribute);
    };
  }, [text, key]);
}
