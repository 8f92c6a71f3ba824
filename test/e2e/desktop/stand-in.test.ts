/**
 * The built desktop host, with a stand-in for Electron's module and a real Chromium for its window.
 */

import type { AddressInfo } from "node:net";
import { createServer, type Server } from "node:http";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterEach, beforeAll, describe, expect } from "vitest";
import { createApp } from "../../../src/app.ts";
import { portRequest } from "../../../src/contract/port-messages.ts";
import { connect } from "../../../src/headless/connect.ts";
import { buildDesktop, startDesktop, type DesktopProcess } from "./desktop-process.ts";
import type { PageAnswer } from "./electron-stand-in/wire.ts";
import { test as inspectorTest } from "../support/inspector-test.ts";
import { windowSuite } from "./window.suite.ts";
import { freePorts } from "../../support/free-ports.ts";

let directory: string | null = null;
const running: DesktopProcess[] = [];

beforeAll(buildDesktop);
afterEach(async () => {
  for (const desktop of running.splice(0)) await desktop.stop();
  if (directory !== null) rmSync(directory, { recursive: true, force: true });
  directory = null;
});

/** Without a page, unless a browser is given. What the test leaves running is ended after it. */
function start(flags: readonly string[], environment = {}, window: { browser?: Browser } = {}) {
  const desktop = startDesktop({ flags, environment, ...window });
  running.push(desktop);
  return desktop;
}

/** One host, with its page loaded, for tests that do not mind what the others do there. */
const test = inspectorTest.extend<{ $file: { shared: DesktopProcess } }>({
  shared: [
    async ({ browser }, use) => {
      const desktop = startDesktop({ browser });
      await desktop.page();
      await use(desktop);
      await desktop.stop();
    },
    { scope: "file" },
  ],
});

function dataDirectory(): string {
  directory = mkdtempSync(join(tmpdir(), "hookyard-data-"));
  return directory;
}

describe("the window", () => {
  windowSuite(
    test.extend<{ windowPage: Page }>({
      windowPage: async ({ shared }, use) => use((await shared.page()).page),
    }),
  );

  test("is a sandboxed page over app://, with a policy that begins with nothing", async ({
    shared: desktop,
  }) => {
    const { headers } = await desktop.page();
    expect(headers()["content-security-policy"]).toMatch(
      /^default-src 'none'; script-src 'self'; style-src 'self'; /,
    );
    expect(headers()["content-security-policy"]).not.toMatch(/connect-src|unsafe|\*/);
    expect(headers()["x-content-type-options"]).toBe("nosniff");
    expect(desktop.called("protocol.registerSchemesAsPrivileged")).toMatchObject([
      [[{ scheme: "app", privileges: { standard: true, secure: true } }]],
    ]);
    expect(desktop.called("app.enableSandbox")).toHaveLength(1);
    expect(desktop.called("new BrowserWindow")).toMatchObject([
      [
        {
          minWidth: 1100,
          minHeight: 700,
          webPreferences: {
            contextIsolation: true,
            sandbox: true,
            nodeIntegration: false,
            webviewTag: false,
            devTools: false,
          },
        },
      ],
    ]);
    await expect.poll(() => desktop.called("window.show")).toHaveLength(1);
    const menus = desktop.called("Menu.setApplicationMenu");
    expect(menus).toHaveLength(1);
    expect(JSON.stringify(menus)).not.toContain("toggleDevTools");
  });

  test("talks to the pipeline over its port alone, and gets another one when it is reloaded", async ({
    shared: desktop,
  }) => {
    const { page, problems } = await desktop.page();
    const known = problems().length;
    await page.getByRole("group", { name: "The clock" }).waitFor();
    const isAsked = (message: { from?: unknown; name?: unknown }): boolean =>
      message.from === "page" && message["name"] === "about.get";
    await expect.poll(() => desktop.overPorts().some(isAsked)).toBe(true);
    const asked = desktop.overPorts().find(isAsked);
    const answer = {
      from: "host",
      id: asked?.["id"],
      status: 200,
      body: expect.objectContaining({ ingestUrl: expect.any(String) }),
    };
    await expect.poll(() => desktop.overPorts()).toContainEqual(answer);
    await expect
      .poll(() => desktop.overPorts())
      .toContainEqual({ from: "page", watch: expect.any(Number), after: null });

    const given = desktop.portsGiven();
    const before = desktop.overPorts().length;
    await page.reload();
    await expect.poll(() => desktop.portsGiven()).toBeGreaterThan(given);
    const since = () => desktop.overPorts().slice(before);
    await expect.poll(() => since().some(isAsked)).toBe(true);
    await expect.poll(since).toContainEqual({ ...answer, id: since().find(isAsked)?.["id"] });
    expect(problems().slice(known)).toEqual([]);
  });

  test("comes back where it was, and maximised", async () => {
    const flags = [...freePorts, "--data", dataDirectory()];
    const first = start(flags);
    const window = await first.window();
    const bounds = { x: 100, y: 50, width: 1300, height: 800 };
    first.tell({ tell: "moved", window, bounds, isMaximized: true });
    first.tell({ tell: "close", window });
    expect(await first.ended).toEqual({ code: 0, errors: "" });
    expect(first.called("window.maximize")).toEqual([]);

    const second = start(flags);
    await second.window();
    expect(second.called("new BrowserWindow")).toMatchObject([[bounds]]);
    expect(second.called("window.maximize")).toHaveLength(1);
  });

  test("is the only one: a second start brings it to the front and ends", async () => {
    const flags = [...freePorts, "--data", dataDirectory()];
    const first = start(flags);
    await first.window();
    const second = start(flags);
    expect(await second.ended).toEqual({ code: 0, errors: "" });
    expect(second.called("new BrowserWindow")).toEqual([]);
    await expect.poll(() => first.called("window.focus")).toHaveLength(1);
  });
});

