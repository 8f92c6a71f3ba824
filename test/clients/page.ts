/** A page in a real Chromium with a client library in it, which may send to one address only. */

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { build } from "vite";

/** The script of a page, with the packages of that folder. */
export async function bundled(program: string, modules: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "hookyard-page-"));
  try {
    await symlink(join(modules, "node_modules"), join(folder, "node_modules"), "junction");
    const entry = join(folder, "main.js");
    await writeFile(entry, program);
    const result = await build({
      configFile: false,
      logLevel: "silent",
      root: folder,
      build: { write: false, minify: false, lib: { entry, formats: ["iife"], name: "main" } },
    });
    const [output] = Array.isArray(result) ? result : [];
    const [chunk] = output?.output ?? [];
    if (chunk?.type !== "chunk") throw new Error("vite built something else than a script");
    return chunk.code;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

type OpenPage = {
  /** What the page asked for elsewhere, which it did not get; known once it is closed. */
  elsewhere: string[];
  log: string[];
  /** Leaves it. */
  close(): Promise<void>;
};

export async function openPage(
  browser: Browser,
  script: string,
  pointed: { url: string; writeKey: string; count: number },
): Promise<OpenPage> {
  const { url, ...rest } = pointed;
  const { host, origin } = new URL(url);
  const context = await browser.newContext();
  const page = await context.newPage();
  const elsewhere: string[] = [];
  const log: string[] = [];
  page.on("console", (message) => log.push(message.text()));
  page.on("pageerror", (error) => log.push(String(error)));
  // From a server of this machine: Chromium refuses loopback addresses to any other page. The policy
  // refuses all other addresses, and costs less than to ask here about each request; only this
  // document hears what it refuses.
  const allowed = `'self' 'unsafe-inline' 'unsafe-eval' data: blob: ${origin}`;
  const shop = createServer((_request, response) =>
    response
      .setHeader("Content-Type", "text/html")
      .setHeader("Content-Security-Policy", `default-src ${allowed}; form-action 'none'`)
      .end(shopPage),
  );
  await new Promise<void>((resolve) => shop.listen(0, "127.0.0.1", resolve));
  const home = `http://localhost:${(shop.address() as AddressInfo).port}`;
  // Of its frames and workers too.
  context.on("request", (request) => {
    const asked = new URL(request.url());
    if (/^https?:$/.test(asked.protocol) && ![home, origin].includes(asked.origin))
      elsewhere.push(asked.href);
  });
  await page.goto(`${home}/`);
  await page.evaluate((values) => Object.assign(globalThis, { pointed: values }), {
    ...rest,
    host,
    origin,
  });
  await page.addScriptTag({ content: script });
  return {
    elsewhere,
    log,
    async close() {
      elsewhere.push(...(await page.evaluate<string[]>("refused")));
      await context.close();
      shop.closeAllConnections();
      await new Promise((resolve) => shop.close(resolve));
    },
  };
}

const shopPage = `<!doctype html><title>Shop</title><script>
  const refused = [];
  addEventListener("securitypolicyviolation", ({ blockedURI }) => refused.push(blockedURI));
</script>`;

export const programOf = (file: string): string =>
  readFileSync(new URL(`browser/${file}`, import.meta.url), "utf8");
