import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { createHmac } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, describe, expect, test } from "vitest";
import { snippetLanguages, verificationSnippet } from "./verification-snippets.ts";

const folder = mkdtempSync(join(tmpdir(), "hookyard-snippets-"));
const running: ChildProcess[] = [];
afterAll(() => {
  for (const child of running) child.kill("SIGKILL");
  rmSync(folder, { recursive: true });
});

const secret = "schlüssel";
const body = JSON.stringify({ version: 1, event: "Größe <&> 😀", n: 1e21 });
const signature = createHmac("sha1", secret).update(body).digest("hex");

async function start(command: string, file: string, snippet: string): Promise<string> {
  const path = join(folder, file);
  writeFileSync(path, snippet);
  const child = spawn(command, [path], { env: { ...process.env, SHARED_SECRET: secret, PORT: "0" }, stdio: ["ignore", "pipe", "ignore"] });
  running.push(child);
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /^listening on (http:\S+)$/.exec(line)?.[1];
    if (url !== undefined) return url;
  }
  throw new Error(`${command} ended before it listened`);
}

const runners = [
  { language: "node", command: process.execPath, file: "receiver.mjs" },
  { language: "python", command: "python3", file: "receiver.py" },
  { language: "ruby", command: "ruby", file: "receiver.rb" },
] as const;

describe.each(runners)("the snippet for $language", ({ language, command, file }) => {
  const present = spawnSync(command, ["--version"]).status === 0;

  test.skipIf(!present)("answers 200 to a valid signature and 401 to every other", async () => {
    const url = await start(command, file, verificationSnippet(language));
    const status = async (headers: Record<string, string>, text = body): Promise<number> =>
      (await fetch(`${url}/hook`, { method: "POST", headers: { "content-type": "application/json", ...headers }, body: text })).status;
    expect(await status({ "x-signature": signature })).toBe(200);
    expect(await status({ "x-signature": signature }, `${body}\n`)).toBe(401);
    expect(await status({ "x-signature": signature.replace(/^./, (digit) => (digit === "0" ? "1" : "0")) })).toBe(401);
    expect(await status({ "x-signature": signature.slice(0, 38) })).toBe(401);
    expect(await status({})).toBe(401);
  });
});

test.each(snippetLanguages)("the snippet for %s reads the header, uses SHA-1 and compares in constant time", (language) => {
  const snippet = verificationSnippet(language);
  expect(snippet).toMatch(/x-signature/i);
  expect(snippet).toMatch(/sha1/i);
  expect(snippet).toMatch(/timingSafeEqual|compare_digest|hmac\.Equal|fixed_length_secure_compare/);
});
