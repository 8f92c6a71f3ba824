/**
 * Serious and critical findings of axe in a page. Its source comes in through the debugger, which
 * the page's policy does not bind.
 */

import axe from "axe-core";
import type { Page } from "playwright-core";

type Violation = {
  id: string;
  nodes: { target: string[]; html: string; failureSummary: string }[];
};

/** The impact of a violation is that of its rule. */
const rules = {
  all: "axe._audit.rules.filter(({ enabled, impact }) => enabled && ['serious', 'critical'].includes(impact)).map(({ id }) => id)",
  /** What another colour scheme can break. */
  colours: "['color-contrast']",
};

export async function seriousFindings(
  page: Page,
  of: keyof typeof rules = "all",
): Promise<string[]> {
  if (!(await page.evaluate<boolean>("'axe' in window"))) await page.evaluate(axe.source);
  const violations = await page.evaluate<Violation[]>(
    `axe.run(document, { resultTypes: ["violations"], preload: false, iframes: false, runOnly: ${rules[of]} }).then(({ violations }) => violations)`,
  );
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(
      ({ target, failureSummary }) =>
        `${id}: ${target.join(" ")}: ${failureSummary.replaceAll(/\s+/g, " ")}`,
    ),
  );
}
