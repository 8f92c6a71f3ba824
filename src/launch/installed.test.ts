import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { root } from "./build.ts";

const program = "src/launch/installed.js";

/** A clone whose lock file names these packages, with those in it that are installed. */
function clone(locked: Record<string, string>, installed: Record<string, string>): string {
  const directory = mkdtempSync(join(tmpdir(), "hookyard-clone-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const write = (path: string, value: object) => {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), JSON.stringify(value));
  };
  const entries = Object.entries(locked).map(([name, version]) => [`node_modules/${name}`, { version }]);
  write("package-lock.json", { packages: { "": { dependencies: {}, devDependencies: locked }, ...Object.fromEntries(entries) } });
  for (const [name, version] of Object.entries(installed)) write(`node_modules/${name}/package.json`, { version });
  mkdirSync(dirname(join(directory, program)), { recursive: true });
  copyFileSync(join(root, program), join(directory, program));
  return directory;
}

test.each<[string, Record<string, string>, string]>([
  ["all is there", { "@a/a": "1.0.0", b: "2.0.0" }, ""],
  ["one is missing", { b: "2.0.0" }, "Run npm ci first: Hookyard needs @a/a 1.0.0, which is not installed here.\n"],
  ["one is of before a pull", { "@a/a": "1.0.0", b: "1.9.9" }, "Run npm ci first: Hookyard needs b 2.0.0, which is not installed here.\n"],
])("when %s", (_what, installed, sentence) => {
  const directory = clone({ "@a/a": "1.0.0", b: "2.0.0" }, installed);
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(directory, program)], { encoding: "utf8" });
  expect({ status, stdout, stderr }).toEqual({ status: sentence === "" ? 0 : 1, stdout: "", stderr: sentence });
});

test("every script that needs the packages says so instead of a stack trace, in a clone without any", () => {
  const directory = clone({ vite: "8.0.0" }, {});
  copyFileSync(join(root, "package.json"), join(directory, "package.json"));
  for (const script of ["start", "serve", "dev", "build", "check", "test"]) {
    const { status, stderr } = spawnSync(`npm --silent run ${script}`, { cwd: directory, encoding: "utf8", shell: true });
    expect({ script, status, stderr }).toEqual({ script, status: 1, stderr: expect.stringMatching(/^Run npm ci first: .*\n$/) });
  }
});
