/**
 * A page that keeps what must not happen in it: errors on the console, exceptions, violations of
 * its content security policy, requests to anybody but the inspector.
 */

import type { Browser, BrowserContextOptions, Page } from "playwright-core";

/** Only for what never comes: a machine with other work to do must not decide about a test. */
const patienceMs = 120_000;

export type GuardedPage = {
  page: Page;
  /** What went wrong and was not expected. */
  problems(): string[];
  /** From now on, lines of the console like this are part of the story. */
  expect(pattern: RegExp): void;
  close(): Promise<void>;
};

/** Before anything of the page runs: a violation becomes a line of the console. */
const watchPolicy = `document.addEventListener("securitypolicyviolation", (event) =>
  console.error("policy: " + event.violatedDirective + " " + event.blockedURI + " " + event.sample));`;

/**
 * `HOOKYARD_SLOW_PAGES=1` finds what only a fast machine does: each answer comes late, and keys are
 * pressed slower than what waits for a pause of the user.
 */
async function slowDown(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page);
  await session.send("Network.enable");
  await session.send("Network.emulateNetworkConditions", {
    offline: false,
    latency: 250,
    downloadThroughput: -1,
    uploadThroughput: -1,
  });
  const type = page.keyboard.type.bind(page.keyboard);
  page.keyboard.type = (text) => type(text, { delay: 320 });
}

/** How a page is unless a test asks for something else. */
const usual = {
  viewport: { width: 1440, height: 900 },
  colorScheme: "light",
  reducedMotion: "reduce",
} as const;

async function newPage(
  browser: Browser,
  home: string,
  options: BrowserContextOptions,
): Promise<Page> {
  const context = await browser.newContext({ ...usual, ...options });
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: home });
  await context.addInitScript(watchPolicy);
  const page = await context.newPage();
  page.setDefaultTimeout(patienceMs);
  if (process.env["HOOKYARD_SLOW_PAGES"] === "1") await slowDown(page);
  return page;
}

function guard(page: Page, home: string): Omit<GuardedPage, "close"> {
  const found: string[] = [];
  const expected: RegExp[] = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning")
      found.push(`console ${message.type()}: ${message.text()} (${message.location().url})`);
  });
  page.on("pageerror", (error) => found.push(`exception: ${error.stack ?? error.message}`));
  page.on("request", (request) => {
    if (!request.url().startsWith(`${home}/`) && !/^(?:data|blob):/.test(request.url()))
      found.push(`request to ${request.url()}`);
  });
  return {
    page,
    problems: () => found.filter((line) => !expected.some((pattern) => pattern.test(line))),
    expect: (pattern) => void expected.push(pattern),
  };
}

export async function openGuarded(
  browser: Browser,
  home: string,
  options: BrowserContextOptions = {},
): Promise<GuardedPage> {
  const page = await newPage(browser, home, options);
  return { ...guard(page, home), close: () => page.context().close() };
}

export type KeptPage = Awaited<ReturnType<typeof keepPage>>;

/** The events of a page that tests listen to. */
const heard = ["console", "pageerror", "request", "requestfinished", "requestfailed", "download"];

/**
 * A page for one test after the other: loading the inspector in another one costs twice as much.
 * Each test finds it as if it was new: nothing stored, no listeners, the usual size and colours, and
 * `blank` before it.
 */
export async function keepPage(browser: Browser, home: string, blank: string) {
  const page = await newPage(browser, home, {});
  let isUsed = false;
  await page.goto(blank);
  return {
    /** Null while a test has it, and where only a page of its own can be as it is asked for. */
    async take(options: BrowserContextOptions): Promise<GuardedPage | null> {
      const { viewport, colorScheme, reducedMotion, ...others } = { ...usual, ...options };
      if (isUsed || viewport === null || Object.keys(others).length > 0) return null;
      isUsed = true;
      await page.setViewportSize(viewport);
      await page.emulateMedia({ colorScheme, reducedMotion });
      return {
        ...guard(page, home),
        async close() {
          if (page.isClosed()) return;
          for (const event of heard) page.removeAllListeners(event);
          await page.unrouteAll();
          for (const other of page.context().pages()) if (other !== page) await other.close();
          await page.mouse.move(0, 0);
          await page.goto(blank);
          await page.evaluate("localStorage.clear(); sessionStorage.clear()");
          isUsed = false;
        },
      };
    },
    close: () => page.context().close(),
  };
}
