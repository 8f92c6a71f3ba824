import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { downloadRuntime, findRuntime, runRuntime } from "./electron-runtime.ts";

/** A program that stands for Electron's runtime. */
const runtime = (code: string) => ({ command: process.execPath, args: ["-e", code] });

test.each<[string, { command: string; args: string[] }, number | null]>([
  ["runs, and is closed", runtime('console.log("running")'), 0],
  [
    "refuses by itself, with a sentence of its own",
    runtime('console.error("The data cannot be opened."); process.exit(1)'),
    1,
  ],
  ["runs, and crashes later", runtime('console.log("running"); process.exit(9)'), 9],
  [
    "runs, and is killed later",
    runtime('console.log("running"); setImmediate(() => process.kill(process.pid, "SIGKILL"))'),
    1,
  ],
  ["lacks a library", runtime("process.exit(127)"), null],
  ["may not make its sandbox", runtime('process.kill(process.pid, "SIGTRAP")'), null],
  ["is not a program", { command: "/nowhere/electron", args: [] }, null],
])("a runtime that %s", async (_name, program, code) => {
  expect(await runRuntime(program)).toBe(code);
});

test("nothing is shown of what a runtime says that does not start", async () => {
  const shown = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  expect(
    await runRuntime(runtime('console.error("FATAL: at Object.<anonymous>"); process.exit(133)')),
  ).toBe(null);
  expect(shown).not.toHaveBeenCalled();
  expect(await runRuntime(runtime('console.error("a note"); console.log("running")'))).toBe(0);
  expect(shown).toHaveBeenCalledOnce();
  shown.mockRestore();
});

describe("the download", () => {
  let directory: string;
  let server: Server;
  /** Who asked for a file, and is never answered. */
  let asking: Socket[];
  beforeEach(async () => {
    vi.stubEnv("ELECTRON_OVERRIDE_DIST_PATH", undefined);
    directory = mkdtempSync(join(tmpdir(), "hookyard-runtime-"));
    asking = [];
    server = createServer((request) => asking.push(request.socket));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    vi.restoreAllMocks();
    await new Promise((resolve) => {
      server.close(resolve);
      server.closeAllConnections();
    });
    rmSync(directory, { recursive: true });
  });

  /** In place of the package's own script. */
  const installWith = (code: string) => writeFileSync(join(directory, "install.js"), code);
  const writes = (file: string, text: string) =>
    `require("fs").writeFileSync(${JSON.stringify(join(directory, file))}, "${text}");`;

  test("is given up after 20 s: one that hangs is killed, and what it wrote till then is no runtime", async () => {
    const time = new AbortController();
    const timeout = vi.spyOn(AbortSignal, "timeout").mockReturnValue(time.signal);
    mkdirSync(join(directory, "dist"));
    installWith(
      `${writes("dist/electron", "half of it")} fetch("http://127.0.0.1:${(server.address() as AddressInfo).port}/");`,
    );
    const download = downloadRuntime(directory);
    expect(timeout).toHaveBeenCalledExactlyOnceWith(20_000);
    await expect.poll(() => asking.length).toBe(1);
    const [socket] = asking;
    expect(socket?.destroyed).toBe(false);
    time.abort();
    expect(await download).toBe(null);
    await expect.poll(() => socket?.destroyed).toBe(true);
    expect(existsSync(join(directory, "dist", "electron"))).toBe(true);
    expect(asking).toHaveLength(1);
  });

  test("is tried once, and answers where the runtime is, or nothing when there is none", async () => {
    mkdirSync(join(directory, "dist"));
    installWith(`${writes("tried", "")} process.exit(1);`);
    expect(await downloadRuntime(directory)).toBe(null);
    expect(existsSync(join(directory, "tried"))).toBe(true);
    installWith(`${writes("dist/runtime", "all of it")} ${writes("path.txt", "runtime")}`);
    expect(await downloadRuntime(directory)).toBe(join(directory, "dist", "runtime"));
    expect(await downloadRuntime(null)).toBe(null);
  });

  test("of one's own, elsewhere, is found there", () => {
    vi.stubEnv("ELECTRON_OVERRIDE_DIST_PATH", directory);
    expect(findRuntime(directory)).toBe(null);
    writeFileSync(join(directory, "electron"), "");
    expect(findRuntime(directory)).toBe(join(directory, "electron"));
  });
});
