/**
 * What the installers are made of, held to what the desktop host needs and what it must not be able
 * to do.
 */

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parse } from "yaml";

const read = (path: string): string =>
  readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
const builder = parse(read(".electron-builder.yaml")) as Record<string, unknown>;
const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };

test("the runtime can be nothing but Hookyard: every fuse is set", () => {
  expect(builder["electronFuses"]).toEqual({
    runAsNode: false,
    enableNodeOptionsEnvironmentVariable: false,
    enableNodeCliInspectArguments: false,
    enableCookieEncryption: true,
    enableEmbeddedAsarIntegrityValidation: true,
    onlyLoadAppFromAsar: true,
    loadBrowserProcessSpecificV8Snapshot: false,
    grantFileProtocolExtraPrivileges: false,
    resetAdHocDarwinSignature: true,
  });
});

test("the program is one archive, with only the binary of better-sqlite3 beside it", () => {
  expect(builder["asar"]).toBe(true);
  expect(builder["asarUnpack"]).toEqual(["node_modules/better-sqlite3/**/*.node"]);
});

test("Node's own packages stay out of it", () => {
  const { optionalDependencies } = JSON.parse(read("resources/node/package.json")) as {
    optionalDependencies: Record<string, string>;
  };
  expect(builder["files"]).toContain("!node_modules/{node-*,zod}/**/*");
  expect(Object.keys(optionalDependencies).every((name) => name.startsWith("node-"))).toBe(true);
});

test("the builder is installed from a lock file of its own, at an exact version", () => {
  const { dependencies } = JSON.parse(read("resources/installers/package.json")) as {
    dependencies: Record<string, string>;
  };
  expect(dependencies["electron-builder"]).toMatch(/^\d+\.\d+\.\d+$/);
  expect(scripts["dist"]).toContain("npm ci --prefix resources/installers");
  expect(scripts["dist"]).toContain("resources/installers/node_modules/electron-builder/cli.js");
});