describe("a share file that was double-clicked", () => {
  test("has a window of its own, beside a Hookyard that runs, and stores nothing", async ({
    browser,
  }) => {
    const data = dataDirectory();
    const first = start([...freePorts, "--data", data]);
    await first.window();
    const ingest = await ingestIn(data);
    const running = createApp({
      data: ":memory:",
      ports: { ingest: 0, endpoints: 0, endpointsTls: 0 },
      version: "0.0.0",
    });
    const written = await running.api.call("shares.write", {});
    await running.stop();
    const file = join(data, "from a colleague.hookyard");
    writeFileSync(file, Buffer.from((written.body as { base64: string }).base64, "base64"));

    const temporary = join(data, "temporary");
    mkdirSync(temporary);
    const environment = { TMPDIR: temporary, TEMP: temporary, TMP: temporary };
    const desktop = start([file], environment, { browser });
    const opened = await desktop.page();
    await opened.page.getByRole("note").getByText("A share file.").waitFor();
    expect((await fetch(ingest)).status).toBeLessThan(500);
    expect(opened.problems()).toEqual([]);
    expect(first.called("window.focus")).toEqual([]);
    desktop.tell({ tell: "close", window: opened.window });
    expect(await desktop.ended).toEqual({ code: 0, errors: "" });
    expect(readdirSync(temporary)).toEqual([]);
  });

  test.each([
    ["is none", "a picture", /: This is not a share file of Hookyard\./],
    ["is not there", null, /cannot be read/],
  ])("is refused with a sentence when it %s", async (_, content, sentence) => {
    const file = join(dataDirectory(), "odd.hookyard");
    if (content !== null) writeFileSync(file, content);
    const desktop = start([file]);
    expect(await desktop.ended).toMatchObject({ code: 1 });
    expect(desktop.called("dialog.showErrorBox")).toEqual([
      ["Hookyard could not start", expect.stringMatching(sentence)],
    ]);
  });
});

describe("the page's scheme", () => {
  test.for([
    ["GET", "app://hookyard/", 200],
    ["GET", "app://hookyard/index.html", 200],
    ["GET", "app://hookyard/#/live", 200],
    ["POST", "app://hookyard/", 405],
    ["GET", "app://hookyard/none.js", 404],
    ["GET", "app://hookyard/../../package.json", 404],
    ["GET", "app://hookyard/%2e%2e/%2e%2e/package.json", 404],
    ["GET", "app://hookyard/..%2f..%2fpackage.json", 404],
    ["GET", "app://hookyard//etc/passwd", 404],
    ["GET", "app://hookyard/assets", 404],
    ["GET", "app://elsewhere/index.html", 404],
    ["GET", "app://hookyard.elsewhere/index.html", 404],
  ] as const)("%s %s answers %i", async ([method, url, status], { shared }) => {
    const answer = (await shared.ask({ ask: "request", url, method })) as PageAnswer;
    expect(answer.status).toBe(status);
    expect(answer.headers["content-security-policy"]).toContain("default-src 'none'");
  });
});

