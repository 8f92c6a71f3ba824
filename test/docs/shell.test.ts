/**
 * What the pages tell to type into a shell does what they say: their blocks are run, one after the
 * other, against a program on free ports.
 */

import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { createApp } from "../../src/app.ts";
import type { AnswerOf, CallName, InputOf } from "../../src/contract/contract.ts";
import { shellQuoted } from "../../src/domain/shell-quoted.ts";
import { createControlPort } from "../../src/headless/http-api.ts";
import { createStaticPages } from "../../src/headless/static-pages.ts";
import { hasCurl } from "../support/foreign-clients.ts";
import { programInShell } from "../support/program.ts";

const token = "t".repeat(43);

async function startProgram() {
  const reported: unknown[] = [];
  const report = (error: unknown): void => void reported.push(error);
  const app = createApp({
    data: ":memory:",
    ports: { ingest: 0, endpoints: 0, endpointsTls: 0 },
    version: "0.0.0",
    report,
  });
  const addresses = await app.start();
  const control = createControlPort({
    api: app.api,
    token,
    pages: createStaticPages([]),
    host: "127.0.0.1",
    port: 0,
    report,
  });
  const uiUrl = await control.start();
  const folder = mkdtempSync(join(tmpdir(), "hookyard-shell-"));
  onTestFinished(async () => {
    await control.stop();
    await app.stop();
    rmSync(folder, { recursive: true });
    expect(reported).toEqual([]);
  });
  writeFileSync(join(folder, "token"), token);
  const here = new Map([
    ["http://127.0.0.1:4700", addresses.ingestUrl],
    ["http://127.0.0.1:4701", uiUrl],
    ["http://127.0.0.1:4702", addresses.endpointsUrl],
    ["~/.local/share/hookyard", shellQuoted(folder)],
    ["npx hookyard", programInShell],
  ]);
  return {
    /**
     * Runs the blocks in one shell, where each may use what those before it set; answers what was
     * printed, which must hold no refusal.
     */
    async type(blocks: string[], files: Record<string, string> = {}): Promise<string> {
      for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
      // At once: a port of ours may begin like a usual one.
      const script = blocks
        .join("\n")
        .replaceAll(
          /http:\/\/127\.0\.0\.1:470[012]|~\/\.local\/share\/hookyard|npx hookyard/g,
          (usual) => here.get(usual) ?? usual,
        );
      const { stdout } = await promisify(execFile)("bash", ["-euo", "pipefail", "-c", script], {
        cwd: folder,
        env: { ...process.env, HOOKYARD_URL: uiUrl, HOOKYARD_TOKEN: token },
      });
      return stdout;
    },
    async call<Name extends CallName>(name: Name, input: InputOf<Name>): Promise<AnswerOf<Name>> {
      return (await app.api.call(name, input)).body as AnswerOf<Name>;
    },
  };
}

function blocksOf(path: string, heading: string | null = null, language = "sh"): string[] {
  const text = readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
  const section =
    heading === null
      ? text
      : (text.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? "");
  return [...section.matchAll(/^```(\w+)\n(.*?)^```$/gms)]
    .filter(([, kind]) => kind === language)
    .map(([, , block = ""]) => block);
}

const errorIn = (printed: string): string[] =>
  [...printed.matchAll(/"code":"(\w+)"/g)].map(([, code = ""]) => code);

test("the first messages of the README are delivered, one after three 503s and a timeout", async () => {
  const program = await startProgram();
  const [yaml = ""] = blocksOf("README.md", "The first message, by script", "yaml");
  const [first = "", second = ""] = blocksOf("README.md", "The first message, by script");
  const listed = await program.type([first]);
  expect(listed).toMatch(/delivered {2}track Order Completed · u_1 {2}1 attempt\n$/);
  await program.type([second], { "hookyard.config.yaml": yaml });
  const deliveries = await Promise.all(
    (await program.call("deliveries.list", {})).items.map(({ id }) =>
      program.call("deliveries.get", { id }),
    ),
  );
  expect(
    deliveries.map(({ state, attempts }) =>
      [state, ...attempts.map(({ outcome, response }) => response?.status ?? outcome)].join(" "),
    ),
  ).toEqual(["delivered 503 503 503 timeout 200", "delivered 200"]);
});

test.skipIf(!hasCurl)("the page about outages does what it says", async () => {
  const program = await startProgram();
  const printed = await program.type(blocksOf("docs/simulating-an-outage.md"));
  expect(errorIn(printed)).toEqual(["fault"]);
  const deliveries = await Promise.all(
    (await program.call("deliveries.list", {})).items.map(({ id }) =>
      program.call("deliveries.get", { id }),
    ),
  );
  const courses = deliveries.map(
    ({ state, attempts }) =>
      `${attempts.map(({ outcome, response }) => response?.status ?? outcome).join(" ")} → ${state}`,
  );
  expect(courses.toSorted()).toEqual([
    // Both destinations take the second message; the first came before there was a second one.
    "200 → delivered",
    "503 503 503 503 503 503 503 503 503 503 200 → delivered",
    "503 503 503 timeout connection_error 200 → delivered",
  ]);
});
