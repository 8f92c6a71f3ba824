/**
 * The page of one window, in a real Chromium: its files come from the host's `protocol.handle`, the
 * built preload runs in a world of its own before anything of the page, and a message port that the
 * host gives away is a real one in the page. Chromium alone cannot load `app:`, so the page has an
 * https origin that stands for it.
 */

import { readFileSync } from "node:fs";
import type { Browser, CDPSession, Page, Route } from "playwright-core";
import { openGuarded, type GuardedPage } from "../../support/guarded-page.ts";
import type { PageAnswer, Question, ToStandIn } from "./wire.ts";

const origin = "https://hookyard.example";
const world = "preload";

export type ChromiumPage = GuardedPage & {
  window: number;
  load(): Promise<void>;
  /** Those of the page itself. */
  headers(): Record<string, string>;
  post(channel: string, ports: number[]): void;
  portMessage(port: number, data: unknown): void;
  closePort(port: number): void;
};

type FromPreload =
  | { tell: "ipc"; channel: string }
  | { tell: "port"; port: number; data: unknown }
  | { tell: "port-closed"; port: number };

/** What the preload finds: `electron`, as a sandboxed one gets it. */
const preloadWorld = `
  const listeners = new Map();
  const ports = new Map();
  const toHost = (message) => globalThis.toHost(JSON.stringify(message));
  globalThis.fromHost = {
    post(channel, ids) {
      const pages = ids.map((id) => {
        const { port1, port2 } = new MessageChannel();
        ports.set(id, port1);
        port1.onmessage = ({ data }) => toHost({ tell: "port", port: id, data });
        port1.addEventListener("close", () => toHost({ tell: "port-closed", port: id }));
        return port2;
      });
      for (const listener of listeners.get(channel) ?? []) listener({ ports: pages });
    },
    port: (id, data) => ports.get(id)?.postMessage(data),
    close: (id) => ports.get(id)?.close(),
  };
  const ipcRenderer = {
    send: (channel) => toHost({ tell: "ipc", channel }),
    on: (channel, listener) => listeners.set(channel, [...(listeners.get(channel) ?? []), listener]),
  };
  const require = (name) => {
    if (name === "electron") return { ipcRenderer };
    throw new Error("a sandboxed preload has no " + name);
  };`;

export async function openChromiumPage({
  browser,
  window,
  url,
  preload,
  ask,
  tell,
}: {
  browser: Browser;
  window: number;
  /** Of `app:`, or of Vite's server in the dev loop. */
  url: string;
  /** The file. */
  preload: string;
  ask: (question: Question) => Promise<unknown>;
  tell: Tell;
}): Promise<ChromiumPage> {
  const home = new URL(originUrl(url)).origin;
  const guarded = await openGuarded(browser, home);
  const { page } = guarded;
  let isLoaded = false;
  let headers: Record<string, string> = {};

  async function route(given: Route): Promise<void> {
    const request = given.request();
    const mapped = appUrl(request.url());
    if (request.isNavigationRequest() && isLoaded) {
      const isMainFrame = isMainFrameOf(page, given);
      if (
        isMainFrame === null ||
        !(await ask({ ask: "navigate", window, url: mapped, isMainFrame }))
      )
        return given.abort("aborted");
    }
    if (home !== origin && request.url().startsWith(`${home}/`)) return given.continue();
    if (mapped === request.url()) return given.abort("blockedbyclient");
    const { status, headers, body } = (await ask({
      ask: "request",
      url: mapped,
      method: request.method(),
    })) as PageAnswer;
    return given.fulfill({ status, headers, body: Buffer.from(body) });
  }
  await page.context().route("**/*", route);
  page.on("popup", (popup) => {
    void ask({ ask: "open-window", window, url: popup.url() }).then(() => popup.close());
  });

  const session = await page.context().newCDPSession(page);
  const inPreload = await runPreload({
    session,
    page,
    window,
    code: readFileSync(preload, "utf8"),
    tell,
  });
  return {
    ...guarded,
    window,
    headers: () => headers,
    async load() {
      const response = await page.goto(originUrl(url));
      headers = (await response?.allHeaders()) ?? {};
      isLoaded = true;
      tell({ tell: "ready-to-show", window });
    },
    post(channel, ports) {
      for (const port of ports) inPreload.ports.add(port);
      inPreload.run(`post(${JSON.stringify(channel)}, ${JSON.stringify(ports)})`);
    },
    portMessage: (port, data) => inPreload.run(`port(${port}, ${JSON.stringify(data)})`),
    closePort: (port) => inPreload.run(`close(${port})`),
  };
}

type Tell = (message: Extract<ToStandIn, { tell: string }>) => void;
type InPreload = {
  /** In the world of the document that is there now. */
  run(expression: string): void;
  /** Which that document has. */
  ports: Set<number>;
};

async function runPreload({
  session,
  page,
  window,
  code,
  tell,
}: {
  session: CDPSession;
  page: Page;
  window: number;
  code: string;
  tell: Tell;
}): Promise<InPreload> {
  let current: string | null = null;
  const ports = new Set<number>();

  session.on("Runtime.executionContextCreated", ({ context }) => {
    if (context.name === world) current = context.uniqueId;
  });
  // With a document go its ports.
  session.on("Runtime.executionContextsCleared", () => {
    current = null;
    for (const port of ports) tell({ tell: "port-closed", port });
    ports.clear();
  });
  session.on("Runtime.bindingCalled", ({ name, payload }) => {
    if (name !== "toHost") return;
    const message = JSON.parse(payload) as FromPreload;
    tell(
      message.tell === "ipc"
        ? { ...message, window, frame: { url: appUrl(page.url()), isMainFrame: true } }
        : message,
    );
  });
  await session.send("Runtime.enable");
  await session.send("Page.enable");
  await session.send("Runtime.addBinding", { name: "toHost", executionContextName: world });
  // A preload runs in the main frame only.
  const source = `if (window === window.top) { ${preloadWorld}\n${code} }`;
  await session.send("Page.addScriptToEvaluateOnNewDocument", { worldName: world, source });

  return {
    ports,
    run(expression) {
      if (current === null) return;
      // The document may go at any moment; its ports are then told to be closed.
      session
        .send("Runtime.evaluate", {
          expression: `fromHost.${expression}`,
          uniqueContextId: current,
        })
        .catch(() => undefined);
    },
  };
}

/** Null for a page that is not ours. */
function isMainFrameOf(page: Page, route: Route): boolean | null {
  try {
    const frame = route.request().frame();
    return frame.page() === page ? frame === page.mainFrame() : null;
  } catch {
    return null;
  }
}

function appUrl(url: string): string {
  return url === origin || url.startsWith(`${origin}/`)
    ? `app://hookyard${url.slice(origin.length)}`
    : url;
}

function originUrl(url: string): string {
  return url.replace(/^app:\/\/hookyard/, origin);
}
