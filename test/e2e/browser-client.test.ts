/**
 * The client library for browsers, as it is published, built into a page of another origin by the
 * lines that the inspector shows.
 */

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";
import { afterAll, beforeAll, expect, test as base } from "vitest";
import type { Browser } from "playwright-core";
import { clientSnippet } from "../../src/renderer/features/sources/client-snippets.ts";
import { launchBrowser } from "../support/browser.ts";
import { starting, until } from "../support/running-app.ts";

const test = base.extend("start", starting);
const library = "@segment/analytics-next";
const out = fileURLToPath(new URL("../../out/", import.meta.url));

let browser: Browser;
beforeAll(async () => {
  browser = await launchBrowser();
});
afterAll(() => browser.close());

test("its calls arrive, and it asks nobody else for anything", async ({
  start,
  onTestFinished,
}) => {
  const app = await start.app();
  await app.call("sources.create", { name: "Shop", kind: "web", writeKey: "wk_web" });
  const program = clientSnippet("browser", { ingestUrl: app.ingestUrl, writeKey: "wk_web" });
  expect(program).toContain(library);
  const shop = await serve(
    await built(
      `${program}analytics.identify("u_1042", { plan: "pro" });\nanalytics.page("Docs", "Home");\n`,
    ),
  );
  onTestFinished(shop.stop);

  const page = await browser.newPage();
  const asked: string[] = [];
  page.on("request", (request) => asked.push(new URL(request.url()).origin));
  await page.goto(shop.url);
  const items = await until(async () => {
    const list = await app.call("messages.list", {});
    return list.items.length === 3 && list.items;
  });
  await page.close();

  expect(items.map(({ type, event }) => `${type} ${event}`).toSorted()).toEqual([
    "identify null",
    "page Home",
    "track Order Completed",
  ]);
  expect(new Set(asked)).toEqual(new Set([shop.url, app.ingestUrl]));
});

/**
 * The files of a page with this program, by their paths. Built inside the project, where its
 * packages are found.
 */
async function built(program: string): Promise<Map<string, string>> {
  const folder = await mkdtemp(join(out, "browser-client-"));
  try {
    await writeFile(join(folder, "main.js"), program);
    await writeFile(
      join(folder, "index.html"),
      `<!doctype html><title>Shop</title><script type="module" src="./main.js"></script>`,
    );
    const result = await build({
      configFile: false,
      logLevel: "silent",
      root: folder,
      build: { write: false },
    });
    if (!("output" in result)) throw new Error("vite built something else than a page");
    return new Map(
      result.output.map((file) => [
        `/${file.fileName}`,
        file.type === "chunk" ? file.code : String(file.source),
      ]),
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function serve(
  files: Map<string, string>,
): Promise<{ url: string; stop: () => Promise<void> }> {
  const server = createServer((request, response) => {
    const path = request.url === "/" ? "/index.html" : (request.url ?? "");
    response.setHeader("Content-Type", path.endsWith(".js") ? "text/javascript" : "text/html");
    response.writeHead(files.has(path) ? 200 : 404);
    response.end(files.get(path));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}`,
    stop: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
