/**
 * What is wrong with the layout of a page, in words: what sticks out, what is cut off, a frame that
 * has moved, a control without words.
 */

import type { Page } from "playwright-core";

/** Runs in the page. */
const findings = String.raw`(async () => {
  // What measures itself does so in the frame after the one that gave it its size, and is drawn
  // again in a task after that.
  for (let frames = 0; frames < 3; frames += 1) {
    await new Promise((next) => requestAnimationFrame(next));
    await new Promise((next) => setTimeout(next));
  }
  const found = [];
  const root = document.scrollingElement;
  const { innerWidth: width, innerHeight: height } = window;
  if (root.scrollWidth > width) found.push("the page is " + root.scrollWidth + " px wide in a window of " + width);
  if (root.scrollHeight > height) found.push("the page is " + root.scrollHeight + " px high in a window of " + height);
  const describe = (element) => {
    const name = element.getAttribute("aria-label") ?? element.textContent.trim().slice(0, 40);
    return element.tagName.toLowerCase() + "." + [...element.classList].join(".") + " “" + name.slice(0, 60) + "”";
  };
  for (const [selector, edges] of [[".topbar", { left: 0, top: 0, right: width }], [".rail", { left: 0 }], [".statusbar", { left: 0, right: width, bottom: height }], [".main", { right: width }]]) {
    const box = document.querySelector(selector)?.getBoundingClientRect();
    for (const [edge, wanted] of Object.entries(edges)) {
      if (box === undefined || Math.abs(box[edge] - wanted) > 1) found.push(selector + " has its " + edge + " at " + box?.[edge] + ", not at " + wanted);
    }
  }
  // A window of 800 has room for what a head holds.
  for (const head of document.querySelectorAll(".pane-title, :is(.retries-bar, .flow-bar) > *")) {
    if (width >= 800 && head.offsetHeight > 52) found.push(describe(head) + " breaks onto a second line");
  }
  for (const split of document.querySelectorAll(".split")) {
    if (split.children.length !== 3) found.push("a split pane has " + split.children.length + " parts: " + [...split.children].map(describe).join(", "));
  }
  const scrolls = (style) => /auto|scroll/.test(style.overflowX);
  const clips = (style) => /hidden|clip/.test(style.overflowX);
  for (const element of document.querySelectorAll("body *")) {
    if (!(element instanceof HTMLElement) || !element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
    const style = getComputedStyle(element);
    const box = element.getBoundingClientRect();
    if (box.width <= 1 || box.height <= 1) continue;
    const isCode = element.closest("pre, textarea, input, select") !== null;
    const wide = element.scrollWidth - element.clientWidth;
    if (wide > 1 && element.clientWidth > 0 && style.display !== "inline") {
      // A map may be larger than its window, and has a list beside it.
      if (scrolls(style) && !isCode && !element.matches(".flow-area")) found.push(describe(element) + " scrolls sideways by " + wide + " px");
      if (clips(style) && style.textOverflow !== "ellipsis" && !isCode && !element.closest("[aria-hidden=true]") && cut(element, box)) {
        found.push(describe(element) + " cuts off " + wide + " px: " + cut(element, box));
      }
    }
    if ((box.right > width + 1 || box.left < -1) && visible(element)) found.push(describe(element) + " sticks out of the window, " + Math.round(box.left) + " to " + Math.round(box.right));
  }
  for (const control of document.querySelectorAll("button, a[href]")) {
    if (control.closest("[aria-hidden=true]") !== null || !control.checkVisibility({ visibilityProperty: true })) continue;
    const isNamed = ["aria-label", "aria-labelledby", "title"].some((name) => control.getAttribute(name));
    if (!isNamed && control.innerText.trim() === "") found.push(control.outerHTML.slice(0, 80) + " has lost its words");
  }
  for (const control of document.querySelectorAll("main :is(button, a[href], input, select, textarea)")) {
    if (control.closest(".sr, [aria-hidden=true], [role=grid], .flow-area") !== null || control.matches(".sr") || !control.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
    const box = control.getBoundingClientRect();
    if (box.width <= 1 || box.height <= 1) continue;
    // What no scrolling brings into view: below or above the first ancestor that clips.
    for (let at = control.parentElement; at !== null && at !== document.body; at = at.parentElement) {
      const { overflowY } = getComputedStyle(at);
      if (/auto|scroll/.test(overflowY)) break;
      const frame = at.getBoundingClientRect();
      if (/hidden|clip/.test(overflowY) && (box.top > frame.bottom - 4 || box.bottom < frame.top + 4)) {
        found.push(describe(control) + " is out of reach in " + describe(at));
        break;
      }
    }
    if (box.top >= height && !scrollsSomewhere(control)) found.push(describe(control) + " is below the window");
  }
  function scrollsSomewhere(element) {
    for (let at = element.parentElement; at !== null; at = at.parentElement) if (/auto|scroll/.test(getComputedStyle(at).overflowY)) return true;
    return false;
  }
  /** The text or control inside that cannot be seen to its end, unless an ellipsis says so. */
  function cut(element, box) {
    for (const inner of element.querySelectorAll("*")) {
      if (!(inner instanceof HTMLElement) || !inner.checkVisibility() || inner.closest("[aria-hidden=true], .sr, pre, textarea")) continue;
      if (inner.children.length > 0 && !inner.matches("button, a, input, select")) continue;
      const rect = inner.getBoundingClientRect();
      if (rect.width > 1 && rect.right > box.right + 1.5 && rect.left < box.right + 400) {
        let at = inner;
        for (; at !== element; at = at.parentElement) if (getComputedStyle(at).overflowX !== "visible") break;
        if (at === element || at === inner) return describe(inner);
      }
    }
    return "";
  }
  function visible(element) {
    for (let at = element.parentElement; at !== null && at !== document.body; at = at.parentElement) {
      const style = getComputedStyle(at);
      if (style.overflowX !== "visible") return false;
    }
    return true;
  }
  return [...new Set(found)];
})()`;

/** As often as a busy machine may take to read what the view shows, and to lay it out. */
const looks = 50;

/** What is wrong and stays wrong: a view that is still being read is laid out again. */
export async function layoutFindings(page: Page): Promise<string[]> {
  let found: string[] = [];
  for (let look = 0; look < looks; look += 1) {
    found = await page.evaluate<string[]>(findings);
    if (found.length === 0) break;
  }
  return found;
}
