/** How the desktop host is built, into `out/main`, `out/preload` and `out/renderer`. */

import { join } from "node:path";
import { defineConfig } from "electron-vite";
import { rendererConfig } from "./src/launch/renderer-config.ts";

export default defineConfig({
  main: {
    build: {
      // better-sqlite3 brings a binary; everything else goes into the file.
      externalizeDeps: { exclude: ["zod"] },
      rolldownOptions: {
        input: {
          index: join(import.meta.dirname, "src/main/index.ts"),
          "thread-host": join(import.meta.dirname, "src/engine/deliver/thread-host.ts"),
        },
        // The delivery thread's program is looked for beside the file that starts it.
        output: { chunkFileNames: "[name]-[hash].js" },
      },
    },
  },
  preload: {
    build: {
      externalizeDeps: false,
      // A sandboxed preload is one CommonJS file.
      rolldownOptions: {
        input: join(import.meta.dirname, "src/preload/index.ts"),
        output: { format: "cjs", entryFileNames: "[name].cjs" },
      },
    },
  },
  renderer: {
    ...rendererConfig,
    build: {
      ...rendererConfig.build,
      rolldownOptions: { input: join(import.meta.dirname, "src/renderer/index.html") },
    },
  },
});
