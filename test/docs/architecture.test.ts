/** The picture of an event's way has files that are there, and the page leaves out no folder. */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const src = fileURLToPath(new URL("../../src/", import.meta.url));
const page = readFileSync(new URL("../../docs/ARCHITECTURE.md", import.meta.url), "utf8");
const picture = /^```\n(.*?)^```$/ms.exec(page)?.[1] ?? "";

test("each file in the picture is in its folder", () => {
  let folder = "";
  const named: string[] = [];
  for (const line of picture.split("\n")) {
    folder = /^ ([a-z/]+\/) /.exec(line)?.[1] ?? folder;
    for (const [name] of line.matchAll(/[\w/-]+\.ts\b/g)) named.push(name.includes("/") ? name : folder + name);
  }
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter((path) => !existsSync(src + path))).toEqual([]);
});

test("each folder of the program and of the engine is on the page", () => {
  const foldersIn = (path: string): string[] =>
    readdirSync(src + path, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [`${path}${entry.name}/`] : []));
  const missing = [...foldersIn(""), ...foldersIn("engine/")].filter((folder) => !page.includes(folder));
  expect(missing).toEqual([]);
});
