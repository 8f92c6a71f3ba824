/** `npm run dev`: on the sources, and on a copy of them, whose files the tests edit. */

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect } from "vitest";
import { root } from "../../src/launch/build.ts";
import { composerPage } from "./pages/composer.ts";
import { framePage } from "./pages/frame.ts";
import { openGuarded, type GuardedPage } from "./support/guarded-page.ts";
import { test } from "./support/inspector-test.ts";
import { lastingPorts } from "../support/free-ports.ts";

const running: ChildProcess[] = [];
afterAll(async () => {
  for (const child of running) await end(child);
});

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGKILL");
  await once(child, "exit");
}

/** The sources, with links to the packages and a cache of its own. */
function copySources() {
  const copy = realpathSync(mkdtempSync(join(tmpdir(), "hookyard-dev-")));
  for (const part of [
    "src",
    "resources/scenarios",
    "resources/bare",
    "package.json",
    "package-lock.json",
    "tsconfig.json",
  ])
    cpSync(join(root, part), join(copy, part), { recursive: true });
  mkdirSync(join(copy, "node_modules"));
  for (const name of readdirSync(join(root, "node_modules")).filter(
    (name) => !name.startsWith("."),
  ))
    symlinkSync(join(root, "node_modules", name), join(copy, "node_modules", name));
  return {
    directory: copy,
    edit(path: string, from: string, to: string): void {
      const file = join(copy, path);
      const text = readFileSync(file, "utf8");
      expect(text).toContain(from);
      writeFileSync(file, text.replace(from, to));
    },
  };
}

async function startLoop(directory: string) {
  const child = spawn(
    process.execPath,
    [join(directory, "src", "launch", "dev.ts"), "--data", ":memory:", ...(await lastingPorts())],
    {
      cwd: directory,
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  running.push(child);
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  await expect.poll(() => output).toMatch(/\n {2}Data +in memory only\n/);
  const address = /Inspector +(\S+)/.exec(output)?.[1] ?? "";
  const ingest = /Ingest +(\S+)/.exec(output)?.[1] ?? "";
  const { origin, hash } = new URL(address);
  return {
    child,
    output: () => output,
    address,
    origin,
    ingest,
    call: (path: string) =>
      fetch(`${origin}${path}`, {
        headers: { Authorization: `Bearer ${hash.replace("#token=", "")}` },
      }),
  };
}

type Edited = ReturnType<typeof copySources> & {
  loop: Awaited<ReturnType<typeof startLoop>>;
  guarded: GuardedPage;
};

/** A copy with its loop and an open page, for the tests that edit it. */
const editing = test.extend<{ $file: { edited: Edited } }>({
  edited: [
    async ({ browser }, use) => {
      const copy = copySources();
      const loop = await startLoop(copy.directory);
      const guarded = await openGuarded(browser, loop.origin);
      await guarded.page.goto(loop.address);
      await framePage(guarded.page).clock.waitFor();
      await guarded.page.evaluate("window.isSamePage = true");
      await use({ ...copy, loop, guarded });
      await guarded.close();
      await end(loop.child);
      rmSync(copy.directory, { recursive: true });
    },
    { scope: "file" },
  ],
});

editing(
  "an edit of the inspector reaches the open page, which keeps its state",
  async ({ edited: { edit, guarded } }) => {
    const { page } = guarded;
    await page.keyboard.press("n");
    const composer = composerPage(page);
    await composer.body.fill('{ "userId": "typed" }');

    edit("src/renderer/features/composer/composer.tsx", "Compose a message", "Write a message");
    const renamed = page.getByRole("dialog", { name: "Write a message" });
    await renamed.waitFor();
    await expect
      .poll(() => renamed.getByRole("textbox", { name: "The call" }).inputValue())
      .toBe('{ "userId": "typed" }');

    edit("src/renderer/kit/tokens.css", ":root {", ":root { --edited: yes;");
    await expect
      .poll(() =>
        page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--edited')"),
      )
      .toBe("yes");
    expect(await page.evaluate("window.isSamePage")).toBe(true);
    await page.keyboard.press("Escape");
    await renamed.waitFor({ state: "detached" });
    expect(guarded.problems()).toEqual([]);
  },
);

editing(
  "an edit of the engine restarts it on its ports, and the open page goes on with its token",
  async ({ edited: { edit, loop, guarded } }) => {
    // Of the calls that an engine leaves unanswered when it ends.
    guarded.expect(/net::ERR_|502 \(Bad Gateway\)/);
    const { page } = guarded;
    const frame = framePage(page);

    edit("src/headless/http-api.ts", "No call has this path.", "Nobody answers this call.");
    await expect
      .poll(async () => (await loop.call("/api/nothing")).text())
      .toContain("Nobody answers this call.");
    expect((await fetch(`${loop.ingest}/v1/batch`, { method: "POST", body: "{}" })).status).toBe(
      400,
    );
    await frame.mode("paused").click();
    await expect.poll(() => frame.mode("paused").getAttribute("aria-checked")).toBe("true");
    expect(await page.evaluate("window.isSamePage")).toBe(true);

    edit("src/headless/http-api.ts", "../app-errors.ts", "../none.ts");
    await expect.poll(loop.output).toContain("It restarts when its sources change.");
    edit("src/headless/http-api.ts", "../none.ts", "../app-errors.ts");
    expect(await (await loop.call("/api/nothing")).text()).toContain("Nobody answers this call.");
    expect(guarded.problems()).toEqual([]);
  },
);

test.for(["SIGINT", "SIGTERM", "SIGKILL"] as const)(
  "%s ends the engine with the loop",
  async (signal) => {
    const loop = await startLoop(root);
    expect((await loop.call("/api/stats")).status).toBe(200);
    const ended = once(loop.child, "exit");
    loop.child.kill(signal);
    expect(await ended).toEqual(signal === "SIGKILL" ? [null, "SIGKILL"] : [0, null]);
    for (const url of [loop.origin, loop.ingest])
      await expect
        .poll(() =>
          fetch(url).then(
            () => "open",
            () => "closed",
          ),
        )
        .toBe("closed");
  },
);

editing(
  "pages of other origins and callers without the token get nothing of the API",
  async ({ edited: { loop } }) => {
    expect((await fetch(`${loop.origin}/api/stats`)).status).toBe(401);
    expect(
      (await fetch(`${loop.origin}/api/stats`, { headers: { Origin: "http://localhost:3000" } }))
        .status,
    ).toBe(403);
    const page = await fetch(loop.origin, { headers: { Origin: "http://localhost:3000" } });
    expect(page.headers.get("access-control-allow-origin")).toBe(null);
  },
);
