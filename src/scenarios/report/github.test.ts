import { expect, test } from "vitest";
import { unusableReport } from "../run/run-scenario.ts";
import { stepSummary } from "./github.ts";

const mebibyte = 1_048_576;
const failed = (name: string, ...messages: string[]) =>
  unusableReport(
    messages.map((message, index) => ({ line: index + 1, column: 1, message })),
    { name },
  );

test("a summary that GitHub would refuse for its bytes has the failures that have room, whole", () => {
  const large = "漢".repeat(400_000);
  const half = "é".repeat(250_000);
  const summary = stepSummary([
    failed("Large", "small before", large, "small after"),
    failed("Halves", half, half),
    failed("Last", "the end"),
  ]);
  expect(Buffer.byteLength(summary)).toBeLessThan(mebibyte);
  expect(summary).not.toContain("漢");
  expect(summary.match(/é+/g)?.map(({ length }) => length)).toEqual([250_000]);
  expect(summary.match(/<p>[^<]*<\/p>/g)).toEqual([
    "<p>line 1</p>",
    "<p>line 3</p>",
    "<p>The rest is in the log.</p>",
    "<p>line 1</p>",
    "<p>The rest is in the log.</p>",
    "<p>line 1</p>",
  ]);
  expect(summary.match(/<\/?details/g)).toHaveLength(6);
  expect(summary).toContain("### Hookyard: 0 of 3 scenarios passed");
});

test("a summary of very many scenarios stays below GitHub's limit", () => {
  const summary = stepSummary(Array.from({ length: 20_000 }, () => failed("漢".repeat(20), "no")));
  expect(Buffer.byteLength(summary)).toBeLessThan(mebibyte);
  expect(summary).toMatch(/<p>The rest is in the log\.<\/p>\n\n$/);
});