describe("security", () => {
  test.for([
    ["app://hookyard/#/sources", true, true],
    ["https://attacker.example/", true, false],
    ["file:///etc/passwd", true, false],
    ["app://elsewhere/", true, false],
    ["https://app.hookyard/", true, false],
    ["javascript:alert(1)", true, false],
    ["app://hookyard/", false, false],
  ] as const)(
    "a page that goes to %s (main frame: %s) may: %s",
    async ([url, isMainFrame, may], { shared }) => {
      const { window } = await shared.page();
      expect(await shared.ask({ ask: "navigate", window, url, isMainFrame })).toBe(may);
    },
  );

  test("no window opens, and only web addresses are opened outside", async ({
    shared: desktop,
  }) => {
    const { window } = await desktop.page();
    const urls = [
      "https://docs.example/a?b#c",
      "file:///etc/passwd",
      "http://127.0.0.1:1/",
      "smb://share/",
      "javascript:alert(1)",
      "ms-settings:",
      "app://hookyard/",
      "nonsense",
    ];
    for (const url of urls) {
      const [asked, opened] = [
        desktop.called("dialog.showMessageBox").length,
        desktop.called("shell.openExternal").length,
      ];
      expect(await desktop.ask({ ask: "open-window", window, url })).toBe(false);
      if (desktop.called("dialog.showMessageBox").length === asked) continue;
      desktop.tell({ tell: "dialog-answer", response: 0 });
      await expect.poll(() => desktop.called("shell.openExternal").length).toBe(opened + 1);
    }
    await expect
      .poll(() => desktop.called("shell.openExternal"))
      .toEqual([["https://docs.example/a?b#c"], ["http://127.0.0.1:1/"]]);
  });

  test.for([
    ["clipboard-sanitized-write", "app://hookyard/", true],
    ["clipboard-sanitized-write", "https://attacker.example/", false],
    ["clipboard-read", "app://hookyard/", false],
    ["media", "app://hookyard/", false],
    ["geolocation", "app://hookyard/", false],
    ["notifications", "app://hookyard/", false],
    ["openExternal", "app://hookyard/", false],
  ] as const)("permission %s for %s: %s", async ([permission, url, isGiven], { shared }) => {
    expect(await shared.ask({ ask: "permission", permission, url })).toEqual({
      requested: isGiven,
      checked: isGiven,
    });
  });

  test("a port is given to the page itself, and to no other frame", async ({ shared: desktop }) => {
    const { window } = await desktop.page();
    const given = desktop.portsGiven();
    for (const frame of [
      { url: "https://attacker.example/", isMainFrame: true },
      { url: "app://hookyard/", isMainFrame: false },
      { url: "app://elsewhere/", isMainFrame: true },
      { url: "about:blank", isMainFrame: true },
      { url: "", isMainFrame: true },
    ])
      desktop.tell({ tell: "ipc", window, channel: portRequest, frame });
    // What is asked after them is answered after them.
    await desktop.ask({ ask: "request", url: "app://hookyard/", method: "GET" });
    expect(desktop.portsGiven()).toBe(given);
    desktop.tell({
      tell: "ipc",
      window,
      channel: portRequest,
      frame: { url: "app://hookyard/", isMainFrame: true },
    });
    await expect.poll(() => desktop.portsGiven()).toBeGreaterThan(given);
  });
});

describe("starting", () => {
  test("says which port is taken, and uses a free one when asked to", async () => {
    const { port, server } = await takenPort();
    const desktop = start(onPorts(port, port));
    await expect
      .poll(() => desktop.called("dialog.showMessageBox"))
      .toMatchObject([
        [
          {
            message: `Port ${port} is in use by another program.`,
            buttons: ["Use Free Ports", "Quit"],
          },
        ],
      ]);
    desktop.tell({ tell: "dialog-answer", response: 0 });
    await desktop.window();
    expect(new URL(await ingestIn(desktop.data)).port).not.toBe(String(port));
    expect(desktop.called("dialog.showMessageBox")).toHaveLength(1);
    server.close();
  });

  test("ends when it is asked to quit instead", async () => {
    const { port, server } = await takenPort();
    const desktop = start(onPorts(port, 0));
    await expect.poll(() => desktop.called("dialog.showMessageBox")).toHaveLength(1);
    desktop.tell({ tell: "dialog-answer", response: 1 });
    expect(await desktop.ended).toEqual({ code: 0, errors: "" });
    server.close();
  });

  test("says in a sentence that the data cannot be opened", async () => {
    const data = dataDirectory();
    writeFileSync(
      join(data, "hookyard.db"),
      "this is not a database, and longer than the header of one would be",
    );
    const desktop = start([...freePorts, "--data", data]);
    expect(await desktop.ended).toEqual({
      code: 1,
      errors: expect.stringMatching(/^[^\n]*not a Hookyard data file[^\n]*\n$/),
    });
    expect(desktop.called("dialog.showErrorBox")).toEqual([
      ["Hookyard could not start", expect.stringContaining("not a Hookyard data file")],
    ]);
  });

  test.runIf(existsSync("/proc/self"))(
    "says at once that the data directory cannot be made, also where nothing can be",
    async () => {
      const desktop = start([...freePorts, "--data", "/proc/nothing/here"]);
      expect(await desktop.ended).toEqual({
        code: 1,
        errors: expect.stringMatching(/^The data directory [^\n]* cannot be created[^\n]*\n$/),
      });
    },
  );

  test.each([
    [["--config", "none.yaml"], /^none\.yaml was not found\.\n$/],
    [["--traces", "localhost:1"], /^The collector of traces needs an address such as [^\n]+\n$/],
  ])("says in a sentence what is wrong with %j", async (flags, errors) => {
    const desktop = start([...freePorts, ...flags, "--data", ":memory:"]);
    expect(await desktop.ended).toEqual({ code: 1, errors: expect.stringMatching(errors) });
    expect(desktop.called("dialog.showErrorBox")).toHaveLength(1);
  });

  test("says in a sentence what is wrong with a flag", async () => {
    const desktop = start(["--ingest-port", "many"]);
    expect(await desktop.ended).toEqual({
      code: 1,
      errors: "--ingest-port needs a number from 0 to 65535.\n",
    });
  });
});

