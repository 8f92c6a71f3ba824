/** How a page gets into the inspector. */

import type { Page } from "playwright-core";

/** An empty document at the inspector's address. */
export const blankPath = "/blank";

/**
 * Live with the token in the address, as from the terminal. Any other place as from a reload, which
 * finds the token where the page has kept it: on an empty Live the page would make the first
 * source.
 */
export async function goInto(page: Page, address: string, place: string): Promise<void> {
  const { origin, hash } = new URL(address);
  if (place === "/live") {
    await page.goto(address);
  } else {
    if (page.url() !== `${origin}${blankPath}`) await page.goto(`${origin}${blankPath}`);
    await page.evaluate(
      `sessionStorage.setItem("hookyard.token", ${JSON.stringify(hash.replace("#token=", ""))})`,
    );
    await page.goto(`${origin}/#${place}`);
  }
  await page.getByRole("group", { name: "The clock" }).waitFor();
}
