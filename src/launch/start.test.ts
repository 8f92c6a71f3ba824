import { spawn, type ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { fileURLToPath, pathToFileURL } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { fingerprintOfSources, pagesStampFile, readStamp } from "./build.ts";
import { freePorts } from "../../test/support/free-ports.ts";

const start = fileURLToPath(new URL("./start.ts", import.meta.url));
/** In a group of its own, which ends with the test, whatever comes of it. */
function spawnStart(
  flags: string[],
  env = process.env,
): { child: ChildProcessByStdio<null, Readable, Readable>; said: { errors: string } } {
  const child = spawn(process.execPath, [start, "--data", ":memory:", ...flags], {
    stdio: ["ignore", "pipe", "pipe"],
    env,
    detached: true,
  });
  onTestFinished(() => {
    try {
      process.kill(-(child.pid ?? 0), "SIGKILL");
    } catch {
      // All of it has ended.
    }
  });
  const said = { errors: "" };
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said.errors += text;
  });
  return { child, said };
}

// Elsewhere there is always a display, and this would open the product.
test.runIf(process.platform === "linux")(
  "a share file is opened, and one that is none is refused with a sentence",
  async () => {
    const { DISPLAY: _, WAYLAND_DISPLAY: __, ...environment } = process.env;
    const directory = mkdtempSync(join(tmpdir(), "hookyard-start-"));
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
    const file = join(directory, "holiday.hookyard");
    writeFileSync(file, "a picture");
    const { child, said } = spawnStart([file], environment);
    expect(await once(child, "close")).toEqual([1, null]);
    expect(said.errors).toContain("This is not a share file of Hookyard.");
  },
);

// Elsewhere there is always a display, and this would open the product.
test.runIf(process.platform === "linux")(
  "without a display it says so in one sentence, and serves the inspector",
  async () => {
    const { DISPLAY: _, WAYLAND_DISPLAY: __, ...environment } = process.env;
    const { child, said } = spawnStart(freePorts, environment);
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const line = async () => String((await lines.next()).value);
    expect(await line()).toBe(
      "There is no display, so open the inspector's address below in a browser yourself.",
    );
    let address: string | undefined;
    while (address === undefined) address = /Inspector +(\S+)/.exec(await line())?.[1];
    const page = await fetch(address);
    expect(await page.text()).toContain("<title>Hookyard</title>");
    child.kill("SIGTERM");
    const [code] = (await once(child, "close")) as [number | null];
    expect(code).toBe(0);
    // Only the build may say something there.
    expect(said.errors.replace(/^Building Hookyard…\n/, "")).toBe("");
  },
);

test.runIf(process.platform === "linux")(
  "where Electron's runtime cannot be had it asks for it once, and opens the browser",
  async () => {
    const directory = mkdtempSync(join(tmpdir(), "hookyard-start-"));
    const asked: string[] = [];
    const mirror = createServer(({ url = "" }, response) => {
      asked.push(url);
      response.writeHead(404).end();
    });
    await new Promise<void>((resolve) => mirror.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      mirror.close();
      rmSync(directory, { recursive: true });
    });
    const opened = join(directory, "opened");
    writeFileSync(join(directory, "xdg-open"), `#!/bin/sh\ntouch "${opened}"\n`, { mode: 0o755 });
    writeFileSync(join(directory, "nobody.mjs"), "process.getuid = () => 1000;");
    const { child, said } = spawnStart(freePorts, {
      ...process.env,
      DISPLAY: ":0",
      PATH: `${directory}:${process.env["PATH"]}`,
      NODE_OPTIONS: `--import ${pathToFileURL(join(directory, "nobody.mjs")).href}`,
      ELECTRON_OVERRIDE_DIST_PATH: join(directory, "dist"),
      ELECTRON_MIRROR: `http://127.0.0.1:${(mirror.address() as AddressInfo).port}/`,
      electron_config_cache: join(directory, "cache"),
    });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const sentence =
      "Electron's runtime is missing and could not be downloaded, so Hookyard opens its inspector in your browser.";
    expect(String((await lines.next()).value)).toBe(sentence);
    await expect.poll(() => existsSync(opened)).toBe(true);
    child.kill("SIGTERM");
    expect(await once(child, "close")).toEqual([0, null]);
    expect(asked).toEqual([expect.stringMatching(/electron-v[\w.-]+\.zip$/)]);
    expect(said.errors.replace("Building Hookyard…\n", "")).toBe(
      "Downloading Electron's runtime, for 20 seconds or less…\n",
    );
  },
);

test.runIf(process.platform === "linux")(
  "where a window opens, the commands are built beside it",
  async () => {
    const directory = mkdtempSync(join(tmpdir(), "hookyard-start-"));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    writeFileSync(join(directory, "electron"), "#!/bin/sh\necho The window is open.\n", {
      mode: 0o755,
    });
    writeFileSync(join(directory, "nobody.mjs"), "process.getuid = () => 1000;");
    const { child } = spawnStart([], {
      ...process.env,
      DISPLAY: ":0",
      NODE_OPTIONS: `--import ${pathToFileURL(join(directory, "nobody.mjs")).href}`,
      ELECTRON_OVERRIDE_DIST_PATH: directory,
    });
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
    expect(await once(child, "close")).toEqual([0, null]);
    expect(output).toBe("The window is open.\n");
    expect(readStamp(pagesStampFile)).toBe(fingerprintOfSources());
  },
);

test("asked for help it says at once what it takes, and builds nothing", async () => {
  const { child, said } = spawnStart(["--help"]);
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  expect(await once(child, "close")).toEqual([0, null]);
  expect(output).toMatch(/^Usage: npm start \[-- flags\]\n/);
  expect(output).toContain("--ingest-port N");
  expect(said.errors).toBe("");
});
