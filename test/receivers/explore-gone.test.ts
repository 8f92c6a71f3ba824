/** Searches against a receiver that an order of events ends. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, test, type TestContext } from "vitest";
import { explore, type Explored } from "../../src/explore/explore.ts";
import { readExploration } from "../../src/explore/explore-file.ts";
import { scenarioOf } from "../../src/explore/scenario.ts";
import { lastingPort } from "../support/free-ports.ts";
import { runInProcess } from "../support/in-process.ts";
import { nodeInShell } from "../support/program.ts";

/**
 * An order that is refunded already ends it, one that is late after its answer, and what it has done
 * is kept. One that is watched starts again by itself.
 */
async function startFragile(
  { onTestFinished }: TestContext,
  { isWatched = false, isLate = false, isRight = false } = {},
) {
  const rows: string[] = [];
  const refunded = new Set<string>();
  const server = createServer(async (request, response) => {
    if (request.url === "/rows") return void response.end(JSON.stringify(rows));
    if (request.url === "/missing") return void response.writeHead(404).end();
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { messageId, userId, event } = JSON.parse(Buffer.concat(chunks).toString());
    const isFatal = event === "Ordered" && refunded.has(userId) && !isRight;
    if (isFatal && !isLate) return end(request.socket);
    if (event === "Refunded") refunded.add(userId);
    if (!rows.includes(messageId)) rows.push(messageId);
    response.writeHead(204).end(() => (isFatal ? end(request.socket) : undefined));
  });
  const listen = (port: number): Promise<void> =>
    new Promise((resolve) => void server.listen(port, "127.0.0.1", resolve));
  const port = await lastingPort();
  await listen(port);
  const stop = (): void => {
    server.close();
    server.closeAllConnections();
  };
  const startAgain = async (): Promise<void> => (server.listening ? undefined : listen(port));
  const end = (socket: Socket): void => {
    stop();
    socket.destroy();
    if (isWatched) void wait(20).then(startAgain);
  };
  onTestFinished(stop);
  return { url: `http://127.0.0.1:${port}/`, rows, startAgain };
}

type Fragile = Awaited<ReturnType<typeof startFragile>>;

/** Lists what it has done too, and has a command that starts it again. */
async function startSupervisor(
  { onTestFinished }: TestContext,
  { rows, startAgain }: Fragile,
): Promise<{ effects: string; restart: string }> {
  const supervisor = createServer((request, response) => {
    if (request.url === "/rows") response.end(JSON.stringify(rows));
    else void startAgain().then(() => response.end());
  });
  await new Promise<void>((resolve) => void supervisor.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void supervisor.close());
  const url = `http://127.0.0.1:${(supervisor.address() as AddressInfo).port}`;
  // Without Node's `fetch`, whose load is half of the time of the command.
  const restart = `${nodeInShell} -e "require('http').get('${url}')"`;
  return { effects: `${url}/rows`, restart };
}

async function search(
  url: string,
  { effects = `${url}rows`, restart }: { effects?: string; restart?: string } = {},
): Promise<Explored> {
  const exploration = readExploration(`name: Fragile
explore:
  receiver:
    url: ${url}
    effects: ${effects}
    restart: ${restart === undefined ? `{ url: ${url}restart }` : JSON.stringify(restart)}
  messages:
    - { type: track, event: Viewed }
    - { type: track, event: Ordered }
    - { type: track, event: Refunded }
  vary: { duplicates: 0, together: 0, lostAnswers: 0, restarts: 0 }
`);
  if ("problems" in exploration) throw new Error(JSON.stringify(exploration.problems));
  return explore({ exploration, secret: null, seed: 1, runs: 100, minutes: 1440 });
}

function scenarioFor({ exploration, finding }: Explored): string {
  const { schedule = [], violations = [], isAfterOthers = false, number = 0 } = finding ?? {};
  const about = { exploration, schedule, violations, isAfterOthers, number };
  return scenarioOf({ ...about, isSigned: false, seed: 1, file: "found.yaml" });
}

function run({ onTestFinished }: TestContext, scenario: string) {
  const folder = mkdtempSync(join(tmpdir(), "hookyard-gone-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "found.yaml");
  writeFileSync(file, scenario);
  return runInProcess(["run", file]);
}

describe.concurrent("an order that ends the receiver is found", () => {
  const found = {
    finding: { violations: [{ kind: "gone" }], schedule: [{ message: 2 }, { message: 1 }] },
    unsteady: [],
    gone: null,
  };

  test("where a command starts it again", async (context) => {
    const fragile = await startFragile(context);
    const { restart } = await startSupervisor(context, fragile);
    expect(await search(fragile.url, { restart })).toMatchObject(found);
  });

  test("where it answers before it ends, and its effects are elsewhere", async (context) => {
    const fragile = await startFragile(context, { isLate: true });
    const supervisor = await startSupervisor(context, fragile);
    const explored = await search(fragile.url, supervisor);
    expect(explored).toMatchObject(found);
    const written = scenarioFor(explored);
    await fragile.startAgain();
    const ended = await run(context, written);
    expect(ended.out).toMatch(/The receiver is still there[^]*nothing listens at/);
    expect(ended.code).toBe(1);
    const right = await startFragile(context, { isRight: true });
    const { effects } = await startSupervisor(context, right);
    const mended = written
      .replaceAll(fragile.url, right.url)
      .replaceAll(supervisor.effects, effects);
    expect(await run(context, mended)).toMatchObject({ code: 0 });
  });

  test("where something watches it", async (context) => {
    const { url } = await startFragile(context, { isWatched: true });
    expect(await search(url)).toMatchObject(found);
  });
});

test.concurrent("a receiver that ends for good ends the search, which says how to find more", async (context) => {
  const { url } = await startFragile(context);
  expect(await search(url)).toMatchObject({
    finding: null,
    gone: expect.stringContaining(
      "If the file has a command at restart:, the search starts the receiver",
    ),
  });
});

test.concurrent("a receiver that was never there, and effects at another address, are named as such", async (context) => {
  const { url } = await startFragile(context);
  await expect(search(url, { effects: `${url}missing` })).rejects.toThrow(
    new RegExp(`^${url}missing answered 404 when it was asked for effects, not 200\\.$`),
  );
  const nowhere = `http://127.0.0.1:${await lastingPort()}/`;
  await expect(search(nowhere)).rejects.toThrow(
    `Nothing listens at ${nowhere}. Start the receiver first.`,
  );
});
