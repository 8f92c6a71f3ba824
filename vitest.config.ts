import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** These say how the tests run, and not how Hookyard does. */
const ofTests = /^HOOKYARD_(?:ATTACK_SEED|CHROMIUM|MUTATE|MUTATE_TEST|SLOW_PAGES)$/;
// The environment of a user of Hookyard says nothing to the programs that the tests start, and no
// proxy of the network gets what they send to this machine.
for (const name of Object.keys(process.env))
  if (/^(?:HOOKYARD_.+|FORCE_COLOR|GITHUB_ACTIONS)$/.test(name) && !ofTests.test(name))
    delete process.env[name];
// Java has its variables and the names of files in the encoding of the locale.
if (process.platform === "linux") {
  delete process.env["LC_ALL"];
  process.env["LC_CTYPE"] = "C.UTF-8";
}
process.env["NO_PROXY"] = process.env["no_proxy"] = "localhost,127.0.0.1";

/** Only for what never ends: a machine with other work to do must not decide about a test. */
const patienceMs = 300_000;
const shared = {
  testTimeout: patienceMs,
  hookTimeout: patienceMs,
  expect: { poll: { timeout: 240_000 } },
  // Nothing of the product is kept in modules, so the files that a worker runs share them, and the
  // browser.
  isolate: false,
  // Many tests start the program from its sources, which costs half of the time once they are
  // compiled.
  env: {
    NODE_COMPILE_CACHE: fileURLToPath(new URL("node_modules/.cache/compiled", import.meta.url)),
  },
};

/** As its users import it; `test/testing/built-package.test.ts` takes the built one. */
const resolve = {
  alias: { "hookyard/testing": fileURLToPath(new URL("src/testing/testing.ts", import.meta.url)) },
};

/**
 * These take longest, so they start first, and the many short ones fill the time of the other
 * workers.
 */
const longest = [
  "/test/e2e/views",
  "/test/e2e/story",
  "/test/e2e/desktop/",
  "/test/e2e/hostile",
  "/test/e2e/filter",
  "/test/e2e/dev-loop",
  "/test/e2e/demo",
  "/test/e2e/flow",
  "/test/receivers/check.",
  "/test/receivers/explore",
  "/src/check/",
  "/test/crash/",
  "/test/conformance/workspaces",
  "/test/simulation/",
  "/test/command-line/verbs",
  "/test/receivers/",
  "verification-snippets",
  "/test/testing/built",
  "/test/scenarios/",
  "/test/clients/",
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const place = longest.findIndex((part) => moduleId.includes(part));
      return place === -1 ? longest.length : place;
    };
    const sorted = await super.sort(files);
    // A worker serves one project, so the files of each stay together.
    return sorted.toSorted((a, b) => (a.project === b.project ? rank(a) - rank(b) : 0));
  }
}

export default defineConfig({
  test: {
    // Every file has its own real sockets, stores and processes, and waits for them half of its time:
    // with four at a time, two cores are idle for a quarter of it.
    maxWorkers: 6,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        resolve,
        test: {
          ...shared,
          name: "parts",
          include: ["src/**/*.test.ts", "test/**/*.test.ts"],
          exclude: ["test/e2e/**"],
        },
      },
      {
        test: {
          ...shared,
          name: "browser",
          include: ["test/e2e/**/*.test.ts"],
          globalSetup: ["test/e2e/support/prepare.ts"],
        },
      },
    ],
  },
});
