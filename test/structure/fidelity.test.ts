import { expect, test } from "vitest";
import { fidelityFindings } from "./fidelity.ts";

const table = (head: string, ...rows: string[]): string =>
  ["# A page", "", head, "| --- | --- |", ...rows, ""].join("\n");
const claims = (...rows: string[]): string => table("| id | claim | source | test |", ...rows);
const hosted = (...rows: string[]): string => table("| area | behaviour | claims |", ...rows);
const good = "| `size` | At most 32 KB | documentation | [is 32 KB %s](../test/a.test.ts) |";
const file = `describe("limits", () => { test.each(sizes)(\n  "is 32 KB %s",\n  () => {}) })`;

const findings = (text: string, page = hosted(), files: Record<string, string> = {}): string[] =>
  fidelityFindings({
    claims: text,
    hosted: page,
    read: (path) => ({ "test/a.test.ts": file, ...files })[path] ?? null,
  });

test("a claim with its test, and a row that names it, are well", () => {
  expect(findings(claims(good), hosted("| Limits | as there | `size` |"))).toEqual([]);
  expect(findings(claims(good), hosted("| Accounts | has none | none to test |"))).toEqual([]);
});

test.each([
  ["no test", good.replace(/\[.*\)/, ""), "size has no test"],
  ["a test that is not there", good.replace("32 KB %s", "33 KB"), "that test/a.test.ts does not"],
  ["a file that is not there", good.replace("a.test", "b.test"), "test/b.test.ts, which does not"],
  ["an unknown source", good.replace("documentation", "hearsay"), 'unknown source "hearsay"'],
  ["no id", good.replace("`size`", "size"), "size is not an id"],
  ["no claim", good.replace("At most 32 KB", ""), "size claims nothing"],
])("a claim with %s is found", (_, row, sentence) => {
  expect(findings(claims(row))).toEqual([expect.stringContaining(sentence)]);
});

test("a title in a comment or elsewhere is no test", () => {
  const files = { "test/a.test.ts": `// "is 32 KB %s"\nconst name = "is 32 KB %s";` };
  expect(findings(claims(good), hosted(), files)).toHaveLength(1);
});

test("an id that is there twice is found", () => {
  expect(findings(claims(good, good))).toEqual([expect.stringContaining("size is there twice")]);
});

test.each([
  ["| Limits | as there | |", "names no claim"],
  ["| Limits | as there | `size` and more |", "names no claim"],
  ["| Limits | as there | `size`, `speed` |", "the claim speed, which"],
])("the row %s is found", (row, sentence) => {
  expect(findings(claims(good), hosted(row))).toEqual([expect.stringContaining(sentence)]);
});
