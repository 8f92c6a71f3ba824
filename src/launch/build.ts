/**
 * Builds the headless program into `out/headless` when the sources are not those it was built from. Says so on
 * standard error, and nothing when there is nothing to do.
 */

import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../../", import.meta.url));
export const cliFile = join(root, "out", "headless", "cli.js");

const inputs = ["src", "package.json", "package-lock.json"];
const output = join(root, "out", "headless");
const stampFile = join(output, "built-from");

export async function buildIfStale(): Promise<void> {
  const fingerprint = fingerprintOf(inputs);
  if (fingerprint === readStamp()) return;
  process.stderr.write("Building Hookyard…\n");
  // Built beside it and moved in file by file, the entry last: a program that starts meanwhile finds a whole one.
  const built = join(root, "out", `.headless-${process.pid}`);
  try {
    await bundle(built);
    moveIn(built);
    writeFileSync(stampFile, fingerprint);
  } finally {
    rmSync(built, { recursive: true, force: true });
  }
}

async function bundle(outDir: string): Promise<void> {
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

function moveIn(built: string): void {
  mkdirSync(output, { recursive: true });
  const files = readdirSync(built).toSorted((a, b) => Number(a === "cli.js") - Number(b === "cli.js"));
  for (const file of files) renameSync(join(built, file), join(output, file));
  for (const file of readdirSync(output)) if (!files.includes(file)) rmSync(join(output, file), { recursive: true, force: true });
}

/** Names, sizes and times of all sources. Tests are left out, because nothing of them is built. */
function fingerprintOf(paths: readonly string[]): string {
  const hash = createHash("sha256");
  const add = (path: string) => {
    const { mtimeMs, size } = statSync(join(root, path));
    hash.update(`${path} ${size} ${mtimeMs}\n`);
  };
  for (const path of paths) {
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

function readStamp(): string | null {
  try {
    return readFileSync(stampFile, "utf8");
  } catch {
    return null;
  }
}
