import { readFileSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseSync } from "vite";
import { expect, test } from "vitest";
import { requestOf } from "./places.ts";

const src = fileURLToPath(new URL("../", import.meta.url));

/** What a file imports when it is loaded: no types, and nothing that is imported late. */
function importsOf(file: string): string[] {
  const { module } = parseSync(file, readFileSync(file, "utf8"));
  const taken = module.staticImports
    .filter(({ entries }) => entries.length === 0 || entries.some(({ isType }) => !isType))
    .map(({ moduleRequest }) => moduleRequest.value);
  const passedOn = module.staticExports
    .flatMap(({ entries }) => entries)
    .flatMap(({ isType, moduleRequest }) =>
      isType || moduleRequest === null ? [] : [moduleRequest.value],
    );
  return [...taken, ...passedOn];
}

/** By which files an entry loads zod before it does anything; null when it does not. */
function chainToZod(entry: string): string[] | null {
  const open = [[resolve(src, entry)]];
  const seen = new Set<string>();
  for (let chain = open.pop(); chain !== undefined; chain = open.pop()) {
    const file = chain.at(-1) as string;
    if (seen.has(file) || !/\.tsx?$/.test(file)) continue;
    seen.add(file);
    for (const request of importsOf(file)) {
      if (request === "zod") return chain.map((each) => relative(src, each));
      if (request.startsWith(".")) open.push([...chain, resolve(dirname(file), request)]);
    }
  }
  expect(seen.size).toBeGreaterThan(10);
  return null;
}

test.each([
  "headless/verbs.ts",
  "headless/serve-command.ts",
  "headless/run-command.ts",
  "headless/mcp-command.ts",
  "headless/share-command.ts",
  "renderer/main.tsx",
])("%s loads no schemas before it needs some, which would be most of its start", (entry) => {
  expect(chainToZod(entry)).toBeNull();
});

test("members that are in no path are in the query of a GET and in the body of everything else", () => {
  const [user, id] = [{ userId: ["a&b", "c"] }, { id: "msg/1" }];
  expect(requestOf("messages.list", { ...user, limit: 1, cursor: undefined })).toEqual({
    method: "GET",
    path: "/api/messages?userId=a%26b&userId=c&limit=1",
    body: undefined,
  });
  expect(requestOf("messages.pin", { ...id, pinned: true })).toEqual({
    method: "POST",
    path: "/api/messages/msg%2F1/pin",
    body: { pinned: true },
  });
  expect(requestOf("messages.replay", id)).toMatchObject({ body: undefined });
});
