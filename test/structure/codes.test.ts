import { expect, test } from "vitest";
import { codeFindings } from "./codes.ts";

const page = (...codes: string[]): string =>
  `| code | means |\n| --- | --- |\n${codes.map((code) => `| ${code} | something |\n`).join("")}`;

const program = (text: string) => [{ path: "src/api/x.ts", text }];

test("a code that the page does not explain is found, however it is given", () => {
  const given = [
    `problem(400, "a_problem", "Say less.")`,
    `conflict("a_conflict", "Wait.")`,
    `const answer = { reason: "a_reason" }`,
    `connectionError(isWhole ? "cut_short" : "closed_early", "…")`,
    `class Parser { #fail() {} read() { this.#fail("not_that", "…") } }`,
    `switch (code) { case "ECONNREFUSED": break }`,
  ];
  expect(
    codeFindings(program(given.join(";\n")), "").map((finding) => finding.split(" ")[1]),
  ).toEqual([
    "a_problem",
    "a_conflict",
    "a_reason",
    "cut_short",
    "closed_early",
    "not_that",
    "ECONNREFUSED",
  ]);
  const all = page(
    "`a_problem` `a_conflict`",
    "`a_reason`",
    "`cut_short` `closed_early`",
    "`not_that`",
    "`ECONNREFUSED`",
  );
  expect(codeFindings(program(given.join(";\n")), all)).toEqual([]);
});

test("what is no code is none: sentences, names of other calls, zod's own issues", () => {
  const text = `problem(400, "invalid", "One sentence."); report("a_word"); context.addIssue({ code: "custom" });`;
  expect(codeFindings(program(text), page("`invalid`"))).toEqual([]);
});

test("a code that nothing gives is found on the page", () => {
  expect(
    codeFindings(program(`const sql = "SET reason = 'restarted'"`), page("`restarted`", "`gone`")),
  ).toEqual(["docs/errors.md: gone is given by nothing."]);
});
