/** The picture of an event's way has files that are there, and the page leaves out no folder and no arrow between them. */

import { existsSync, globSync, readdirSync, readFileSync } from "node:fs";
import { posix } from "node:path";
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

/** `a | b → c → d` is a → c, b → c and c → d. */
function arrowsOf(chain: string): [string, string][] {
  const places = chain.split(" → ").map((part) => part.split(" | "));
  return places.slice(1).flatMap((to, index) => (places[index] ?? []).flatMap((from) => to.map((one): [string, string] => [from, one])));
}

const isRoom = (path: string): boolean => path.includes("/") || path === "app.ts";
const roomOf = (path: string): string => path.replace(/(\/|\.ts).*$/, "");

test("who knows whom is what the page says", () => {
  const said = [...page.matchAll(/^- `([^`]+→[^`]+)`/gm)].flatMap(([, chain = ""]) => arrowsOf(chain));
  const reach = (from: string): string[] => said.flatMap(([one, to]) => (one === from ? [to, ...reach(to)] : []));
  const known = new Map<string, Set<string>>();
  for (const file of globSync("**/*.{ts,tsx}", { cwd: src }).map((path) => path.replaceAll("\\", "/"))) {
    if (!isRoom(file) || /\.(test|fixture)\.tsx?$/.test(file)) continue;
    const texts = readFileSync(src + file, "utf8").matchAll(/(?:from |import\()"(\.[^"]+)"/g);
    const targets = [...texts].map(([, request = ""]) => posix.join(posix.dirname(file), request)).filter(isRoom);
    known.set(roomOf(file), new Set([...(known.get(roomOf(file)) ?? []), ...targets.map(roomOf)]));
  }
  const unsaid = [...known].flatMap(([from, to]) =>
    [...to].filter((one) => one !== from && !reach(from).includes(one)).map((one) => `${from} → ${one}`),
  );
  expect(unsaid).toEqual([]);
  const unmade = said.filter(([from, to]) => known.get(from)?.has(to) !== true).map(([from, to]) => `${from} → ${to}`);
  expect(unmade).toEqual([]);
});
