/**
 * The page about clients says what the inspector shows, and its programs arrive, as far as their
 * libraries are installed here.
 */

import { execFile, execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, describe, expect, test as base } from "vitest";
import {
  clientSnippet,
  clientSnippetKinds,
  type ClientSnippetKind,
} from "../../src/renderer/features/sources/client-snippets.ts";
import { starting } from "../support/running-app.ts";

const test = base.extend("start", starting);
const root = fileURLToPath(new URL("../../", import.meta.url));
const page = readFileSync(join(root, "docs/pointing-a-client.md"), "utf8");

const folder = mkdtempSync(join(tmpdir(), "hookyard-clients-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test.for(clientSnippetKinds)("the page shows the program for %s as the inspector does", (kind) => {
  const snippet = clientSnippet(kind, {
    ingestUrl: "http://127.0.0.1:4700",
    writeKey: "WRITE_KEY",
  });
  expect(page).toContain(`\n${snippet}\`\`\`\n`);
});

type Runner = {
  kind: Exclude<ClientSnippetKind, "browser">;
  file: string;
  /** The folder it runs in, where that is how it finds its library. */
  cwd?: string;
  program: (path: string) => [command: string, ...given: string[]];
  /** Ends well where the library is installed. */
  isHere: [command: string, ...given: string[]];
};

const runners: Runner[] = [
  { kind: "cURL", file: "call.sh", program: (path) => ["sh", path], isHere: ["curl", "--version"] },
  {
    kind: "Node",
    file: "client.mjs",
    cwd: root,
    program: (path) => [
      process.execPath,
      "--input-type=module",
      "--eval",
      readFileSync(path, "utf8"),
    ],
    isHere: [process.execPath, "--version"],
  },
  {
    kind: "Go",
    file: "client.go",
    program: (path) => ["go", "run", path],
    isHere: ["go", "list", "github.com/segmentio/analytics-go/v3"],
  },
  {
    kind: "Python",
    file: "client.py",
    program: (path) => ["python3", path],
    isHere: ["python3", "-c", "import segment.analytics"],
  },
  {
    kind: "Ruby",
    file: "client.rb",
    program: (path) => ["ruby", path],
    isHere: ["ruby", "-e", `require "segment/analytics"`],
  },
  {
    kind: "PHP",
    file: "client.php",
    program: (path) => ["php", path],
    isHere: [
      "php",
      "-r",
      `require "vendor/autoload.php"; exit(class_exists("Segment\\\\Segment") ? 0 : 1);`,
    ],
  },
];

describe.each(runners)("the program for $kind", ({ kind, file, cwd = folder, program, isHere }) => {
  const here = succeeds(isHere);
  if (!here)
    console.log(`The program for ${kind} is not tried, because its library is not installed here.`);

  test.skipIf(!here)("arrives", async ({ start }) => {
    const app = await start.app();
    await app.call("sources.create", { name: "Shop", writeKey: `it's "#{1}" $HOME` });
    const path = join(folder, file);
    writeFileSync(
      path,
      clientSnippet(kind, { ingestUrl: app.ingestUrl, writeKey: `it's "#{1}" $HOME` }),
    );
    const [command, ...given] = program(path);
    await promisify(execFile)(command, given, { cwd });
    const { items } = await app.call("messages.list", {});
    expect(items).toMatchObject([
      { type: "track", userId: "u_1042", event: "Order Completed", state: "filtered" },
    ]);
    expect((await app.message(items[0]?.id ?? "")).raw).toContain("184.5");
  });
});

function succeeds([command, ...given]: Runner["isHere"]): boolean {
  try {
    execFileSync(command, given, { stdio: "ignore", cwd: folder });
    return true;
  } catch {
    return false;
  }
}
