/**
 * The client library for browsers in pages of another origin: as it is published, built into a page
 * by the lines that the inspector shows; and loaded from the ingest port by the classic snippet.
 */

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { max, min } from "@segment/snippet";
import { fileURLToPath } from "node:url";
import { build } from "vite";
import { afterAll, beforeAll, describe, expect, test as base } from "vitest";
import type { Browser, Page } from "playwright-core";
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

describe("the classic snippet, with this port in place of the hosted service's", () => {
  /** Every call that the page makes, and all that its console says. */
  async function visit(
    url: string,
    inside: Pick<Browser, "newPage"> = browser,
  ): Promise<{ page: Page; seen: Seen }> {
    const page = await inside.newPage();
    const seen: Seen = { asked: [], answered: 0, failed: [], console: [] };
    page.on("request", (request) => seen.asked.push(request.url()));
    page.on("requestfinished", () => (seen.answered += 1));
    page.on("requestfailed", (request) => seen.failed.push(request.url()));
    page.on("response", (response) => {
      if (response.status() >= 400) seen.failed.push(response.url());
    });
    page.on("console", (message) => seen.console.push(message.text()));
    page.on("pageerror", (error) => seen.console.push(String(error)));
    await page.goto(url);
    return { page, seen };
  }

  const pageWith = (snippet: string, more = ""): Map<string, string> =>
    new Map([
      ["/index.html", `<!doctype html><title>Shop</title><script>${snippet}</script>${more}`],
      ["/favicon.ico", ""],
    ]);

  test.for([
    ["minified", min],
    ["readable", max],
  ] as const)(
    "the %s one loads the library from here, and its calls arrive here",
    async ([, snippet], { start, onTestFinished }) => {
      const app = await start.app();
      await app.call("sources.create", { name: "Shop", kind: "web", writeKey: "wk_web" });
      const shop = await serve(
        pageWith(
          snippet({ apiKey: "wk_web" }).replace("https://cdn.segment.com", app.ingestUrl),
          `<script>
            analytics.identify("u_1042", { plan: "pro" });
            analytics.track("Order Completed", { total: 184.5 });
            analytics.trackLink(document.createElement("a"), "Link Clicked");
          </script>`,
        ),
      );
      onTestFinished(shop.stop);

      // What the address adds and the link are in parts of the library that it loads by itself.
      const { page, seen } = await visit(`${shop.url}/?ajs_event=Mail%20Opened`);
      const items = await until(async () => {
        const list = await app.call("messages.list", {});
        return list.items.length === 4 && list.items;
      });
      const bundles = () => seen.asked.filter((url) => url.includes("/bundles/"));
      // A page that is closed fails what it still asks for.
      await until(() => bundles().length > 1 && seen.answered === seen.asked.length);
      await page.close();

      expect(items.map(({ type, event }) => `${type} ${event}`).toSorted()).toEqual([
        "identify null",
        "page null",
        "track Mail Opened",
        "track Order Completed",
      ]);
      const origins = seen.asked.map((url) => new URL(url).origin);
      expect(new Set(origins)).toEqual(new Set([shop.url, app.ingestUrl]));
      expect(seen.failed).toEqual([]);
      expect(seen.console).toEqual([]);
    },
  );

  test("a key that no source has is refused where the console shows it", async ({
    start,
    onTestFinished,
  }) => {
    const app = await start.app();
    const shop = await serve(
      pageWith(min({ apiKey: "wk_wrong" }).replace("https://cdn.segment.com", app.ingestUrl)),
    );
    onTestFinished(shop.stop);
    const { page, seen } = await visit(shop.url);
    await until(() => seen.console.length > 0);
    await page.close();
    expect(seen.console).toEqual([expect.stringContaining("no source has the write key wk_wrong")]);
  });

  test("a public page needs the browser's permission for this machine", async ({
    start,
    onTestFinished,
  }) => {
    const app = await start.app();
    await app.call("sources.create", { name: "Shop", kind: "web", writeKey: "wk_web" });
    const shop = await serve(
      pageWith(min({ apiKey: "wk_web" }).replace("https://cdn.segment.com", app.ingestUrl)),
    );
    onTestFinished(shop.stop);
    const { port } = new URL(shop.url);
    const wary = await launchBrowser([`--ip-address-space-overrides=127.0.0.1:${port}=public`]);
    onTestFinished(() => wary.close());

    // Denied beforehand, as Chromium sometimes ends a page that asks while it is loading.
    const denied = await wary.newContext({ permissions: [] });
    const refused = await visit(shop.url, denied);
    await until(() => refused.seen.console.length > 0);
    expect(refused.seen.console[0]).toContain("access the `loopback` address space");
    expect((await app.call("messages.list", {})).items).toEqual([]);

    const context = await wary.newContext({ permissions: ["local-network-access"] });
    const allowed = await visit(shop.url, context);
    await until(async () => (await app.call("messages.list", {})).items.length === 1);
    expect(allowed.seen.console).toEqual([]);
  });
});

type Seen = { asked: string[]; answered: number; failed: string[]; console: string[] };

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
    const { pathname } = new URL(request.url ?? "/", "http://localhost");
    const path = pathname === "/" ? "/index.html" : pathname;
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