test("goes on when nobody reads what it reports", async () => {
  const data = dataDirectory();
  const count = join(data, "exceptions");
  const watch = `import { writeFileSync } from "node:fs";
    let exceptions = 0;
    process.on("uncaughtExceptionMonitor", () => (exceptions += 1));
    process.on("exit", () => writeFileSync(${JSON.stringify(count)}, String(exceptions)));
    process.on("SIGUSR2", () => void Promise.reject(new Error("to be reported")));`;
  const desktop = start([...freePorts, "--data", data], {
    NODE_OPTIONS: `--import data:text/javascript;base64,${btoa(watch)}`,
  });
  await desktop.window();
  const ingest = await ingestIn(data);
  desktop.closeOutput();
  desktop.signal("SIGUSR2");
  for (let nth = 0; nth < 50; nth += 1) await (await fetch(ingest)).arrayBuffer();
  desktop.signal("SIGTERM");
  expect((await desktop.ended).code).toBe(0);
  expect(readFileSync(count, "utf8")).toBe("0");
});

describe("quitting", () => {
  test.each(["SIGTERM", "a closed window"])("by %s lets a delivery under way end", async (way) => {
    const data = dataDirectory();
    const slow = await slowReceiver();
    const app = createApp({
      data,
      ports: { ingest: 0, endpoints: 0, endpointsTls: 0 },
      version: "0.0.0",
    });
    const { body: source } = await app.api.call("sources.create", {
      name: "Shop",
      writeKey: "key",
    });
    await app.api.call("destinations.create", {
      name: "Slow",
      sourceIds: [(source as { id: string }).id],
      webhooks: [{ url: slow.url }],
    });
    await app.stop();

    const desktop = start([...freePorts, "--data", data]);
    const window = await desktop.window();
    const ingest = await ingestIn(data);
    const track = await fetch(`${ingest}/v1/track`, {
      method: "POST",
      headers: { Authorization: `Basic ${btoa("key:")}` },
      body: '{"userId":"u","event":"Bought"}',
    });
    expect(track.status).toBe(200);
    await slow.asked;
    if (way === "SIGTERM") desktop.signal("SIGTERM");
    else desktop.tell({ tell: "close", window });
    // It takes nothing in any more, and is still there for the answer. What knocks is no message:
    // one that it still let in would count below.
    await expect
      .poll(() =>
        fetch(ingest).then(
          () => "open",
          () => "closed",
        ),
      )
      .toBe("closed");
    slow.answer();
    expect(await desktop.ended).toEqual({ code: 0, errors: "" });

    const again = createApp({
      data,
      ports: { ingest: 0, endpoints: 0, endpointsTls: 0 },
      version: "0.0.0",
    });
    const { body: deliveries } = await again.api.call("deliveries.list", {});
    await again.stop();
    slow.server.close();
    expect(deliveries).toMatchObject({ items: [{ state: "delivered" }] });
  });
});

/** Where the host that runs with this data takes messages in. */
async function ingestIn(data: string): Promise<string> {
  const { ingestUrl } = await (await connect(data)).call("about.get", {});
  return ingestUrl;
}

const onPorts = (ingest: number, endpoints: number): string[] => [
  ...["--ingest-port", String(ingest)],
  ...["--endpoints-port", String(endpoints), "--endpoints-tls-port", "0"],
];

async function takenPort(): Promise<{ port: number; server: Server }> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { port: (server.address() as AddressInfo).port, server };
}

/** Answers when it is told to. */
async function slowReceiver() {
  const asked = Promise.withResolvers<void>();
  const mayAnswer = Promise.withResolvers<void>();
  const server = createServer((_request, response) => {
    asked.resolve();
    void mayAnswer.promise.then(() => response.end());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    server,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    asked: asked.promise,
    answer: mayAnswer.resolve,
  };
}
