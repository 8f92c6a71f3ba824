/** How the inspector's page is bundled, for every host that shows it. */

import { join } from "node:path";
import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import type { UserConfig } from "vite";

const root = fileURLToPath(new URL("../../", import.meta.url));

export const rendererConfig = {
  root: join(root, "src", "renderer"),
  base: "./",
  publicDir: false,
  plugins: [react()],
  build: {
    target: "es2024",
    modulePreload: { polyfill: false },
    // The content security policy allows files of our own and nothing inline.
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 2000,
    // A page that holds a share file has one script. What is imported late is run late all the same.
    rolldownOptions: { output: { codeSplitting: false } },
  },
} satisfies UserConfig;
