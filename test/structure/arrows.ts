/**
 * Which room of `src` may import which. The table in `docs/ARCHITECTURE.md` says the same, and a
 * test holds the two together. Tests and fixtures are free.
 */

import { isForTests, type SourceFile } from "./source-file.ts";

type Room = {
  /** Rooms, or single files of a room. */
  rooms: readonly string[];
  /** Packages; `node:*` stands for all modules of Node, `*` for any package. */
  packages: readonly string[];
};

export const rooms: Readonly<Record<string, Room>> = {
  domain: { rooms: [], packages: [] },
  contract: { rooms: ["domain"], packages: ["zod"] },
  client: { rooms: [], packages: ["node:*"] },
  engine: { rooms: ["client", "domain"], packages: ["node:*", "ajv", "ajv-formats"] },
  store: {
    rooms: ["engine", "domain", "app-errors.ts", "data-directory.ts"],
    packages: ["node:*", "better-sqlite3"],
  },
  scenarios: {
    rooms: [
      "receiver",
      "contract",
      "engine/deliver/dial.ts",
      "engine/real-time.ts",
      "domain",
      "app-errors.ts",
    ],
    packages: ["node:*", "yaml", "zod"],
  },
  share: { rooms: ["api", "contract", "engine", "domain"], packages: ["node:*"] },
  receiver: { rooms: ["engine", "domain"], packages: ["node:*"] },
  check: {
    rooms: ["receiver", "scenarios", "contract", "engine", "domain"],
    packages: ["node:*", "yaml"],
  },
  explore: {
    rooms: ["receiver", "scenarios", "engine", "domain"],
    packages: ["node:*", "yaml", "zod"],
  },
  api: { rooms: ["contract", "engine", "domain"], packages: ["zod"] },
  mcp: {
    rooms: [
      "contract",
      "scenarios/run/pipeline.ts",
      "engine/pipeline.ts",
      "engine/real-time.ts",
      "domain",
    ],
    packages: ["node:*", "zod"],
  },
  "app-errors.ts": { rooms: [], packages: [] },
  "data-directory.ts": { rooms: ["app-errors.ts"], packages: ["node:*"] },
  "page-files.ts": { rooms: [], packages: ["node:*"] },
  "assembly.ts": { rooms: ["store", "engine", "domain", "app-errors.ts"], packages: ["node:*"] },
  "app.ts": {
    rooms: ["assembly.ts", "api", "check", "scenarios", "share", "store", "engine"],
    packages: [],
  },
  headless: {
    rooms: [
      "app.ts",
      "api",
      "check",
      "explore",
      "scenarios",
      "share",
      "mcp",
      "contract",
      "engine",
      "domain",
      "app-errors.ts",
      "page-files.ts",
    ],
    packages: ["node:*", "zod"],
  },
  main: {
    rooms: [
      "app.ts",
      "headless",
      "api",
      "contract",
      "domain",
      "engine",
      "share",
      "app-errors.ts",
      "data-directory.ts",
      "page-files.ts",
    ],
    packages: ["node:*", "electron"],
  },
  preload: { rooms: ["contract/port-messages.ts"], packages: ["electron"] },
  renderer: {
    rooms: ["contract", "domain"],
    packages: ["@base-ui/react", "react", "react-dom", "zustand"],
  },
  testing: { rooms: ["app.ts", "scenarios", "contract", "domain"], packages: ["node:*"] },
  launch: { rooms: ["headless", "engine/real-time.ts"], packages: ["*"] },
};

export function arrowFindings(
  files: readonly SourceFile[],
  rooms: Readonly<Record<string, Room>>,
): string[] {
  const used = new Set<string>();
  const wrong = files
    .filter(({ path }) => path.startsWith("src/") && !isForTests(path))
    .flatMap(({ path, imports, packages }) => {
      const from = roomOf(path);
      const room = rooms[from] ?? { rooms: [], packages: [] };
      const targets = [
        ...[...imports.keys()]
          .filter((target) => roomOf(target) !== from)
          .map((target) => ({
            target,
            allowed: room.rooms,
            names: [roomOf(target), target.replace("src/", "")],
          })),
        ...[...packages].map((target) => ({
          target,
          allowed: room.packages,
          names: [target.startsWith("node:") ? "node:*" : target, "*"],
        })),
      ];
      return targets
        .filter(({ allowed, names }) => {
          const name = names.find((one) => allowed.includes(one));
          if (name !== undefined) used.add(`${from} ${name}`);
          return name === undefined;
        })
        .map(({ target }) => `${path}: ${from} must not import ${target}.`);
    });
  const unused = Object.entries(rooms).flatMap(([from, room]) =>
    [...room.rooms, ...room.packages]
      .filter((name) => !used.has(`${from} ${name}`))
      .map(
        (name) =>
          `test/structure/arrows.ts: ${from} does not import ${name}: remove it from the table.`,
      ),
  );
  return [...wrong, ...unused];
}

/** The folder below `src`, or the file itself where it stands alone. */
function roomOf(path: string): string {
  return path.split("/")[1] ?? path;
}
