/** Builds the desktop host with electron-vite, when its sources are not those it was built from. */

import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  copyBrowserLibrary,
  desktopStampFile,
  fingerprintOfSources,
  moveIn,
  pagesStampFile,
  readStamp,
  removeAbandoned,
  root,
} from "./build.ts";

const parts = [
  { name: "renderer", entry: "index.html" },
  { name: "preload", entry: "index.cjs" },
  { name: "main", entry: "index.js" },
];

export async function buildDesktopIfStale(): Promise<void> {
  const fingerprint = fingerprintOfSources();
  if (fingerprint === readStamp(desktopStampFile)) return;
  process.stderr.write("Building Hookyard's window…\n");
  removeAbandoned();
  const built = join(root, "out", `desktop-${process.pid}`);
  try {
    const { build } = await import("electron-vite");
    await build({
      root,
      configFile: join(root, "electron.vite.config.ts"),
      logLevel: "silent",
      build: { outDir: built, emptyOutDir: true },
    });
    // Another host may be showing the inspector that is there; a current one is left alone.
    const stale = parts.filter(
      ({ name }) => name !== "renderer" || readStamp(pagesStampFile) !== fingerprint,
    );
    for (const { name, entry } of stale) moveIn(join(built, name), join(root, "out", name), entry);
    await copyBrowserLibrary();
  } finally {
    rmSync(built, { recursive: true, force: true });
  }
  writeFileSync(desktopStampFile, fingerprint);
}

// `npm run build:desktop`
if (import.meta.main) await buildDesktopIfStale();
