/** The pages for agents name the tools that exist, with inputs that they accept. */

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { handshakeRevisions, statelessRevisions } from "../../src/mcp/protocol.ts";
import { rejections, undelivered } from "../../src/mcp/causes.ts";
import { tools } from "../../src/mcp/mcp.ts";

const read = (path: string): string =>
  readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
const names = tools.map(({ name }) => name);

/** `tool {…}` in a page, with or without its `…` placeholders. */
function callsIn(page: string): { tool: string; input: unknown }[] {
  return [...page.matchAll(/(?:`|^Next: )([a-z_]+) (\{.*?\})(?:`| \()/gm)].map(
    ([, tool = "", input = ""]) => ({ tool, input: JSON.parse(input) as unknown }),
  );
}

test.for(["AGENTS.md", "docs/agents.md", "resources/skill/SKILL.md"])(
  "%s shows calls that the tools accept",
  (path) => {
    const calls = callsIn(read(path));
    expect(calls.length).toBeGreaterThan(0);
    for (const { tool, input } of calls) {
      const schema = tools.find(({ name }) => name === tool)?.schema;
      expect(schema?.safeParse(input), `${tool} ${JSON.stringify(input)}`).toMatchObject({
        success: true,
      });
    }
  },
);

test("the guide and llms.txt name every tool, and no other", () => {
  const rows = [...read("docs/agents.md").matchAll(/^\| `([a-z_]+)` /gm)].map(([, name]) => name);
  expect(rows).toEqual(names);
  expect(/: (overview[^.]+)\./.exec(read("llms.txt"))?.[1]?.split(", ")).toEqual(names);
});

test("the guide names the newest and the oldest revision", () => {
  const revisions = [statelessRevisions[0], handshakeRevisions[0], handshakeRevisions.at(-1)];
  for (const revision of revisions) expect(read("docs/agents.md")).toContain(revision);
});

test("each reason on the page of error codes has a fix for agents", () => {
  const page = read("docs/errors.md");
  const reasonsOf = (heading: string): string[] => {
    const section = page.split(`${heading}\n`)[1]?.split(/^#/m)[0] ?? "";
    return [...section.matchAll(/^\| `(\w+)` /gm)].map(([, reason = ""]) => reason);
  };
  const known = (fixes: Readonly<Record<string, string>>): string[] =>
    Object.keys(fixes).toSorted();
  const decisions = reasonsOf("## Why a message was not delivered");
  expect(known(undelivered)).toEqual(decisions.filter((reason) => reason !== "routed").toSorted());
  expect(known(rejections)).toEqual(reasonsOf("### Rejected messages").toSorted());
});

test("the package contains the pages for agents", () => {
  const { files } = JSON.parse(read("package.json")) as { files: string[] };
  expect(files).toEqual(
    expect.arrayContaining(["AGENTS.md", "llms.txt", "resources/skill", "docs/*.md"]),
  );
});
