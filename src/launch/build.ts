/**
 * Builds the headless program into `out/headless`, the inspector into `out/renderer`, the client
 * library into `out/client` and the library for tests into `out/testing`, and copies the library
 * for pages into `out/browser`, when the sources are not those they were built from. Says so on standard error, and nothing when there is nothing to do.
 */

import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import http from "node:http";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Plugin } from "vite";
import { rendererConfig } from "./renderer-config.ts";

export const root = fileURLToPath(new URL("../../", import.meta.url));
export const cliFile = join(root, "out", "headless", "cli.js");

const inputs = ["src", "electron.vite.config.ts", "package.json", "package-lock.json"];
export const pagesStampFile = join(root, "out", "built-from");
export const desktopStampFile = join(root, "out", "desktop-built-from");

export async function buildIfStale(): Promise<void> {
  const fingerprint = fingerprintOfSources();
  if (fingerprint === readStamp(pagesStampFile)) return;
  process.stderr.write("Building Hookyard…\n");
  removeAbandoned();
  // A window may be showing the inspector that was built for it.
  const hasRenderer = readStamp(desktopStampFile) === fingerprint;
  const renderer = { output: join(root, "out", "renderer"), entry: "index.html" };
  await Promise.all([
    buildInto({ output: join(root, "out", "headless"), entry: "cli.js", bundle: bundleHeadless }),
    hasRenderer ? null : buildInto({ ...renderer, bundle: bundleRenderer }),
    buildInto({ output: join(root, "out", "client"), entry: "client.js", bundle: emitClient }),
    buildInto({ output: join(root, "out", "testing"), entry: "testing.js", bundle: bundleTesting }),
    copyBrowserLibrary(),
  ]);
  writeFileSync(pagesStampFile, fingerprint);
}

