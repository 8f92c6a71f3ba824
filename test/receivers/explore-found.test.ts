/** What `hookyard explore` writes of what it found. */

import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as wait } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { shellQuoted } from "../../src/domain/shell-quoted.ts";
import { readExploration } from "../../src/explore/explore-file.ts";
import { Runner } from "../../src/explore/runner.ts";
import type { Step } from "../../src/explore/schedule.ts";
import { shrink } from "../../src/explore/shrink.ts";
import { runInProcess } from "../support/in-process.ts";

type Receive = (messageId: string, rows: string[], response: ServerResponse) => unknown;

/** Lists at `/rows` what it has done. */
async function startReceiver(receive: Receive, asked: string[] = []): Promise<string> {
  const rows: string[] = [];
  const server = createServer(async (request, response) => {
    asked.push(request.url ?? "");
    if (request.url === "/rows" || request.url === "/state")
      return void response.end(rows.join("\n"));
    const { messageId } = JSON.parse(await text(request)) as { messageId: string };
    await receive(messageId, rows, response);
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** With one of two bugs about the copy of a message. */
const startWrong = (bug: { is: "counts a copy" | "refuses a copy" }): Promise<string> =>
  startReceiver((messageId, rows, response) => {
    const isCopy = rows.includes(messageId);
    if (!isCopy || bug.is === "counts a copy") rows.push(messageId);
    response.writeHead(isCopy && bug.is === "refuses a copy" ? 500 : 204).end();
  });

test("a second search keeps the test of another bug, and writes the same one once", async () => {
  const out = mkdtempSync(join(tmpdir(), "hookyard explore-"));
  onTestFinished(() => rmSync(out, { recursive: true }));
  const bug: { is: "counts a copy" | "refuses a copy" } = { is: "counts a copy" };
  const origin = await startWrong(bug);
  const file = join(out, "search.yaml");
  writeFileSync(
    file,
    `name: Rows
explore:
  receiver: { url: ${origin}/, effects: ${origin}/rows }
  messages: [{ type: track, event: A }]
  vary: { together: 0, lostAnswers: 0, delays: [] }
`,
  );
  const written = async (): Promise<string> => {
    const ended = await runInProcess(["explore", file, "--out", out]);
    expect(ended.code, ended.err).toBe(1);
    const [, path = ""] = /^Written: (.+?) {2}/m.exec(ended.out) ?? [];
    expect(ended.out).toContain(`  hookyard run ${shellQuoted(path)} shows it again.`);
    return path;
  };
  expect(await written()).toBe(join(out, "rows-seed-1.yaml"));
  const first = readFileSync(join(out, "rows-seed-1.yaml"), "utf8");
  bug.is = "refuses a copy";
  expect(await written()).toBe(join(out, "rows-seed-1-2.yaml"));
  expect(await written()).toBe(join(out, "rows-seed-1-2.yaml"));
  expect(readdirSync(out).toSorted()).toEqual([
    "rows-seed-1-2.yaml",
    "rows-seed-1.yaml",
    "search.yaml",
  ]);
  expect(readFileSync(join(out, "rows-seed-1.yaml"), "utf8")).toBe(first);
  expect(readFileSync(join(out, "rows-seed-1-2.yaml"), "utf8")).toMatch(
    /^# hookyard run rows-seed-1-2\.yaml\n.*was answered 500/,
  );

  // What was found is said also where it cannot be written.
  const unwritable = "a".repeat(300);
  expect(await runInProcess(["explore", file, "--out", unwritable])).toMatchObject({
    code: 2,
    out: expect.stringMatching(/✗ .*was answered 500[^]*\n {2}1\. /),
    err: expect.stringContaining(`${unwritable} cannot be written: `),
  });
  const json = await runInProcess(["explore", file, "--json", "--out", unwritable]);
  expect(json).toMatchObject({ code: 2, err: expect.stringContaining("cannot be written") });
  expect(JSON.parse(json.out)).toMatchObject({
    finding: { violations: [expect.stringContaining("was answered 500")], scenario: null },
  });
  expect(await runInProcess(["explore", file, "--out", file])).toEqual({
    code: 2,
    out: "",
    err: `${file} is not a folder.\n`,
  });
});

/** With a list of what is asked for, it shows a state too. */
test("a message that only its first user gets is found, and its scenario fails at a receiver that is new", async () => {
  const folder = mkdtempSync(join(tmpdir(), "hookyard-explore-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const start = (keyOf: (messageId: string) => string): Promise<string> => {
    const keys = new Set<string>();
    return startReceiver((messageId, rows, response) => {
      if (!keys.has(keyOf(messageId))) rows.push(messageId);
      keys.add(keyOf(messageId));
      response.writeHead(204).end();
    });
  };
  const isOfAnyUser = (messageId: string): string => messageId.slice(-2);
  const file = join(folder, "search.yaml");
  const search = async (origin: string): Promise<string> => {
    writeFileSync(
      file,
      `name: Keys
explore:
  receiver: { url: ${origin}/, effects: ${origin}/rows }
  messages: [{ type: track, event: A }]
  vary: { together: 0, lostAnswers: 0, duplicates: 0, delays: [] }
`,
    );
    return (await runInProcess(["explore", file, "--out", folder])).out;
  };
  const wrong = await start(isOfAnyUser);
  expect(await search(wrong)).toMatch(
    /^Alone, A worked at the beginning .*\n[^]*✗ A took effect never, and not once\.\n {2}1\. A\n/m,
  );
  const scenario = readFileSync(join(folder, "keys-seed-1.yaml"), "utf8");
  const codes = [await start(isOfAnyUser), await start((messageId) => messageId)].map(
    async (origin, nth) => {
      const path = join(folder, `new-${nth}.yaml`);
      writeFileSync(path, scenario.replaceAll(wrong, origin));
      return (await runInProcess(["run", path])).code;
    },
  );
  expect(await Promise.all(codes)).toEqual([1, 0]);
});

async function startRunner(receive: Receive, asked?: string[]): Promise<Runner> {
  const origin = await startReceiver(receive, asked);
  const state = asked === undefined ? "" : `, state: ${origin}/state`;
  const exploration = readExploration(`name: Rows
explore:
  receiver: { url: ${origin}/, effects: ${origin}/rows${state} }
  messages: [{ type: track, event: A }, { type: track, event: B }, { type: track, event: C }]
  vary: { together: 0, lostAnswers: 0, delays: [] }
`);
  if ("problems" in exploration) throw new Error(JSON.stringify(exploration.problems));
  const runner = new Runner(exploration, null);
  onTestFinished(() => runner.close());
  return runner;
}

const send = (message: number): Step => ({ do: "send", message });

test("two copies that win a race now and then become as many as win it every time", async () => {
  const copiesOf = new Map<string, number>();
  const runner = await startRunner((messageId, rows, response) => {
    const copies = (copiesOf.get(messageId) ?? 0) + 1;
    copiesOf.set(messageId, copies);
    if (copies === 1 || copies === 3) rows.push(messageId);
    response.writeHead(204).end();
  });
  const together = (copies: number): Step => ({ do: "together", message: 0, copies, apartMs: 0 });
  const shrunk = await shrink({ runner, schedule: [send(1), together(2)], kind: "twice" });
  expect(shrunk?.schedule).toEqual([together(4)]);
});

test("a schedule is made smaller also where effects take longer than a second", async () => {
  const runner = await startRunner(async (messageId, rows, response) => {
    response.writeHead(202).end();
    await wait(1_200);
    rows.push(messageId);
  });
  expect(await runner.run([[send(0)]])).toEqual([[]]);
  const shrunk = await shrink({
    runner,
    schedule: [send(0), send(1), send(0), send(2)],
    kind: "twice",
  });
  expect(shrunk?.schedule).toEqual([send(0), send(0)]);
});

test("a message that fails alone is tried first, and no states are measured for it", async () => {
  const asked: string[] = [];
  const runner = await startRunner((messageId, rows, response) => {
    const isWrong = messageId.endsWith("-m3");
    if (!rows.includes(messageId)) rows.push(messageId);
    response.writeHead(isWrong ? 500 : 204).end();
  }, asked);
  const shrunk = await shrink({ runner, schedule: [send(0), send(1), send(2)], kind: "answer" });
  expect(shrunk).toMatchObject({ schedule: [send(2)], runs: 15 });
  expect(asked).not.toContain("/state");
});
