import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { snippetLanguages, verificationSnippet } from "../../src/domain/verification-snippets.ts";

const page = readFileSync(new URL("../../docs/signatures.md", import.meta.url), "utf8");

test.for(snippetLanguages)(
  "the page about signatures shows the program for %s, which another test runs",
  (language) => {
    expect(page).toContain(`\n${verificationSnippet(language)}\`\`\`\n`);
  },
);
