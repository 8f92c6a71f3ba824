/**
 * Serious and critical findings of axe in a page. Its source comes in through the debugger, which
 * the page's policy does not bind.
 */

import axe from "axe-core";
import type { Page } from "playwright-core";

type Violation = {
  id: string;
  nodes: { target: string[]; failureSummary: string }[];
};

/** The impact of a violation is that of its rule. */
const rules = {
  all: "axe._audit.rules.filter(({ enabled, impact }) => enabled && ['serious', 'critical'].includes(impact)).map(({ id }) => id)",
  /** What another colour scheme can break. */
  colours: "['color-contrast', 'link-in-text-block']",
};

/**
 * Contrast is most of axe's work, and most of a screen is drawn as on the one before. A look is all
 * that contrast depends on: the colours, fonts, opacities and backgrounds of an element and of all
 * that it lies in, and their classes. An element is left out only when axe has found enough contrast
 * in another one of the same look, or that a pseudo-element of what it lies in hides its background
 * from axe; what failed, or what axe could not see for another reason, is looked at again.
 *
 * Two rules first take the text of every element together, to leave most of them out: they get only
 * those that they can say something about.
 */
const onlyWhatIsNew = `(() => {
  const proven = new Set();
  const ids = new Map();
  let looks = new Map();
  const properties = ["color", "fontSize", "fontWeight", "textShadow", "opacity", "filter", "mixBlendMode", "backgroundColor", "backgroundImage"];
  function lookOf(element) {
    if (element === null) return 0;
    const known = looks.get(element);
    if (known !== undefined) return known;
    const style = getComputedStyle(element);
    const values = properties.map((name) => style[name]);
    const isOff = element.matches(":disabled, [aria-disabled=true]");
    const look = [lookOf(element.parentElement), element.localName, element.getAttribute("class"), isOff, ...values].join("|");
    if (!ids.has(look)) ids.set(look, ids.size + 1);
    looks.set(element, ids.get(look));
    return ids.get(look);
  }
  const hasText = (element) =>
    element.matches("input, select, textarea") ||
    [...element.childNodes].some(({ nodeType, data }) => nodeType === Node.TEXT_NODE && data.trim() !== "");
  const onlyIf = (id, isOfInterest) => {
    const rule = axe._audit.rules.find((each) => each.id === id);
    const { matches } = rule;
    rule.matches = function (element, ...more) {
      return isOfInterest(element) && matches.call(this, element, ...more);
    };
  };
  onlyIf("color-contrast", (element) => hasText(element) && !proven.has(lookOf(element)));
  onlyIf("avoid-inline-spacing", (element) => /spacing|line-height/.test(element.getAttribute("style")));
  const check = axe._audit.checks["color-contrast"];
  const { evaluate } = check;
  check.evaluate = function (element, ...more) {
    const look = lookOf(element);
    if (proven.has(look)) return true;
    // Of what is hidden, axe says that it is enough without a look at it.
    let isMeasured = false;
    let isBehindPseudo = false;
    const { data } = this;
    this.data = (found) => {
      isMeasured = typeof found?.contrastRatio === "number";
      isBehindPseudo = found?.messageKey === "pseudoContent";
      return data.call(this, found);
    };
    const isEnough = evaluate.call(this, element, ...more);
    if ((isEnough === true && isMeasured) || isBehindPseudo) proven.add(look);
    return isEnough;
  };
  axe.configure({ noHtml: true });
  // Of one moment: a class or the colour scheme may be another one later.
  window.forgetLooks = () => void (looks = new Map());
})()`;

export async function seriousFindings(
  page: Page,
  of: keyof typeof rules = "all",
): Promise<string[]> {
  if (!(await page.evaluate<boolean>("'axe' in window"))) {
    await page.evaluate(axe.source);
    await page.evaluate(onlyWhatIsNew);
  }
  const violations = await page.evaluate<Violation[]>(
    `forgetLooks(), axe.run(document, { resultTypes: ["violations"], preload: false, iframes: false, runOnly: ${rules[of]} }).then(({ violations }) => violations)`,
  );
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(
      ({ target, failureSummary }) =>
        `${id}: ${target.join(" ")}: ${failureSummary.replaceAll(/\s+/g, " ")}`,
    ),
  );
}
