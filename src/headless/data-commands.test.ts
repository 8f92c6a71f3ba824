/** `hookyard doctor` and `hookyard backup`, beside a Hookyard that runs and without one. */

import { execFile } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, onTestFinished, test } from "vitest";
import { call, startHookyard, type Addresses } from "../../test/crash/hookyard-process.ts";
import { startLoad } from "../../test/crash/load.ts";
import { runInProcess } from "../../test/support/in-process.ts";
import { program } from "../../test/support/program.ts";
import { createApp } from "../app.ts";

function temporary(): string {
  const path = mkdtempSync(join(tmpdir(), "hookyard-doctor-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

const hookyard = (...args: string[]) => runInProcess(args);

function asProcess(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [program, ...args], (error, out, err) =>
      resolve({ code: error === null ? 0 : Number(error.code), out, err }),
    );
  });
}

async function start(data: string) {
  const running = startHookyard(data);
  onTestFinished(async () => {
    running.kill("SIGKILL");
    await running.ended;
  });
  const addresses = await running.ready;
  if (addresses === null) throw new Error((await running.ended).errors);
  return {
    addresses,
    end: (signal: "SIGTERM" | "SIGKILL") => (running.kill(signal), running.ended),
  };
}

async function fill(addresses: Addresses): Promise<Set<string>> {
  const source = await call<{ id: string }>(addresses, "POST", "sources", {
    name: "Shop",
    writeKey: "key",
  });
  await call(addresses, "POST", "destinations", {
    name: "Out",
    sourceIds: [source.id],
    webhooks: [{ url: "http://127.0.0.1:1/" }],
    sharedSecret: "s3cret",
  });
  const accepted = new Set<string>();
  const load = startLoad({
    ingestUrl: addresses.ingestUrl,
    writeKey: "key",
    prefix: "m",
    accepted,
  });
  await expect.poll(() => accepted.size).toBeGreaterThan(100);
  await load.stop();
  return accepted;
}

/** Names and bytes; of the index beside the log, which SQLite rebuilds, the name alone. */
const contents = (data: string): [string, string][] =>
  readdirSync(data).map((name) => [
    name,
    name.endsWith("-shm") || statSync(join(data, name)).isDirectory()
      ? ""
      : readFileSync(join(data, name), "latin1"),
  ]);

/** Data that a Hookyard has left behind, without a process; with messages, also what they need. */
async function leftBehind(data: string, messages = 0): Promise<void> {
  const ports = { ingest: 0, endpoints: 0, endpointsTls: 0 };
  const app = createApp({ data, ports, version: "0" });
  const { ingestUrl } = await app.start();
  if (messages > 0) {
    const source = await app.api.call("sources.create", { name: "Shop", writeKey: "key" });
    const sourceIds = [(source.body as { id: string }).id];
    const webhooks = [{ url: "http://127.0.0.1:1/" }];
    await app.api.call("destinations.create", { name: "Out", sourceIds, webhooks });
    const batch = Array.from({ length: messages }, (_, made) => ({
      ...{ type: "track", userId: `user-${made % 50}`, event: "Bought" },
      properties: { made, text: "x".repeat((made * 7) % 700) },
    }));
    const body = JSON.stringify({ writeKey: "key", batch });
    const { status } = await fetch(`${ingestUrl}/v1/batch`, { method: "POST", body });
    expect(status).toBe(200);
  }
  await app.stop();
}

type Examined = {
  inUse: boolean;
  rows: Record<string, number>;
  findings: { level: string; message: string; cure: string }[];
};

test("doctor finds nothing wrong beside a running Hookyard, after a kill and after a clean end, and changes nothing", async () => {
  const data = join(temporary(), "data");
  const first = await start(data);
  const accepted = await fill(first.addresses);
  const beside = await asProcess("doctor", "--data", data, "--json");
  expect(beside).toMatchObject({ code: 0, err: "" });
  expect(beside.out).toBe(`${JSON.stringify(JSON.parse(beside.out), null, 2)}\n`);
  expect(JSON.parse(beside.out)).toMatchObject({
    inUse: true,
    rows: { sources: 1, destinations: 1 },
    findings: [],
  });

  await first.end("SIGKILL");
  const killed = contents(data);
  const after = await hookyard("doctor", "--data", data, "--json");
  const { inUse, rows, findings } = JSON.parse(after.out) as Examined;
  expect([after.code, inUse, findings]).toEqual([0, false, []]);
  expect(rows["messages"]).toBeGreaterThanOrEqual(accepted.size);
  expect(contents(data)).toEqual(killed);

  await leftBehind(data);
  const ended = contents(data);
  const text = await hookyard("doctor", "--data", data);
  expect(text).toMatchObject({
    code: 0,
    out: expect.stringMatching(/not in use[^]*log: missing[^]*\nNothing is wrong\.\n$/),
  });
  expect(contents(data)).toEqual(ended);
});

test("doctor lists what is wrong with what to do, and ends with 1", async () => {
  const data = join(temporary(), "data");
  await leftBehind(data, 10);
  const db = new Database(join(data, "hookyard.db"));
  db.exec(
    "UPDATE message_counts SET n = n + 1; DELETE FROM messages WHERE id = 3; UPDATE deliveries SET state = 6 WHERE id = 1",
  );
  db.close();
  writeFileSync(join(data, "token"), "x");
  chmodSync(join(data, "token"), 0o644);
  const { code, out } = await hookyard("doctor", "--data", data, "--json");
  const { findings } = JSON.parse(out) as Examined;
  expect(code).toBe(1);
  const said = findings.map(({ level, message }) => `${level}: ${message}`).join("\n");
  expect(said).toMatch(/error: \d+ message counts that differ from the rows/);
  expect(said).toMatch(/error: 1 deliveries without their message/);
  expect(said).toMatch(/error: 1 messages that are not in the first state/);
  expect(said).toMatch(/warning: Other users can read .*token \(its mode is 644\)/);
  expect(findings.every(({ cure }) => cure.length > 20)).toBe(true);
  rmSync(join(data, "hookyard.db"));
  expect(await hookyard("doctor", "--data", data)).toMatchObject({
    code: 1,
    out: expect.stringMatching(/is missing, although it held data/),
  });
});

