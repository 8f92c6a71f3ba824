/** A real Chromium, which comes with the packages. `HOOKYARD_CHROMIUM` names another one. */

import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import sparticuz from "@sparticuz/chromium";
import { chromium, type Browser } from "playwright-core";

const modules = fileURLToPath(new URL("../../node_modules/", import.meta.url));

export async function launchBrowser(args: string[] = []): Promise<Browser> {
  return chromium.launch({
    executablePath: process.env["HOOKYARD_CHROMIUM"] ?? (await unpackChromium()),
    headless: true,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      "--no-first-run",
      "--disable-dev-shm-usage",
      // A page lives for a second, so code that is made faster, in the background, is hardly run.
      "--js-flags=--no-maglev,--no-turbofan,--min-semi-space-size=16",
      "--num-raster-threads=1",
      ...args,
    ],
  });
}

/**
 * Unpacks Chromium once per installation of the packages, and returns its file. Processes that do
 * so at the same time each unpack a copy of their own; the first one to finish renames it to its
 * final name, and the others use that.
 */
export async function unpackChromium(cache = join(modules, ".cache")): Promise<string> {
  const { version } = JSON.parse(
    readFileSync(join(modules, "@sparticuz", "chromium", "package.json"), "utf8"),
  ) as { version: string };
  const final = join(cache, `chromium-${version}`);
  const file = join(final, "chromium");
  if (existsSync(file)) return file;
  mkdirSync(cache, { recursive: true });
  const own = mkdtempSync(`${final}-`);
  try {
    // This file as a program: the package unpacks into the temporary directory, and only a process
    // can have one of its own. Its end closes the file: a file that any process has open for
    // writing cannot be executed.
    const env = { ...process.env, TMPDIR: own, TEMP: own, TMP: own };
    await promisify(execFile)(process.execPath, [fileURLToPath(import.meta.url)], { env });
    renameSync(own, final);
  } catch (error) {
    if (!existsSync(file)) throw error;
  } finally {
    rmSync(own, { recursive: true, force: true });
  }
  return file;
}

if (import.meta.main) await sparticuz.executablePath();
