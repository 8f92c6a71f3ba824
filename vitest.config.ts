import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

/** Only for what never ends: a machine with other work to do must not decide about a test. */
const patienceMs = 120_000;
const patience = { testTimeout: patienceMs, hookTimeout: patienceMs, expect: { poll: { timeout: 60_000 } } };

/** As its users import it; `test/testing/built-package.test.ts` takes the built one. */
const resolve = { alias: { "hookyard/testing": fileURLToPath(new URL("src/testing/testing.ts", import.meta.url)) } };

export default defineConfig({
  test: {
    // Every file has its own real sockets and stores, and waits for them half of its time: three at a time keep two cores busy.
    maxWorkers: 3,
    projects: [
      {
        resolve,
        // Nothing of the product is kept in modules, so the files that a worker runs share them, which takes a fifth of the time less.
        test: { ...patience, name: "parts", isolate: false, include: ["src/**/*.test.ts", "test/**/*.test.ts"], exclude: ["test/e2e/**"] },
      },
      {
        test: {
          ...patience,
          name: "browser",
          include: ["test/e2e/**/*.test.ts"],
          globalSetup: ["test/e2e/support/prepare.ts"],
        },
      },
    ],
  },
});
