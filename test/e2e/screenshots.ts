/**
 * `npm run screenshots`: pictures of every view, full and empty, light and dark, wide and narrow,
 * into `out/screenshots`, and the few of them that the documentation shows into `docs/screenshots`.
 * With names (`npm run screenshots -- message-waiting`) those views alone.
 */

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { buildIfStale, root } from "../../src/launch/build.ts";
import { launchBrowser } from "../support/browser.ts";
import { fillWorkspace } from "./support/filled-workspace.ts";
import { openGuarded } from "./support/guarded-page.ts";
import { goInto } from "./support/inspector-place.ts";
import { startInspector, type RunningInspector } from "./support/running-inspector.ts";
import { smallPng } from "./support/small-png.ts";
import { emptyScreens, fullScreens, show, type Screen } from "./support/screens.ts";

const all = join(root, "out", "screenshots");
const chosen = join(root, "docs", "screenshots");

const sizes = { wide: { width: 1440, height: 900 }, narrow: { width: 1100, height: 700 } };

/** By their names in `docs/screenshots`. */
const shown: Record<string, string> = {
  "full-message-waiting-light-wide": "live-light",
  "full-message-waiting-dark-wide": "live-dark",
  "full-attempt-timeout-light-wide": "attempt",
  "full-endpoint-light-wide": "endpoints",
  "full-audience-light-wide": "audience",
  "full-client-light-wide": "client",
  "full-flow-light-wide": "flow",
  "full-scenario-failed-light-wide": "scenario",
};

/** A part of one of them. */
const part = { of: "full-message-waiting-light-wide", name: "timeline", selector: ".tl-section" };

const wanted = process.argv.slice(2);
const asWanted = (screens: readonly Screen[]): readonly Screen[] =>
  wanted.length === 0 ? screens : screens.filter(({ name }) => wanted.includes(name));

async function picture(
  browser: Browser,
  inspector: RunningInspector,
  screens: readonly Screen[],
  prefix: string,
): Promise<void> {
  const { page, problems, close } = await openGuarded(browser, inspector.url, {
    viewport: sizes.wide,
  });
  await goInto(page, inspector.address, "/settings");
  for (const screen of screens) {
    await show(page, screen);
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      for (const [size, viewport] of Object.entries(sizes)) {
        await page.setViewportSize(viewport);
        const name = `${prefix}-${screen.name}-${colorScheme}-${size}`;
        const png = await page.screenshot({ path: join(all, `${name}.png`) });
        const title = shown[name];
        if (title !== undefined) writeFileSync(join(chosen, `${title}.png`), smallPng(png));
        if (name === part.of)
          writeFileSync(
            join(chosen, `${part.name}.png`),
            smallPng(await page.locator(part.selector).last().screenshot()),
          );
      }
    }
    await page.setViewportSize(sizes.wide);
  }
  for (const problem of problems()) process.stderr.write(`${problem}\n`);
  await close();
}

await buildIfStale();
mkdirSync(all, { recursive: true });
mkdirSync(chosen, { recursive: true });
const browser = await launchBrowser();
try {
  const empty = await startInspector();
  await picture(browser, empty, asWanted(emptyScreens), "empty");
  await empty.stop();
  const full = await startInspector();
  await picture(browser, full, asWanted(fullScreens(await fillWorkspace(full))), "full");
  await full.stop();
} finally {
  await browser.close();
}
process.stdout.write(`Pictures are in ${all}; those of the documentation in ${chosen}.\n`);
