/** A real Chromium, which comes with the packages. `HOOKYARD_CHROMIUM` names another one. */

import sparticuz from "@sparticuz/chromium";
import { chromium, type Browser } from "playwright-core";

export async function launchBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: process.env["HOOKYARD_CHROMIUM"] ?? (await sparticuz.executablePath()),
    headless: true,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      "--no-first-run",
      "--disable-dev-shm-usage",
    ],
  });
}
