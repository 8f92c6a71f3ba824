import { type ChildProcess, execFile, spawn, spawnSync } from "node:child_process";
import { createHash, createHmac } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { PassThrough } from "node:stream";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, describe, expect, test } from "vitest";
import { disconnectInRequests } from "../../test/support/foreign-clients.ts";
import {
  snippetLanguages,
  verificationSnippet,
  type SnippetLanguage,
} from "./verification-snippets.ts";

const folder = mkdtempSync(join(tmpdir(), "hookyard-snippets-"));
const running: ChildProcess[] = [];
afterAll(() => {
  for (const child of running) child.kill("SIGKILL");
  rmSync(folder, { recursive: true });
});

const secret = "schlüssel";
const body = JSON.stringify({ version: 1, event: "Größe <&> 😀", n: 1e21 });
const signature = createHmac("sha1", secret).update(body).digest("hex");

/** Starts the snippet on a free port, and answers where it listens. */
async function start(command: string, given: readonly string[]): Promise<string> {
  const child = spawn(command, given, {
    env: { ...process.env, SHARED_SECRET: secret, PORT: "0" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.push(child);
  const said: string[] = [];
  for await (const line of linesOf(child)) {
    const url = /http:\/\/127\.0\.0\.1:\d+/.exec(line)?.[0];
    if (url !== undefined) return url;
    said.push(line);
  }
  throw new Error(`${command} ended before it listened: ${said.join("\n")}`);
}

async function* linesOf({ stdout, stderr }: ChildProcess): AsyncGenerator<string> {
  const both = new PassThrough();
  stdout?.pipe(both, { end: false });
  stderr?.pipe(both, { end: false });
  stdout?.once("end", () => both.end());
  yield* createInterface({ input: both });
}

type Runner = {
  language: SnippetLanguage;
  file: string;
  command: string;
  version: string[];
  run?: (path: string) => string[];
};

const runners: Runner[] = [
  { language: "node", file: "receiver.mjs", command: process.execPath, version: ["--version"] },
  { language: "python", file: "receiver.py", command: "python3", version: ["--version"] },
  { language: "go", file: "receiver.go", command: "go", version: ["version"] },
  { language: "ruby", file: "receiver.rb", command: "ruby", version: ["--version"] },
  {
    language: "php",
    file: "receiver.php",
    command: "php",
    version: ["--version"],
    run: (path) => ["-S", "127.0.0.1:0", path],
  },
  { language: "perl", file: "receiver.pl", command: "perl", version: ["--version"] },
  {
    language: "java",
    file: "Receiver.java",
    command: "java",
    version: ["-version"],
    // These make it compile and start in two thirds of the time.
    run: (path) => ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", path],
  },
];

/** Where Go finds again what it has built: it goes by the path of the source. */
const lasting = fileURLToPath(new URL("../../node_modules/.cache/snippets/", import.meta.url));

/** `go run` would start a process of its own, which outlives it when it is killed. */
async function built({ language, command, file }: Runner): Promise<string | null> {
  if (language !== "go") return null;
  const text = verificationSnippet(language);
  const directory = join(lasting, createHash("sha256").update(text).digest("hex"));
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, file), text);
  const program = join(folder, "receiver");
  await promisify(execFile)(command, ["build", "-o", program, join(directory, file)]);
  return program;
}

test("there is a runner for every snippet", () => {
  expect(runners.map(({ language }) => language)).toEqual(snippetLanguages);
});

describe.each(runners)("the snippet for $language", (runner) => {
  const { language, command, version, file, run = (path: string) => [path] } = runner;
  const isPresent = spawnSync(command, version).status === 0;
  if (!isPresent)
    console.log(`The receiver in ${language} is not tried, because ${command} is not here.`);

  test.skipIf(!isPresent)(
    "answers 200 to a valid signature and 401 to every other, by every method, and also after clients that disconnect",
    async () => {
      const path = join(folder, file);
      writeFileSync(path, verificationSnippet(language));
      const program = await built(runner);
      const url = program === null ? await start(command, run(path)) : await start(program, []);
      const send = async (
        method: string,
        headers: Record<string, string>,
        text = body,
      ): Promise<number> =>
        (
          await fetch(`${url}/hook`, {
            method,
            headers: { "content-type": "application/json", ...headers },
            body: text,
          })
        ).status;
      const status = (headers: Record<string, string>, text?: string): Promise<number> =>
        send("POST", headers, text);
      await disconnectInRequests(url);
      for (const method of ["POST", "PUT", "PATCH"])
        expect(await send(method, { "x-signature": signature })).toBe(200);
      expect(await status({ "x-signature": signature }, `${body}\n`)).toBe(401);
      expect(
        await status({
          "x-signature": signature.replace(/^./, (digit) => (digit === "0" ? "1" : "0")),
        }),
      ).toBe(401);
      expect(await status({ "x-signature": signature.slice(0, 38) })).toBe(401);
      expect(await status({})).toBe(401);
    },
  );
});

test.each(snippetLanguages)(
  "the snippet for %s reads the header, uses SHA-1 and compares in constant time",
  (language) => {
    const snippet = verificationSnippet(language);
    expect(snippet).toMatch(/x[-_]signature/i);
    expect(snippet).toMatch(/sha1/i);
    expect(snippet).toMatch(
      /timingSafeEqual|compare_digest|hmac\.Equal|hash_equals|a \^ b|\^ \$expected|isEqual/,
    );
  },
);
