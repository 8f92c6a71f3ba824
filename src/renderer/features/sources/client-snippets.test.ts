import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { clientSnippet, clientSnippetKinds, snippetKindOf } from "./client-snippets.ts";

const ingestUrl = "http://127.0.0.1:4700";

describe("pointing a client here", () => {
  test.each(clientSnippetKinds)("%s names the address and the write key", (kind) => {
    const snippet = clientSnippet(kind, { ingestUrl, writeKey: "wk_1" });
    expect(snippet).toMatch(/127\.0\.0\.1(:4700|",\n  port: 4700)/);
    expect(snippet).toContain("wk_1");
  });

  test.each([
    ["go-classic", "Go"],
    ["node-classic", "Node 6"],
    ["rudderstack", "RudderStack"],
    ["kotlin", null],
    [null, null],
  ])("the program for %s is that of %s", (library, kind) => {
    expect(snippetKindOf(library)).toBe(kind);
  });

  test("a shell sees any write key as one word", () => {
    for (const writeKey of ["wk_1", "it's $(whoami)", 'a "b" \\ c', "; rm"]) {
      const snippet = clientSnippet("cURL", { ingestUrl, writeKey });
      const words = execFileSync("sh", ["-c", `printf '%s\\n' ${snippet.replace(/^curl /, "")}`], {
        encoding: "utf8",
      }).split("\n");
      expect(words[words.indexOf("-u") + 1]).toBe(`${writeKey}:`);
    }
  });

  test("JavaScript, Go and Python see it as one string", () => {
    const writeKey = 'a "b" \\ c';
    for (const kind of [
      "Node",
      "Node 6",
      "Go",
      "Python",
      "Java",
      "browser",
      "RudderStack",
    ] as const)
      expect(clientSnippet(kind, { ingestUrl, writeKey })).toContain(JSON.stringify(writeKey));
  });

  test("so do Ruby and PHP, which read other things in a string", () => {
    const writeKey = `it's #{1} "b" $c \\`;
    expect(clientSnippet("Ruby", { ingestUrl, writeKey })).toContain(
      `write_key: "it's \\#{1} \\"b\\" $c \\\\"`,
    );
    expect(clientSnippet("PHP", { ingestUrl, writeKey })).toContain(
      `Segment::init('it\\'s #{1} "b" $c \\\\',`,
    );
  });
});
