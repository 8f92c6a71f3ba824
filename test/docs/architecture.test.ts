/** The page names files that exist, and leaves out no folder and no import between folders. */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { rooms } from "../structure/arrows.ts";

const src = fileURLToPath(new URL("../../src/", import.meta.url));
const page = readFileSync(new URL("../../docs/ARCHITECTURE.md", import.meta.url), "utf8");
const pictures = [...page.matchAll(/^```\n(.*?)^```$/gms)].map(([, picture = ""]) => picture);

test("each file in a picture is in its folder", () => {
  const named: string[] = [];
  for (const picture of pictures) {
    let folder = "";
    for (const line of picture.split("\n")) {
      folder = /^ ([a-z/]+\/) /.exec(line)?.[1] ?? folder;
      for (const [name] of line.matchAll(/[\w/-]+\.ts\b/g))
        named.push(name.includes("/") ? name : folder + name);
    }
  }
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter((path) => !existsSync(src + path))).toEqual([]);
});

test.for(["docs/ARCHITECTURE.md", "CONTRIBUTING.md"])(
  "each file in the text of %s exists",
  (name) => {
    const text = readFileSync(`${src}../${name}`, "utf8");
    const named = [...text.matchAll(/`([\w-]+\/[\w/.-]+\.tsx?)`/g)].map(([, path = ""]) => path);
    expect(named.length).toBeGreaterThan(10);
    expect(
      named.filter((path) => !existsSync(src + path) && !existsSync(`${src}../${path}`)),
    ).toEqual([]);
  },
);

test("each name of the code in the text of CONTRIBUTING.md is in the code", () => {
  const text = readFileSync(`${src}../CONTRIBUTING.md`, "utf8");
  const named = [...text.matchAll(/`([A-Za-z]\w*[a-z][A-Z]\w*)`/g)].map(([, name = ""]) => name);
  expect(named.length).toBeGreaterThan(30);
  const words = new Set(
    readdirSync(src, { recursive: true, encoding: "utf8" })
      .filter((path) => /\.tsx?$/.test(path))
      .flatMap((path) => readFileSync(src + path, "utf8").match(/\w+/g) ?? []),
  );
  expect(named.filter((name) => !words.has(name))).toEqual([]);
});

test("each folder of the program and of the engine is on the page", () => {
  const foldersIn = (path: string): string[] =>
    readdirSync(src + path, { withFileTypes: true }).flatMap((entry) =>
      entry.isDirectory() ? [`${path}${entry.name}/`] : [],
    );
  const missing = [...foldersIn(""), ...foldersIn("engine/")].filter(
    (folder) => !page.includes(folder),
  );
  expect(missing).toEqual([]);
});

test("the table of imports is the one that the structure check holds", () => {
  const rows = [...page.matchAll(/^\| `([\w.-]+)` +\| (.*?) +\|$/gm)].map(
    ([, room = "", cell = ""]) => [
      room,
      [...cell.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name),
    ],
  );
  const held = Object.entries(rooms).map(([room, { rooms: others }]) => [room, others]);
  expect(Object.fromEntries(rows)).toEqual(Object.fromEntries(held));
});
