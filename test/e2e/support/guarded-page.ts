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

export async function openGuarded(
  browser: Browser,
  home: string,
  options: BrowserContextOptions = {},
): Promise<GuardedPage> {
  const context = await browser.newContext({
    viewport: { width: 1440, height: 900 },
    reducedMotion: "reduce",
    ...options,
  });
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: home });
  await context.addInitScript(watchPolicy);
  const page = await context.newPage();
  page.setDefaultTimeout(patienceMs);
  if (process.env["HOOKYARD_SLOW_PAGES"] === "1") await slowDown(page);
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
    close: () => context.close(),
  };
}
