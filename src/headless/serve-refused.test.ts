/**
 * What `hookyard serve` says when it cannot start. One process tries all of these starts one after
 * the other; `serve-command.test.ts` has the program itself.
 */

import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { freePorts } from "../../test/support/free-ports.ts";
import { openStore } from "../store/sqlite-store.ts";

type Ended = { code: number | null; out: string; err: string };

/** For each line with flags, it prints a line with what came of that start. */
const starter = `
import dns from "node:dns";
import { createInterface } from "node:readline";
const print = process.stdout.write.bind(process.stdout);
const said = { out: "", err: "" };
const realLookup = dns.lookup;
process.setMaxListeners(0);
process.stderr.write = (text) => void (said.err += text);
const { serveCommand } = await import(${JSON.stringify(new URL("serve-command.ts", import.meta.url).href)});
const root = ${JSON.stringify(fileURLToPath(new URL("../../", import.meta.url)))};
for await (const line of createInterface({ input: process.stdin })) {
  const { args, lookup } = JSON.parse(line);
  dns.lookup =
    lookup === undefined
      ? realLookup
      : (host, options, answer) =>
          process.nextTick(answer, Object.assign(new Error("of the system"), lookup));
  Object.assign(said, { out: "", err: "" });
  // One that starts goes on.
  const isRunning = new Promise((resolve) => {
    process.stdout.write = (text) => void resolve((said.out += text) && null);
  });
  const code = await Promise.race([serveCommand({ args, root, version: "0.0.0" }), isRunning]);
  print(JSON.stringify({ code, ...said }) + "\\n");
}`;

let child: ChildProcessWithoutNullStreams;
let ends: AsyncIterator<string>;
beforeAll(() => {
  child = spawn(process.execPath, ["--input-type=module", "-e", starter]);
  ends = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
});
afterAll(() => void child.kill("SIGKILL"));

async function serve(
  flags: string[],
  lookup?: { code: string; path: string | undefined },
): Promise<Ended> {
  child.stdin.write(`${JSON.stringify({ args: [...freePorts, ...flags], lookup })}\n`);
  return JSON.parse(String((await ends.next()).value)) as Ended;
}

const refused = (err: string, code = 1): Ended => ({
  code,
  out: "",
  err: expect.stringMatching(new RegExp(`^${err}\n$`)) as string,
});

function temporary(): string {
  const path = mkdtempSync(join(tmpdir(), "hookyard-refused-"));
  onTestFinished(() => rmSync(path, { recursive: true }));
  return path;
}

async function takenPort(): Promise<number> {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void other.close());
  return (other.address() as AddressInfo).port;
}

test.each(["--ingest-port", "--ui-port", "--endpoints-port", "--endpoints-tls-port"])(
  "a port that is taken is named with its flag %s",
  async (flag) => {
    const port = await takenPort();
    expect(await serve(["--data", ":memory:", flag, String(port)])).toEqual(
      refused(`Port ${port} .*${flag} .*`),
    );
  },
);

test.each<[name: string, text: string | null, sentence: string]>([
  ["unknown.json", '{"version":1,"colour":"red"}', ".*unknown\\.json:1:14 colour is unknown.*"],
  ["none", null, ".*none was not found\\."],
  // Without what is there, which may be a secret.
  [
    "broken.json",
    '{"version":1,\n"sources":[\n!"s3cret"\n]}',
    ".*broken\\.json:3:2 sources\\[0\\] must be a mapping\\.",
  ],
])("a configuration that cannot be read is refused in one line: %s", async (name, text, why) => {
  const file = join(temporary(), name);
  if (text !== null) writeFileSync(file, text);
  expect(await serve(["--data", ":memory:", "--config", file])).toEqual(refused(why));
});

test("data that is no database, and data that another Hookyard uses, are refused in one line", async () => {
  const directory = temporary();
  writeFileSync(
    join(directory, "hookyard.db"),
    "this is not a database, and longer than the header of one would be",
  );
  expect(await serve(["--data", directory])).toEqual(refused(".*not a Hookyard data file.*"));
  const used = join(directory, "used");
  mkdirSync(used);
  const store = openStore(used);
  onTestFinished(() => store.close());
  expect(await serve(["--data", used])).toEqual(refused(".*in use.*"));
});

test("an address that is not of this machine is refused in one line", async () => {
  expect(await serve(["--data", ":memory:", "--host", "203.0.113.1"])).toEqual(
    refused("203\\.0\\.113\\.1 is not an address of this machine\\. Choose another with --host\\."),
  );
});

test("an address for traces that is none is refused in one line", async () => {
  expect(await serve(["--data", ":memory:", "--traces", "x"])).toEqual(
    refused(".*such as http://127\\.0\\.0\\.1:4318.*", 2),
  );
});

test.each([
  ["ENOTFOUND", "box is not an address of this machine\\. Choose another with --host\\."],
  ["EAI_AGAIN", "box is not an address of this machine\\. Choose another with --host\\."],
  [
    "EACCES",
    "Hookyard is not allowed to listen there: ports below 1024 need special permissions\\. of the system",
  ],
  ["EACCES", "Hookyard could not start: of the system", "/data/certificates/ca.key"],
  ["EPERM", "Hookyard could not start: of the system"],
  ["ENOSPC", "The disk that holds :memory: is full\\. Free disk space and start again\\."],
])("an error of the system is said in a line: %s", async (code, sentence, path?: string) => {
  expect(await serve(["--data", ":memory:", "--host", "box"], { code, path })).toEqual(
    refused(sentence),
  );
});

test("a start that is refused leaves the data as it was, and closed", async () => {
  const directory = temporary();
  const port = await takenPort();
  const starts: [flags: string[], sentence: string][] = [
    [["--ui-port", String(port)], `Port ${port} .*`],
    [["--config", join(directory, "none")], ".*none was not found\\."],
    [["--config", join(directory, "wrong.json")], ".*sources: k appears twice\\..*"],
    [["--endpoints-tls-port", String(port)], `Port ${port} .*`],
  ];
  writeFileSync(
    join(directory, "wrong.json"),
    '{"version":1,"sources":[{"name":"a","writeKey":"k"},{"name":"b","writeKey":"k"}]}',
  );
  // The first start makes the files.
  let left: string[] | null = null;
  for (const [flags, sentence] of starts) {
    expect(await serve(["--data", directory, ...flags])).toEqual(refused(sentence));
    const files = readdirSync(directory).toSorted();
    expect(files).toEqual((left ??= files));
  }
  expect(left).toContain("hookyard.db");
  expect(left?.filter((file) => /-wal|-shm/.test(file))).toEqual([]);
});
