/** What a running program says when its files are harmed under it. */

import { mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, onTestFinished, test } from "vitest";
import { call, startHookyard } from "./hookyard-process.ts";
import type { Addresses, HookyardProcess } from "./hookyard-process.ts";

async function dataDirectory(): Promise<string> {
  const parent = await mkdtemp(join(tmpdir(), "hookyard-trouble-"));
  onTestFinished(() => rm(parent, { recursive: true, force: true }));
  return join(parent, "data");
}

async function start(data: string): Promise<{ hookyard: HookyardProcess; addresses: Addresses }> {
  const hookyard = startHookyard(data);
  onTestFinished(async () => {
    hookyard.kill("SIGKILL");
    await hookyard.ended;
  });
  const addresses = await hookyard.ready;
  if (addresses === null) throw new Error(`it did not start: ${(await hookyard.ended).errors}`);
  return { hookyard, addresses };
}

async function send({ ingestUrl }: Addresses): Promise<number> {
  const body = JSON.stringify({ writeKey: "key", userId: "ada", event: "Bought" });
  return (await fetch(`${ingestUrl}/v1/track`, { method: "POST", body })).status;
}

const trouble = async (addresses: Addresses): Promise<string | null> =>
  (await call<{ trouble: string | null }>(addresses, "GET", "stats")).trouble;

test("when the data directory is moved away ingest answers 503 and the statistics say why; when it is back, all goes on", async () => {
  const data = await dataDirectory();
  const { addresses } = await start(data);
  await call(addresses, "POST", "sources", { name: "Shop", writeKey: "key" });
  expect(await send(addresses)).toBe(200);
  await rename(data, `${data}-away`);
  await expect.poll(() => send(addresses)).toBe(503);
  expect(await trouble(addresses)).toMatch(/hookyard\.db has been moved or deleted/);
  expect(await send(addresses)).toBe(503);
  await rename(`${data}-away`, data);
  await expect.poll(() => send(addresses)).toBe(200);
  expect(await trouble(addresses)).toBeNull();
});

test("a deleted data directory is told without anybody sending, and it can still be ended", async () => {
  const data = await dataDirectory();
  const { hookyard, addresses } = await start(data);
  await rm(data, { recursive: true });
  await expect.poll(() => trouble(addresses)).toMatch(/has been moved or deleted/);
  hookyard.kill("SIGTERM");
  expect(await hookyard.ended).toMatchObject({ code: 0 });
});

test("a data file that cannot be written to keeps nobody from ending", async () => {
  const data = await dataDirectory();
  const { hookyard, addresses } = await start(data);
  await call(addresses, "POST", "sources", { name: "Shop", writeKey: "key" });
  const other = new Database(join(data, "hookyard.db"));
  onTestFinished(() => void other.close());
  other.exec("BEGIN IMMEDIATE");
  hookyard.kill("SIGTERM");
  expect(await hookyard.ended).toMatchObject({
    code: 0,
    errors: expect.stringMatching(/^\S+ Hookyard's data file is locked by another program\. .*\n$/),
  });
});

test("with the lock file deleted a second process does not start, and the first goes on", async () => {
  const data = await dataDirectory();
  const { addresses } = await start(data);
  await call(addresses, "POST", "sources", { name: "Shop", writeKey: "key" });
  await rm(join(data, "hookyard.lock"));
  const second = startHookyard(data);
  expect(await second.ended).toMatchObject({
    code: 1,
    errors: expect.stringMatching(/^.+ is in use .*\n$/),
  });
  expect(await send(addresses)).toBe(200);
  expect(await trouble(addresses)).toBeNull();
});
