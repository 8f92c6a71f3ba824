/**
 * Builds the headless program into `out/headless`, the inspector into `out/renderer` and the client library into `out/client`
 * when the sources are not those they were built from. Says so on standard error, and nothing when there is nothing to do.
 */

import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { rendererConfig } from "./renderer-config.ts";

export const root = fileURLToPath(new URL("../../", import.meta.url));
export const cliFile = join(root, "out", "headless", "cli.js");

const inputs = ["src", "electron.vite.config.ts", "package.json", "package-lock.json"];
export const pagesStampFile = join(root, "out", "built-from");

export async function buildIfStale(): Promise<void> {
  const fingerprint = fingerprintOfSources();
  if (fingerprint === readStamp(pagesStampFile)) return;
  process.stderr.write("Building Hookyard…\n");
  await Promise.all([
    buildInto({ output: join(root, "out", "headless"), entry: "cli.js", bundle: bundleHeadless }),
    buildInto({ output: join(root, "out", "renderer"), entry: "index.html", bundle: bundleRenderer }),
    buildInto({ output: join(root, "out", "client"), entry: "client.js", bundle: emitClient }),
  ]);
  writeFileSync(pagesStampFile, fingerprint);
}

type Target = { output: string; entry: string; bundle: (outDir: string) => Promise<void> };

/** Built beside it and moved in file by file, the entry last: a program that starts meanwhile finds a whole one. */
async function buildInto({ output, entry, bundle }: Target): Promise<void> {
  const built = `${output}-${process.pid}`;
  try {
    await bundle(built);
    moveIn(built, output, entry);
  } finally {
    rmSync(built, { recursive: true, force: true });
  }
}

async function bundleRenderer(outDir: string): Promise<void> {
  const { build } = await import("vite");
  // A test runner's environment would otherwise put React's development build into the page.
  const environment = process.env["NODE_ENV"];
  process.env["NODE_ENV"] = "production";
  try {
    await build({
      ...rendererConfig,
      configFile: false,
      logLevel: "silent",
      build: { ...rendererConfig.build, outDir, emptyOutDir: true },
    });
  } finally {
    if (environment === undefined) delete process.env["NODE_ENV"];
    else process.env["NODE_ENV"] = environment;
  }
}

async function bundleHeadless(outDir: string): Promise<void> {
  const { build } = await import("vite");
  await build({
    root,
    configFile: false,
    publicDir: false,
    logLevel: "silent",
    ssr: { target: "node", noExternal: true, external: ["better-sqlite3"] },
    build: {
      ssr: true,
      target: "node24",
      outDir,
      emptyOutDir: true,
      minify: false,
      rolldownOptions: {
        input: join(root, "src", "headless", "cli.ts"),
        output: { format: "es", entryFileNames: "cli.js", chunkFileNames: "[name]-[hash].js" },
      },
    },
  });
}

/** File by file, with its types. */
async function emitClient(outDir: string): Promise<void> {
  const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
  const project = join(root, "src", "client", "tsconfig.build.json");
  await promisify(execFile)(process.execPath, [tsc, "-p", project, "--outDir", outDir]);
}

export function moveIn(built: string, output: string, entry: string): void {
  mkdirSync(output, { recursive: true });
  const files = readdirSync(built).toSorted((a, b) => Number(a === entry) - Number(b === entry));
  for (const file of files) {
    if (statSync(join(built, file)).isDirectory()) rmSync(join(output, file), { recursive: true, force: true });
    renameSync(join(built, file), join(output, file));
  }
  for (const file of readdirSync(output)) if (!files.includes(file)) rmSync(join(output, file), { recursive: true, force: true });
}

/** Names, sizes and times of all sources. Tests are left out, because nothing of them is built. */
export function fingerprintOfSources(): string {
  const hash = createHash("sha256");
  const add = (path: string) => {
    const { mtimeMs, size } = statSync(join(root, path));
    hash.update(`${path} ${size} ${mtimeMs}\n`);
  };
  for (const path of inputs) {
    if (!statSync(join(root, path)).isDirectory()) {
      add(path);
      continue;
    }
    for (const file of readdirSync(join(root, path), { recursive: true, encoding: "utf8" }).toSorted()) {
      if (/\.(ts|tsx|css|html|json)$/.test(file) && !/\.test\.tsx?$/.test(file)) add(join(path, file));
    }
  }
  return hash.digest("hex");
}

export function readStamp(file: string): string | null {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return null;
  }
}
