import { expect, test } from "vitest";
import { arrowFindings } from "./arrows.ts";
import { readSourceFile } from "./source-file.ts";

const rooms = {
  api: { rooms: ["domain", "store/names.ts"], packages: ["zod"] },
  domain: { rooms: [], packages: [] },
  store: { rooms: [], packages: ["node:*"] },
};

const allowed = {
  "src/api/a.ts": `import "../domain/d.ts"; import "../store/names.ts"; import "./b.ts"; import "zod";`,
  "src/store/names.ts": `import "node:fs";`,
};

function findings(texts: Record<string, string>): string[] {
  const files = Object.entries({ ...allowed, ...texts });
  return arrowFindings(
    files.map(([path, text]) => readSourceFile(path, text)),
    rooms,
  );
}

test("an import that the table allows is no finding, and tests and fixtures import what they need", () => {
  const free = `import "../api/a.ts"; import "zod";`;
  expect(findings({ "src/domain/d.test.ts": free, "src/domain/d.fixture.ts": free })).toEqual([]);
});

test("every other import is a finding: of a room, of another file of a room, of a type, of a package", () => {
  expect(
    findings({
      "src/domain/d.ts": `import type { A } from "../api/a.ts"; import "node:fs";`,
      "src/api/b.ts": `import "../store/rows.ts";`,
      "src/new/n.ts": `import "../domain/d.ts";`,
    }),
  ).toEqual([
    "src/domain/d.ts: domain must not import src/api/a.ts.",
    "src/domain/d.ts: domain must not import node:fs.",
    "src/api/b.ts: api must not import src/store/rows.ts.",
    "src/new/n.ts: new must not import src/domain/d.ts.",
  ]);
});

test("an entry of the table that no file needs is a finding", () => {
  expect(
    findings({ "src/api/a.ts": `import "../domain/d.ts"; import "../store/names.ts";` }),
  ).toEqual(["test/structure/arrows.ts: api does not import zod: remove it from the table."]);
});
