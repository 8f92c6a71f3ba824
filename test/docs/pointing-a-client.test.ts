/**
 * The page about clients says what the inspector shows, and its programs arrive, as far as their
 * libraries are installed here.
 */

import { execFile, spawnSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { afterAll, describe, expect, test as base } from "vitest";
import {
  clientSnippet,
  clientSnippetKinds,
  type ClientSnippetKind,
} from "../../src/renderer/features/sources/client-snippets.ts";
import { installed, languages, type Installed, type Language } from "../clients/installed.ts";
import { libraries } from "../clients/libraries.ts";
import { bundled, openPage } from "../clients/page.ts";
import { launchBrowser } from "../support/browser.ts";
import { hasCurl } from "../support/foreign-clients.ts";
import { type RunningApp, type Start, starting, until } from "../support/running-app.ts";

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

const here = Object.fromEntries(
  await Promise.all(languages.map(async (language) => [language, await installed(language)])),
) as Record<Language, Installed>;

type Place = { ingestUrl: string; writeKey: string };
type Runner = {
  name: string;
  file: string;
  program: (place: Place) => string;
  /** The folder it runs in, where that is how it finds its library. */
  cwd?: string;
  env?: Record<string, string>;
  command: (path: string) => [command: string, ...given: string[]];
  /** Why it cannot run here. */
  reason: string | null;
};

const inspectors =
  (kind: ClientSnippetKind) =>
  (place: Place): string =>
    clientSnippet(kind, place);

/** The block of code on the page that contains this text. */
function blockWith(text: string): string {
  const blocks = [...page.matchAll(/^```\w+\n(.*?)^```$/gms)].map(([, block = ""]) => block);
  return blocks.find((block) => block.includes(text)) ?? expect.unreachable();
}

/** With another address, and the page's key. */
const onPage =
  (text: string, around = (block: string): string => block) =>
  ({ ingestUrl }: Place): string =>
    around(blockWith(text)).replaceAll("http://127.0.0.1:4700", ingestUrl);

/** The page's lines for the older versions, in a program that ends with its standard input. */
const goProgram =
  (library: string, track: string) =>
  (block: string): string =>
    `package main

import (
	"io"
	"os"

	analytics "hookyard.test/${library}"
)

func main() {
	${block}
	client.${library === "go120" ? "FlushAt" : "Size"} = 1
	${track}
	io.ReadAll(os.Stdin)
}
`;

/** From its text, as a module in the folder where it finds its library. */
const asModule = (path: string): [string, ...string[]] => [
  process.execPath,
  "--input-type=module",
  "--eval",
  readFileSync(path, "utf8"),
];
const node = {
  file: "client.mjs",
  cwd: here.node.folder ?? folder,
  command: asModule,
  reason: here.node.reason,
};
const python = {
  file: "client.py",
  env: { PYTHONPATH: join(here.python.folder ?? "", "libraries") },
  command: (path: string): [string, ...string[]] => ["python3", path],
  reason: here.python.reason,
};
const go = {
  file: "client.go",
  command: (path: string): [string, ...string[]] => ["go", "run", "-ldflags=-s -w", path],
  reason: here.go.reason,
};
for (const file of ["go.mod", "go.sum"])
  copyFileSync(join(root, "test/clients/go", file), join(folder, file));

const runners: Runner[] = [
  {
    name: "cURL",
    file: "call.sh",
    program: inspectors("cURL"),
    command: (path) => ["sh", path],
    reason: hasCurl ? null : "The call with curl is not tried, because curl is not here.",
  },
  { ...node, name: "Node", program: inspectors("Node"), cwd: root, reason: null },
  { ...node, name: "Node 6", program: inspectors("Node 6") },
  { ...node, name: "RudderStack in Node", program: onPage("rudder-sdk-node") },
  { ...go, name: "Go", program: inspectors("Go") },
  {
    ...go,
    name: "Go 1",
    program: onPage(
      "client.Endpoint =",
      goProgram(
        "go120",
        `client.Track(analytics.Message{"userId": "u_1042", "event": "Order Completed", "properties": map[string]float64{"total": 184.5}})`,
      ),
    ),
  },
  {
    ...go,
    name: "Go 2",
    program: onPage(
      "client.Endpoint =",
      goProgram(
        "go200",
        `client.Track(&analytics.Track{UserId: "u_1042", Event: "Order Completed", Properties: map[string]interface{}{"total": 184.5}})`,
      ),
    ),
  },
  { ...python, name: "Python", program: inspectors("Python") },
  { ...python, name: "RudderStack in Python", program: onPage("rudder-sdk-python") },
  {
    name: "Java",
    file: "Shop.java",
    program: inspectors("Java"),
    command: (path) => [
      ...(["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"] as const),
      ...["-cp", join(here.java.folder ?? "", "libraries", "*"), path],
    ],
    reason: here.java.reason,
  },
  {
    name: "Ruby",
    file: "client.rb",
    program: inspectors("Ruby"),
    command: (path) => ["ruby", path],
    reason: here.ruby.reason,
  },
  {
    name: "PHP",
    file: "client.php",
    program: inspectors("PHP"),
    command: (path) => ["php", path],
    reason: here.php.reason ?? withoutCurlInPhp(),
  },
];

/** The page's program uses the extension; other consumers do without. */
function withoutCurlInPhp(): string | null {
  const isHere = spawnSync("php", ["-r", `exit(extension_loaded("curl") ? 0 : 1);`]).status === 0;
  return isHere ? null : "The program for PHP is not tried, because it has no curl extension here.";
}

for (const reason of new Set(runners.map(({ reason }) => reason)))
  if (reason !== null) console.log(reason);

const hostileKey = `it's "#{1}" $HOME`;

async function expectOneMessage(app: RunningApp): Promise<void> {
  const items = await until(async () => {
    const list = await app.call("messages.list", {});
    return list.items.length > 0 && list.items;
  });
  expect(items).toMatchObject([{ type: "track", event: "Order Completed", state: "filtered" }]);
  expect((await app.message(items[0]?.id ?? "")).raw).toContain("184.5");
}

async function startWithSources(start: Start): Promise<RunningApp> {
  const app = await start.app();
  for (const writeKey of ["WRITE_KEY", hostileKey])
    await app.call("sources.create", { name: "Shop", writeKey });
  return app;
}

describe.each(runners)(
  "the program for $name",
  ({ file, program, cwd = folder, env = {}, command, reason }) => {
    test.skipIf(reason !== null)("arrives", async ({ start }) => {
      const app = await startWithSources(start);
      const path = join(folder, file);
      writeFileSync(path, program({ ingestUrl: app.ingestUrl, writeKey: hostileKey }));
      const [started, ...given] = command(path);
      const ended = promisify(execFile)(started, given, { cwd, env: { ...process.env, ...env } });
      await Promise.all([ended, expectOneMessage(app).then(() => ended.child.stdin?.end())]);
    });
  },
);

test.skipIf(here.node.reason !== null)("the page of RudderStack arrives", async ({ start }) => {
  const app = await startWithSources(start);
  const browser = await launchBrowser();
  try {
    const program = clientSnippet("RudderStack", { ...app, writeKey: hostileKey });
    const script = await bundled(program, here.node.folder ?? "");
    const shop = await openPage(browser, script, {
      url: app.ingestUrl,
      writeKey: hostileKey,
      count: 1,
    });
    await expectOneMessage(app);
    await shop.close();
    expect(shop.elsewhere).toEqual([]);
  } finally {
    await browser.close();
  }
});

test.skipIf(here.node.reason !== null)(
  "React Native's library computes the address from the page's options, and the hosted service's without one of them",
  async () => {
    const options = /createClient\((\{.*?\})\)/s.exec(blockWith("createClient"))?.[1] ?? "";
    const without = options.replace(/allowInsecureProxy.*/, "");
    const file = pathToFileURL(join(root, "test/clients/node/react-native.mjs")).href;
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [
        "--input-type=module",
        "--eval",
        `import { endpointOf } from "${file}";\nconsole.info = console.warn = console.error = () => {};\nconsole.log(endpointOf(${options}), endpointOf(${without}));`,
      ],
      { cwd: here.node.folder ?? "" },
    );
    expect(stdout).toBe("http://127.0.0.1:4700/v1/b https://api.segment.io/v1/b\n");
  },
);

test.skipIf(here.node.reason !== null)(
  "the plugin of `analytics` keeps the hosted service's address in Node",
  async () => {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [
        "--eval",
        `const plugin = require("@analytics/segment")({ writeKey: "WRITE_KEY", host: "http://127.0.0.1:4700" });
         const { host, writeKey } = plugin.methods.getClient();
         console.log(host, typeof writeKey);`,
      ],
      { cwd: here.node.folder ?? "" },
    );
    expect(stdout).toBe("https://api.segment.io object\n");
  },
);

test("the page says what each library loses by itself, and that no other does", () => {
  for (const { loses } of libraries)
    if (loses !== undefined) expect(page).toContain(`| ${loses.why}`);
});

test("Jitsu's own path is refused, and its other one is accepted", async ({ start }) => {
  const app = await start.app();
  await app.source();
  const track = { userId: "u", event: "Order Completed" };
  await expect(app.ingest("/api/s/track", track)).rejects.toThrow("404");
  await expect(app.ingest("/api/s/s2s/track", track)).rejects.toThrow("404");
  await app.ingest("/v1/batch", { batch: [{ type: "track", ...track }] });
});