test("doctor prints the sizes, the format and the rows, as far as there are any", async () => {
  const data = join(temporary(), "data");
  await leftBehind(data);
  const text = async (): Promise<string> =>
    (await hookyard("doctor", "--data", data)).out.replaceAll(/\d[\d,]* bytes/g, "N bytes");
  const beginning = `Data directory  ${data}, not in use\nData file       `;
  const onFile = (sql: string): unknown => {
    const db = new Database(join(data, "hookyard.db"));
    const answer = db.pragma(sql, { simple: true });
    db.close();
    return answer;
  };
  const format = Number(onFile("user_version"));
  expect(await text()).toMatch(
    `${beginning}N bytes, of which N bytes free; log: missing
Format          ${format}; this program knows ${format}
Rows            0 requests, 0 messages, 0 deliveries, 0 attempts, 0 profiles, 0 sources, 0 destinations
Checked         permissions, room on the disk, files against the marker, `,
  );
  onFile(`user_version = ${format - 1}`);
  expect(await text()).toMatch(
    `${beginning}N bytes, of which N bytes free; log: missing
Format          ${format - 1}; this program knows ${format}, and the next start brings it up to date
Rows            not counted
Checked         `,
  );
  rmSync(join(data, "hookyard.db"));
  expect(await text()).toMatch(
    `${beginning}missing; log: missing
Format          unknown; this program knows ${format}
Rows            not counted
Checked         permissions, room on the disk, files against the marker

1 finding:

error    ${join(data, "hookyard.db")} is missing, although it held data`,
  );
  writeFileSync(join(data, "token"), "x");
  chmodSync(join(data, "token"), 0o644);
  expect(await text()).toMatch(/\n2 findings:\n\n(?:error|warning) {2,4}/);
});

test("doctor and backup say in a line what they cannot do", async () => {
  const empty = temporary();
  const ends = await Promise.all([
    hookyard("doctor", "--data", join(empty, "none")),
    hookyard("doctor", "--data", empty),
    hookyard("doctor", "--colour"),
    hookyard("backup"),
    hookyard("backup", "x", "--data", empty),
    hookyard("backup", "x", "--data", ":memory:"),
  ]);
  expect(ends.map(({ code }) => code)).toEqual([2, 2, 2, 2, 1, 2]);
  for (const { out, err } of ends) expect([out, err.trimEnd().split("\n").length]).toEqual(["", 1]);
});

test("a backup taken under load is one checked file for its owner, and restores into a new directory", async () => {
  const parent = temporary();
  const data = join(parent, "data");
  const running = await start(data);
  const before = await fill(running.addresses);
  const during = new Set<string>();
  const load = startLoad({
    ingestUrl: running.addresses.ingestUrl,
    writeKey: "key",
    prefix: "late",
    accepted: during,
  });
  const file = join(parent, "backup.db");
  const made = await asProcess("backup", file, "--data", data, "--json");
  await load.stop();
  expect(made).toMatchObject({ code: 0, err: "" });
  expect(JSON.parse(made.out)).toMatchObject({ file, messages: expect.any(Number) });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readdirSync(parent).toSorted()).toEqual(["backup.db", "data"]);

  expect(await hookyard("backup", file, "--data", data)).toMatchObject({
    code: 1,
    err: expect.stringContaining("--force"),
  });
  const again = await hookyard("backup", file, "--data", data, "--force");
  expect(again).toMatchObject({
    code: 0,
    out: expect.stringMatching(/: [\d,]+ messages, \d{1,3}(,\d{3})+ bytes, checked\./),
  });
  expect(
    await hookyard("backup", join(data, "hookyard.db"), "--data", data, "--force"),
  ).toMatchObject({ code: 1 });
  await running.end("SIGTERM");

  const restored = join(parent, "restored");
  mkdirSync(restored);
  copyFileSync(file, join(restored, "hookyard.db"));
  const { addresses, end } = await start(restored);
  const { items } = await call<{ items: { hasSharedSecret: boolean; name: string }[] }>(
    addresses,
    "GET",
    "destinations",
  );
  expect(items).toMatchObject([{ name: "Out", hasSharedSecret: true }]);
  expect(addresses.token).not.toBe(running.addresses.token);
  await end("SIGTERM");
  const db = new Database(join(restored, "hookyard.db"), { readonly: true });
  const there = new Set(db.prepare<[], string>("SELECT message_id FROM messages").pluck().all());
  db.close();
  expect([...before].filter((id) => !there.has(id))).toEqual([]);
  expect(during.size).toBeGreaterThan(0);
  expect((await hookyard("doctor", "--data", restored)).code).toBe(0);
});

test("a backup of damaged data is not written", async () => {
  const parent = temporary();
  const data = join(parent, "data");
  await leftBehind(data, 150);
  const file = join(data, "hookyard.db");
  const bytes = readFileSync(file);
  bytes.fill(0xa5, bytes.length - 8192);
  writeFileSync(file, bytes);
  expect(await hookyard("backup", join(parent, "copy.db"), "--data", data)).toMatchObject({
    code: 1,
    err: expect.stringMatching(/damaged/),
  });
  expect(existsSync(join(parent, "copy.db"))).toBe(false);
  expect(readdirSync(parent)).toEqual(["data"]);
});
