import type { Page } from "playwright-core";
import { describe, expect } from "vitest";
import { seriousFindings } from "./support/axe.ts";
import { fillWorkspace } from "./support/filled-workspace.ts";
import { test } from "./support/inspector-test.ts";
import { layoutFindings } from "./support/layout.ts";
import { emptyScreens, fullScreens, show, type Screen } from "./support/screens.ts";

const wide = { width: 1440, height: 900 };
const narrow = { width: 1100, height: 700 };
/** The least that a view has to fit; and the wide window at 200 % zoom. */
const tight = { small: { width: 800, height: 600 }, zoomed: { width: 720, height: 450 } };

/** As `02:39:35.100`, `Tue 02:39` and `24 Nov 02:39`: it does not say what a link opens. */
const timeAlone = /^(?:[A-Z][a-z]{2} |\d{1,2} [A-Z][a-z]{2} )?[\d:.\s]+$/;

/** What is wrong, by screen, colours and size. */
async function check(page: Page, screens: readonly Screen[]): Promise<Record<string, string[]>> {
  const wrong: Record<string, string[]> = {};
  const note = (name: string, findings: string[]): void => {
    if (findings.length > 0) wrong[name] = findings;
  };
  let colorScheme: "light" | "dark" = "light";
  for (const screen of screens.filter(({ isAlike }) => isAlike !== true)) {
    await show(page, screen);
    note(`${screen.name}, ${colorScheme}`, await seriousFindings(page));
    const links = page.getByRole("main").getByRole("link", { name: timeAlone });
    note(`${screen.name}, links named by a time`, await links.allTextContents());
    // The next screen begins with these colours.
    colorScheme = colorScheme === "light" ? "dark" : "light";
    await page.emulateMedia({ colorScheme });
    note(`${screen.name}, ${colorScheme}`, await seriousFindings(page, "colours"));
    note(`${screen.name}, 1440`, await layoutFindings(page));
    await page.setViewportSize(narrow);
    note(`${screen.name}, 1100`, await layoutFindings(page));
    // An open menu has its place in the window in which it was opened.
    if ((await page.getByRole("menu").count()) > 0) await page.keyboard.press("Escape");
    for (const [size, viewport] of Object.entries(tight)) {
      await page.setViewportSize(viewport);
      note(`${screen.name}, ${size}`, await layoutFindings(page));
    }
    await page.setViewportSize(wide);
  }
  return wrong;
}

describe("every view", () => {
  test("is without a serious finding of axe and fits its window, while there is nothing to show", async ({
    open,
  }) => {
    const { page } = await open("/settings");
    expect(await check(page, emptyScreens)).toEqual({});
  });

  test("is without a serious finding of axe and fits its window, when it is full", async ({
    open,
    inspector,
  }) => {
    const workspace = await fillWorkspace(inspector);
    expect(Object.keys(workspace.messages)).toHaveLength(9);
    const { page } = await open("/settings");
    expect(await check(page, fullScreens(workspace))).toEqual({});
  });
});
