/** What `npm pack` packs, and how much there is once it is installed. */

import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { buildIfStale, outdatedIn, root } from "../../src/launch/build.ts";

const maxBytes = 45_000_000;

beforeAll(buildIfStale);

type Packed = { path: string; size: number };

function packed(): Packed[] {
  const out = execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], {
    cwd: root,
    encoding: "utf8",
    shell: process.platform === "win32",
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [found] = Object.values(JSON.parse(out) as Record<string, { files: Packed[] }>);
  if (found === undefined) throw new Error("npm pack says nothing.");
  // What `prepack` removes.
  const outdated = ["headless", "testing"].flatMap((name) =>
    outdatedIn(join(root, "out", name)).map((file) => `out/${name}/${file}`),
  );
  return found.files.filter(({ path }) => !outdated.includes(path));
}

function bytesIn(directory: string): number {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
}

test("the package has the program, its schemas and helpers, and installs below 45 MB", () => {
  const files = packed();
  const paths = files.map(({ path }) => path);
  for (const path of [
    "out/headless/cli.js",
    "out/renderer/index.html",
    "out/client/client.js",
    "out/client/client.d.ts",
    "out/testing/testing.js",
    "out/testing/testing.cjs",
    "out/testing/types/testing/testing.d.ts",
    "out/testing/types/package.json",
    "resources/scenario.schema.json",
    "resources/config.schema.json",
    "resources/command-line.schema.json",
    "resources/action/action.yml",
    "resources/helpers/hookyard_pytest.py",
    "resources/helpers/hookyard.go",
    "SECURITY.md",
    "CHANGELOG.md",
    "LICENSE",
  ])
    expect(paths).toContain(path);
  const published =
    /^(?:(?:out\/(?:browser|client|headless|renderer|testing)|resources)\/|docs\/[^/]+\.md$)/;
  expect(paths.filter((path) => path.includes("/") && !published.test(path))).toEqual([]);
  // Agents read these offline. Who changes Hookyard itself has a clone.
  const links = ["AGENTS.md", "llms.txt"].flatMap((page) =>
    [...readFileSync(join(root, page), "utf8").matchAll(/\]\(([\w./-]+)/g)].map(
      ([, path = ""]) => path,
    ),
  );
  expect(links).toContain("docs/scenarios.md");
  expect(links.filter((path) => path !== "CONTRIBUTING.md" && !paths.includes(path))).toEqual([]);
  const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
    packages: Record<string, { dev?: boolean; link?: boolean }>;
  };
  const installed = Object.entries(lock.packages)
    .filter(([path, { dev, link }]) => path.startsWith("node_modules/") && !dev && !link)
    .map(([path]) => bytesIn(join(root, path)));
  const sizes = [...files.map(({ size }) => size), ...installed];
  expect(sizes.reduce((sum, bytes) => sum + bytes)).toBeLessThan(maxBytes);
});

test("what the built program imports comes with it: everything else is bundled", () => {
  const { dependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    dependencies: Record<string, string>;
  };
  const imported = ["headless", "testing"].flatMap((name) => {
    const out = join(root, "out", name);
    return readdirSync(out)
      .filter((file) => file.endsWith(".js"))
      .flatMap((file) => [
        ...readFileSync(join(out, file), "utf8").matchAll(/\b(?:from|import) ?"([a-z@][^"]*)"/g),
      ])
      .map(([, from = ""]) => from);
  });
  expect(imported).toContain("better-sqlite3");
  expect(
    imported.filter((from) => !from.startsWith("node:") && dependencies[from] === undefined),
  ).toEqual([]);
});
