import { execFileSync, spawn, spawnSync, type ChildProcess } from "node:child_process";
import { createHmac } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, describe, expect, test } from "vitest";
import { disconnectInRequests } from "../support/foreign-clients.ts";

const page = readFileSync(new URL("../../docs/actions-destination.md", import.meta.url), "utf8");
const folder = mkdtempSync(join(tmpdir(), "hookyard-batches-"));
const running: ChildProcess[] = [];
afterAll(() => {
  for (const child of running) child.kill("SIGKILL");
  rmSync(folder, { recursive: true });
});

const secret = "schlüssel";
const signatureOf = (text: string) => createHmac("sha1", secret).update(text).digest("hex");

const languages = [
  { language: "js", command: process.execPath, version: "--version", file: "receiver.mjs" },
  { language: "python", command: "python3", version: "--version", file: "receiver.py" },
  { language: "go", command: "go", version: "version", file: "receiver.go" },
  { language: "ruby", command: "ruby", version: "--version", file: "receiver.rb" },
];

async function start(language: string, command: string, file: string, nth = 0): Promise<string> {
  const programs = [...page.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, "g"))];
  const code = programs[nth]?.[1] ?? "";
  const path = join(folder, file);
  writeFileSync(path, code);
  const program = join(folder, "receiver");
  // `go run` would start a process of its own, which outlives it when it is killed.
  if (language === "go") execFileSync("go", ["build", "-o", program, path]);
  const child = spawn(language === "go" ? program : command, language === "go" ? [] : [path], {
    env: { ...process.env, SHARED_SECRET: secret, PORT: "0" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  running.push(child);
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /http:\/\/127\.0\.0\.1:\d+/.exec(line)?.[0];
    if (url !== undefined) return url;
  }
  throw new Error(`The receiver in ${language} ended before it listened.`);
}

describe.each(languages)("the receiver of the page in $language", (runner) => {
  const { language, command, version, file } = runner;
  const isPresent = spawnSync(command, [version]).status === 0;
  if (!isPresent)
    console.log(`The receiver in ${language} is not tried, because ${command} is not here.`);

  test.skipIf(!isPresent)("verifies single requests and batches, and refuses others", async () => {
    const url = await start(language, command, file);
    const send = async (method: string, body: string, signature: string): Promise<number> =>
      (await fetch(url, { method, headers: { "X-Signature": signature }, body })).status;
    const status = (body: string, signature: string): Promise<number> =>
      send("POST", body, signature);
    const first = JSON.stringify({ a: 'x]},"\\', b: [{ c: ["ö😀"] }, []], d: {} });
    const bodies = [first, `[${first}]`, `[${first},{"n":2}]`, `[${first},null,[1]]`];
    await disconnectInRequests(url);
    for (const body of bodies) expect(await status(body, signatureOf(first)), body).toBe(200);
    for (const method of ["PUT", "PATCH"])
      expect(await send(method, first, signatureOf(first))).toBe(200);
    const batch = `[${first},{"n":2}]`;
    expect(await status(batch, signatureOf(batch))).toBe(401);
    expect(await status(`[{"n":2},${first}]`, signatureOf(first))).toBe(401);
    expect(await status(batch, "")).toBe(401);
  });
});

test("the receiver that is wrong accepts single requests and refuses every batch", async () => {
  const url = await start("js", process.execPath, "wrong.mjs", 1);
  const status = async (body: string): Promise<number> => {
    const headers = { "X-Signature": signatureOf('{"n":1}') };
    return (await fetch(url, { method: "POST", headers, body })).status;
  };
  expect(await status('{"n":1}')).toBe(200);
  expect(await status('[{"n":1}]')).toBe(401);
  expect(await status('[{"n":1},{"n":2}]')).toBe(401);
});