/** What builds left that were killed. */
export function removeAbandoned(out = join(root, "out")): void {
  for (const name of existsSync(out) ? readdirSync(out) : []) {
    const pid = Number(/^[a-z]+-(\d+)$/.exec(name)?.[1]);
    if (pid > 0 && !isRunning(pid)) rmSync(join(out, name), { recursive: true, force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** The published files that the ingest port serves to pages, with their licence. */
export function copyBrowserLibrary(): Promise<void> {
  const library = join(root, "node_modules", "@segment", "analytics-next");
  return buildInto({
    output: join(root, "out", "browser"),
    entry: "standalone.js",
    async bundle(outDir) {
      mkdirSync(outDir, { recursive: true });
      copyFileSync(join(library, "LICENSE.MD"), join(outDir, "LICENSE.MD"));
      const published = join(library, "dist", "umd");
      for (const name of readdirSync(published))
        if (name === "standalone.js" || /\.bundle\.\w+\.js$/.test(name))
          copyFileSync(join(published, name), join(outDir, name));
    },
  });
}

type Target = { output: string; entry: string; bundle: (outDir: string) => Promise<void> };

/**
 * Built beside it and moved in file by file, the entry last: a program that starts meanwhile finds
 * a whole one.
 */
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

function bundleHeadless(outDir: string): Promise<void> {
  return bundleForNode({
    outDir,
    entry: {
      cli: join(root, "src", "headless", "cli.ts"),
      "thread-host": join(root, "src", "engine", "deliver", "thread-host.ts"),
    },
    format: "es",
    file: "[name].js",
    plugins: [httpWithoutFetch],
  });
}

/** What the library for tests shows, and so what its types are made of. */
const shownByTesting = ["testing", "scenarios", "contract", "domain"];

/**
 * For `import`, and for the `require` that jest makes of it where it is not told otherwise; with
 * the types.
 */
export async function bundleTesting(outDir: string): Promise<void> {
  const entry = join(root, "src", "testing", "testing.ts");
  const plugins = [machineTime];
  await bundleForNode({ outDir, entry, format: "es", file: "library.js", plugins });
  await bundleForNode({ outDir, entry, format: "cjs", file: "library.cjs", plugins });
  // Before the library is even linked: it imports what an older Node does not have.
  const refusal =
    'if (Number.parseInt(process.versions.node, 10) < 24) throw new Error("hookyard/testing needs Node 24 or newer; this is " + process.versions.node + ".");';
  const [, exported = ""] =
    /export ?\{([^}]*)\};?\s*$/.exec(readFileSync(join(outDir, "library.js"), "utf8")) ?? [];
  const names = exported
    .split(",")
    .map((one) => one.trim().split(" ").at(-1))
    .join(", ");
  writeFileSync(
    join(outDir, "testing.js"),
    `${refusal}\nexport const { ${names} } = await import("./library.js");\n`,
  );
  writeFileSync(
    join(outDir, "testing.cjs"),
    `${refusal}\nmodule.exports = require("./library.cjs");\n`,
  );
  const types = join(outDir, "types");
  await emit(join(root, "src", "testing", "tsconfig.build.json"), types);
  for (const name of readdirSync(types))
    if (!shownByTesting.includes(name)) rmSync(join(types, name), { recursive: true });
  // A CommonJS module may not import the types of an ES module. These go with both.
  writeFileSync(join(types, "package.json"), '{"type":"commonjs"}\n');
}

type Bundle = {
  outDir: string;
  entry: string | Record<string, string>;
  format: "es" | "cjs";
  file: string;
  plugins?: Plugin[];
};

async function bundleForNode({ outDir, entry, format, file, plugins = [] }: Bundle): Promise<void> {
  const { build } = await import("vite");
  const chunk = format === "es" ? "js" : "cjs";
  await build({
    root,
    configFile: false,
    publicDir: false,
    logLevel: "silent",
    plugins,
    ssr: { target: "node", noExternal: true, external: ["better-sqlite3"] },
    build: {
      ssr: true,
      target: "node24",
      outDir,
      emptyOutDir: false,
      minify: false,
      rolldownOptions: {
        input: entry,
        output: {
          format,
          entryFileNames: file,
          chunkFileNames: `[name]-[hash].${chunk}`,
          // The names stay, for whoever reads a stack trace; the space is most of the size.
          minify: { compress: false, mangle: false, codegen: { removeWhitespace: true } },
        },
      },
    },
  });
}

/**
 * An ES module that imports `node:http` makes Node load its whole `fetch`, because that module has
 * `WebSocket` too: 40 ms of processor time at each start, of 150 for most commands.
 */
const httpWithoutFetch: Plugin = {
  name: "http-without-fetch",
  enforce: "pre",
  resolveId: (id) => (id === "node:http" ? "\0http" : null),
  load(id) {
    if (id !== "\0http") return null;
    const members = Object.entries(Object.getOwnPropertyDescriptors(http));
    const names = members.flatMap(([name, { value }]) => (value === undefined ? [] : [name]));
    return `export const { ${names.join(", ")} } = process.getBuiltinModule("node:http");`;
  },
};

const machineTimeModule = "\0machine-time";
/**
 * The library for tests keeps the machine's time when a test sets fake timers: it waits for real
 * sockets.
 */
const machineTime: Plugin = {
  name: "machine-time",
  resolveId: (id) => (id === machineTimeModule ? id : null),
  load: (id) =>
    id === machineTimeModule
      ? `import timers from "node:timers";
export const { setTimeout, clearTimeout, setImmediate } = timers;
export const { Date } = globalThis;
export const queueMicrotask = (run) => void Promise.resolve().then(run);`
      : null,
  config: () => ({
    build: {
      rolldownOptions: {
        transform: {
          inject: Object.fromEntries(
            ["setTimeout", "clearTimeout", "setImmediate", "queueMicrotask", "Date"].map((name) => [
              name,
              [machineTimeModule, name] as [string, string],
            ]),
          ),
        },
      },
    },
  }),
};

/** File by file, with its types. */
export function emitClient(outDir: string): Promise<void> {
  return emit(join(root, "src", "client", "tsconfig.build.json"), outDir);
}

async function emit(project: string, outDir: string): Promise<void> {
  const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
  await promisify(execFile)(process.execPath, [tsc, "-p", project, "--outDir", outDir]);
}

/** A part of a bundle: its name changes with its content. */
const chunkName = /^[^/\\]+-[\w-]{8}\.c?js$/;
/** So long a Hookyard may run from a clone that is built meanwhile. */
const keptMs = 7 * 24 * 60 * 60 * 1000;

/**
 * Each file is replaced in one step, so that two builds of the same sources can do this at the same
 * time. Chunks of earlier builds stay for a while: a program that runs imports some of them late.
 */
export function moveIn(built: string, output: string, entry: string): void {
  const files = filesIn(built).toSorted((a, b) => Number(a === entry) - Number(b === entry));
  const earlier = statSync(join(output, entry), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  for (const file of files) {
    mkdirSync(dirname(join(output, file)), { recursive: true });
    renameSync(join(built, file), join(output, file));
  }
  const isKept = (file: string): boolean =>
    chunkName.test(file) && statSync(join(output, file)).mtimeMs > earlier - keptMs;
  for (const file of filesIn(output))
    if (!files.includes(file) && !isKept(file)) rmSync(join(output, file), { force: true });
}

/** Chunks that nothing of the newest build names: of earlier builds, for programs that still run. */
export function outdatedIn(output: string): string[] {
  const files = filesIn(output);
  const current = new Set(files.filter((file) => !chunkName.test(file)));
  for (const file of current) {
    const text = readFileSync(join(output, file), "utf8");
    for (const other of files) if (text.includes(other)) current.add(other);
  }
  return files.filter((file) => !current.has(file));
}

function filesIn(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)));
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
    for (const file of readdirSync(join(root, path), {
      recursive: true,
      encoding: "utf8",
    }).toSorted()) {
      if (/\.(ts|tsx|css|html|json)$/.test(file) && !/\.test\.tsx?$/.test(file))
        add(join(path, file));
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

// `npm run build`, and what npm runs before it packs.
if (import.meta.main) {
  await buildIfStale();
  if (process.argv.includes("--for-package"))
    for (const name of ["headless", "testing"])
      for (const file of outdatedIn(join(root, "out", name))) rmSync(join(root, "out", name, file));
}
