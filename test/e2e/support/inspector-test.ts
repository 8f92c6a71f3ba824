/**
 * `test` of the browser tests: a browser for the files of a worker, a running inspector and a page
 * for each test. A page that saw anything that must not happen fails its test.
 */

import { join } from "node:path";
import type { Browser, BrowserContextOptions } from "playwright-core";
import { expect, test as base } from "vitest";
import { root } from "../../../src/launch/build.ts";
import { launchBrowser } from "../../support/browser.ts";
import { keepPage, openGuarded, type GuardedPage, type KeptPage } from "./guarded-page.ts";
import { blankPath, goInto } from "./inspector-place.ts";
import {
  serveInspectors,
  startInspector,
  type RunningInspector,
  type ServedInspectors,
} from "./running-inspector.ts";

export type OpenInspector = {
  /** Where the page is taken once the token has been taken from its address. */
  (place?: string, options?: BrowserContextOptions): Promise<GuardedPage>;
};

type Fixtures = {
  browser: Browser;
  /** Where the inspectors of a worker's tests are, one after the other. */
  served: ServedInspectors;
  keep: { page(): Promise<KeptPage>; drop(): Promise<void> };
  inspector: RunningInspector;
  /** Opens a page of the inspector. */
  open: OpenInspector;
};

export const test = base.extend<Fixtures>({
  browser: [
    // oxlint-disable-next-line no-empty-pattern -- vitest reads from it that nothing is needed
    async ({}, use) => {
      const browser = await launchBrowser();
      await use(browser);
      await browser.close();
    },
    { scope: "worker" },
  ],
  served: [
    // oxlint-disable-next-line no-empty-pattern
    async ({}, use) => {
      const served = await serveInspectors();
      await use(served);
      await served.stop();
    },
    { scope: "worker" },
  ],
  keep: [
    async ({ browser, served: { url } }, use) => {
      let kept: Promise<KeptPage> | null = null;
      const drop = async (): Promise<void> => {
        await (await kept)?.close();
        kept = null;
      };
      await use({ page: () => (kept ??= keepPage(browser, url, `${url}${blankPath}`)), drop });
      await drop();
    },
    { scope: "worker" },
  ],
  inspector: async ({ served }, use) => {
    const inspector = await startInspector({ at: served });
    await use(inspector);
    await inspector.stop();
  },
  open: async ({ browser, served, keep, inspector, task }, use) => {
    const pages: GuardedPage[] = [];
    await use(async (place = "/live", options = {}) => {
      const kept = inspector.url === served.url ? await (await keep.page()).take(options) : null;
      const guarded = kept ?? (await openGuarded(browser, inspector.url, options));
      pages.push(guarded);
      await goInto(guarded.page, inspector.address, place);
      return guarded;
    });
    const failed = (task.result?.errors?.length ?? 0) > 0 || task.result?.state === "fail";
    if (failed) {
      for (const [nth, { page }] of pages.entries())
        await page.screenshot({
          path: join(root, "out", "e2e-failures", `${task.id}-${nth}.png`),
        });
      // The next test must not meet what this one left.
      await keep.drop();
    }
    for (const guarded of pages) await guarded.close();
    expect(pages.flatMap((guarded) => guarded.problems())).toEqual([]);
  },
});

type Shared = {
  $file: { filled: RunningInspector; visited: GuardedPage };
  $test: {
    inspector: RunningInspector;
    /** Takes the page to a place, as when the user comes from another view. */
    visit: (place?: string) => Promise<GuardedPage>;
  };
};

/**
 * For tests of one file that look at the same data and leave it as it is: one inspector, filled
 * once, and one page, which goes from test to test. `open` opens another page of the same
 * inspector.
 */
export const sharing = (fill: (inspector: RunningInspector) => Promise<unknown>) =>
  test.extend<Shared>({
    filled: [
      // oxlint-disable-next-line no-empty-pattern
      async ({}, use) => {
        const inspector = await startInspector();
        await fill(inspector);
        await use(inspector);
        await inspector.stop();
      },
      { scope: "file" },
    ],
    visited: [
      async ({ browser, filled }, use) => {
        const guarded = await openGuarded(browser, filled.url);
        await goInto(guarded.page, filled.address, "/settings");
        await use(guarded);
        await guarded.close();
      },
      { scope: "file" },
    ],
    inspector: ({ filled }, use) => use(filled),
    visit: async ({ visited, task }, use) => {
      const { page, problems } = visited;
      const before = problems().length;
      await use(async (place = "/live") => {
        // Whatever the last test left open.
        await page.keyboard.press("Escape");
        await page.getByRole("dialog").waitFor({ state: "detached" });
        for (const next of ["/settings", place]) {
          await page.evaluate(
            `document.activeElement?.blur(); location.hash = ${JSON.stringify(`#${next}`)}`,
          );
          const view = `#/${next.split(/[/?]/)[1]}`;
          await page.locator(`nav [aria-current=page][href^="${view}"]`).waitFor();
        }
        return visited;
      });
      if ((task.result?.errors?.length ?? 0) > 0 || task.result?.state === "fail")
        await page.screenshot({ path: join(root, "out", "e2e-failures", `${task.id}.png`) });
      expect(problems().slice(before)).toEqual([]);
    },
  });
