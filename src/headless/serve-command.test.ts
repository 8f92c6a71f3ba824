import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

const cli = fileURLToPath(new URL("./cli.ts", import.meta.url));
const freePorts = ["--ingest-port", "0", "--ui-port", "0", "--endpoints-port", "0", "--endpoints-tls-port", "0"];

let directory: string;
const children: ChildProcess[] = [];
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "hookyard-serve-"));
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  rmSync(directory, { recursive: true });
});

function serve(...flags: string[]) {
  const child = spawn(process.execPath, [cli, "serve", ...flags], { stdio: ["ignore", "pipe", "pipe"] });
  children.push(child);
  let err = "";
  child.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ended = new Promise<{ code: number | null; err: string }>((resolve) => child.on("close", (code) => resolve({ code, err })));
  return { child, ended, line: async () => String((await lines.next()).value) };
}

type Ready = {
  event: string;
  ingestUrl: string;
  uiUrl: string;
  token: string;
  endpointsUrl: string;
  endpointsTlsUrl: string;
  dataDir: string | null;
};

describe("hookyard serve", () => {
  test("says where it is in its first line, serves its API there, and ends on SIGTERM with what it had stored", async () => {
    const first = serve("--data", directory, ...freePorts, "--json");
    const ready = JSON.parse(await first.line()) as Ready;
    expect(ready).toEqual({
      event: "ready",
      ingestUrl: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      uiUrl: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      token: expect.stringMatching(/^[\w-]{43}$/),
      endpointsUrl: expect.stringMatching(/^http:/),
      endpointsTlsUrl: expect.stringMatching(/^https:/),
      dataDir: directory,
    });
    expect(statSync(join(directory, "token")).mode & 0o777).toBe(0o600);
    const headers = { Authorization: `Bearer ${ready.token}` };
    const made = await fetch(`${ready.uiUrl}/api/sources`, { method: "POST", headers, body: '{"name":"Web"}' });
    expect(made.status).toBe(201);
    expect((await fetch(`${ready.uiUrl}/`)).headers.get("content-type")).toContain("text/html");
    first.child.kill("SIGTERM");
    expect(await first.ended).toEqual({ code: 0, err: "" });

    const second = serve("--data", directory, ...freePorts, "--json");
    const again = JSON.parse(await second.line()) as Ready;
    expect(again.token).toBe(ready.token);
    const sources = await fetch(`${again.uiUrl}/api/sources`, { headers });
    expect(await sources.json()).toMatchObject({ items: [{ name: "Web" }] });

    const locked = await serve("--data", directory, ...freePorts).ended;
    expect(locked).toEqual({ code: 1, err: expect.stringContaining("in use") });
    second.child.kill("SIGINT");
    expect((await second.ended).code).toBe(0);
  });

  test("prints the inspector's address with the token for people, and reads a configuration", async () => {
    const file = join(directory, "configuration.json");
    writeFileSync(file, '{"version":1,"sources":[{"name":"Web","writeKey":"k"}]}');
    const running = serve("--data", ":memory:", ...freePorts, "--config", file);
    let text = "";
    while (!text.includes("Data")) text += `${await running.line()}\n`;
    const [, uiUrl, token] = /(http:\/\/127\.0\.0\.1:\d+)\/#token=([\w-]{43})/.exec(text) ?? [];
    const sources = await fetch(`${uiUrl}/api/sources`, { headers: { Authorization: `Bearer ${token}` } });
    expect(await sources.json()).toMatchObject({ items: [{ name: "Web", writeKey: "k" }] });
    running.child.kill("SIGTERM");
    expect(await running.ended).toEqual({ code: 0, err: "" });
  });

  test("names the flag of a port that is taken", async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    const { port } = other.address() as AddressInfo;
    const flags = ["--ingest-port", "--ui-port", "--endpoints-port", "--endpoints-tls-port"];
    const ends = await Promise.all(flags.map((flag) => serve("--data", ":memory:", ...freePorts, flag, String(port)).ended));
    for (const [index, { code, err }] of ends.entries()) {
      expect(code).toBe(1);
      expect(err).toMatch(new RegExp(`^Port ${port} .*${flags[index]} .*\n$`));
    }
    await new Promise((resolve) => other.close(resolve));
  });

  test("refuses what it cannot open or read, each in one line", async () => {
    const file = join(directory, "configuration.json");
    writeFileSync(file, '{"version":1,"colour":"red"}');
    writeFileSync(join(directory, "hookyard.db"), "this is not a database, and longer than the header of one would be");
    const ends = await Promise.all([
      serve("--data", directory, ...freePorts).ended,
      serve("--data", ":memory:", ...freePorts, "--config", file).ended,
      serve("--data", ":memory:", ...freePorts, "--config", join(directory, "none")).ended,
    ]);
    expect(ends).toEqual([
      { code: 1, err: expect.stringMatching(/^.*not a Hookyard data file.*\n$/) },
      { code: 1, err: expect.stringMatching(/^.*configuration\.json: Unknown member colour.*\n$/) },
      { code: 1, err: expect.stringMatching(/^.*cannot be read.*\n$/) },
    ]);
  });
});
