/** The page of all commands and flags is made from their table. */

import { expect, test } from "vitest";
import { commands, exitCodes, usualData } from "../../src/headless/commands.ts";
import { flagLabel, textOf, variableOf, type Command } from "../../src/headless/flags.ts";

const row = (...cells: string[]): string => `| ${cells.join(" | ")} |`;
const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("<", "\\<");
/** The machine that writes the page has a directory of its own. */
const anywhere = (text: string): string =>
  text.replace(usualData, "Default: [the platform's](settings.md#flags)");

function sectionOf({ name, operands, summary, about, flags, exits }: Command): string {
  const table = Object.entries(flags).map(([flag, of]) =>
    row(`\`${flagLabel(flag, of)}\``, cell(anywhere(textOf(of))), `\`${variableOf(flag, of)}\``),
  );
  const codes = Object.entries(exits).map(([code, meaning]) => `${code} ${meaning}`);
  return [
    `## ${name}`,
    "",
    `\`hookyard ${name}${operands === undefined ? "" : ` ${operands}`}${table.length === 0 ? "" : " [flags]"}\``,
    "",
    cell(about ?? summary),
    "",
    ...(table.length === 0
      ? []
      : [row("flag", "what it does", "variable"), row("---", "---", "---"), ...table, ""]),
    `Exit code: ${codes.join(", ")}.`,
    "",
  ].join("\n");
}

const page = `# Commands and flags

A test makes this page from the table that \`--help\`, the shell completion and the commands themselves read.
[The command line](command-line.md) says how to use them. A flag wins over its variable in the environment; a
switch there is \`1\` or \`0\`.

| exit code | meaning |
| --- | --- |
${Object.entries(exitCodes)
  .map(([code, meaning]) => row(code, meaning))
  .join("\n")}

${commands.map(sectionOf).join("\n")}`;

test("the page has every command, flag and exit code (npx vitest run test/docs/flags --update writes it again)", async () => {
  await expect(page).toMatchFileSnapshot("../../docs/flags.md");
});

test("a variable of the environment means one thing", () => {
  const meanings = new Map<string, string>();
  for (const { flags } of commands)
    for (const [name, flag] of Object.entries(flags)) {
      const kind = flag.value === undefined ? "switch" : "value";
      expect([variableOf(name, flag), meanings.get(variableOf(name, flag)) ?? kind]).toEqual([
        variableOf(name, flag),
        kind,
      ]);
      meanings.set(variableOf(name, flag), kind);
    }
});
