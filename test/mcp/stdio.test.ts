/** `hookyard mcp` as an agent's program starts it, with the official client. */

import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { PassThrough } from "node:stream";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { test as base, describe, expect } from "vitest";
import { lastingPort } from "../support/free-ports.ts";
import { answerElsewhere, serveLines } from "../../src/headless/mcp-stdio.ts";
import type { Reply } from "../../src/mcp/protocol.ts";
import { hookyard, startHere } from "../command-line/command-line.ts";
import { runInProcess } from "../support/in-process.ts";
import { starting, until } from "../support/running-app.ts";
import { createClient, textOf } from "./agent.ts";
import { program } from "../support/program.ts";

const test = base.extend("start", starting);

/** What the client starts, and what it says on standard error. */
async function connected(revision: string, data: string, env: Record<string, string> = {}) {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [program, "mcp", "--data", data],
    env: { ...(process.env as Record<string, string>), ...env },
    stderr: "pipe",
  });
  let said = "";
  transport.stderr?.on("data", (chunk: Buffer) => (said += chunk.toString()));
  const client = createClient(revision);
  await client.connect(transport).catch((error: unknown) => {
    throw new Error(`It said: ${said}`, { cause: error });
  });
  return { client, said: () => said };
}

describe("hookyard mcp", () => {
  test("starts a Hookyard that ends with the agent", async ({ start }) => {
    const data = await start.directory();
    const { client, said } = await connected("2026-07-28", data);
    expect((await client.listTools()).tools.length).toBeGreaterThan(10);
    expect(await textOf(client, "overview", {})).toContain("Messages: none.");
    await until(() => /^Started Hookyard: http:\/\/127\.0\.0\.1:\d+\. /.test(said()));
    const page = join(await start.directory(), "all.html");
    expect(await runInProcess(["share", page, "--data", data])).toMatchObject({ code: 0 });
    await client.close();
    // The data is free again.
    const { stop } = await startHere(data);
    await stop();
  });

  test("sets what it starts up by the configuration file and the environment", async ({
    start,
    onTestFinished,
  }) => {
    const data = await start.directory();
    const config = join(await start.directory(), "shop.yaml");
    writeFileSync(
      config,
      "ports: { ui: 0, ingest: 0, endpoints: 0, endpointsTls: 0 }\nsources: [{ name: Shop }]\n",
    );
    const { client } = await connected("2026-07-28", data, { HOOKYARD_CONFIG: config });
    onTestFinished(() => client.close());
    const text = await textOf(client, "overview", {});
    expect(text).toContain('name="Shop"');
    expect(text).not.toMatch(/:4700\b/);

    writeFileSync(config, "source: []\n");
    const refused = await hookyard(["mcp", "--data", ":memory:"], {
      env: { HOOKYARD_CONFIG: config },
    }).ended;
    expect(refused).toEqual({
      code: 1,
      out: "",
      err: `${config}:1:1 source is unknown. Did you mean sources?\n`,
    });
  });

  test("starts on other ports when another program has one of its own, and speaks the older revision", async ({
    start,
    onTestFinished,
  }) => {
    const other = createServer().listen(0, "127.0.0.1");
    onTestFinished(() => void other.close());
    await once(other, "listening");
    const { port } = other.address() as AddressInfo;
    const { client, said } = await connected("2025-11-25", await start.directory(), {
      HOOKYARD_UI_PORT: String(port),
    });
    onTestFinished(() => client.close());
    expect((await client.listTools()).tools.length).toBeGreaterThan(10);
    expect(await textOf(client, "overview", {})).toContain("Messages: none.");
    await until(() => said().includes("Started Hookyard: "));
    expect(said()).not.toContain(`:${port}`);
  });

  test("that is started twice at once on a new directory answers both times", async ({
    start,
    onTestFinished,
  }) => {
    const data = await start.directory();
    const both = await Promise.all([1, 2].map(() => connected("2026-07-28", data)));
    onTestFinished(async () => {
      for (const { client } of both) await client.close();
    });
    for (const { client } of both)
      expect(await textOf(client, "overview", {})).toContain("Messages: none.");
    await until(() => both.every(({ said }) => said().includes("http://")));
    for (const { said } of both) expect(said()).toMatch(/^(?:Joined the|Started) Hookyard/);
  });

  test("continues with a Hookyard of its own when the one that it joined ends with its agent", async ({
    start,
    onTestFinished,
  }) => {
    const data = await start.directory();
    const first = await connected("2026-07-28", data);
    const created = { kind: "source", changes: { name: "Größe" } };
    expect(await textOf(first.client, "configure", created)).toContain("Created src_");
    const second = await connected("2026-07-28", data);
    onTestFinished(() => second.client.close());
    await until(() => second.said().startsWith("Joined the Hookyard at "));

    await first.client.close();
    const both = await Promise.all([1, 2].map(() => textOf(second.client, "overview", {})));
    for (const text of both) expect(text).toContain('name="Größe"');
    expect(second.said()).toContain("Started Hookyard: ");
  });

  test("joins the Hookyard that runs with the data directory, and finds it again after a restart", async ({
    start,
    onTestFinished,
  }) => {
    const data = await start.directory();
    const first = await startHere(data);
    const { client, said } = await connected("2026-07-28", data);
    onTestFinished(() => client.close());
    await until(() => said().startsWith("Joined the Hookyard at "));
    expect(await textOf(client, "overview", {})).toContain(`Send to ${first.ingestUrl}`);
    const created = { kind: "source", changes: { name: "Größe" } };
    expect(await textOf(client, "configure", created)).toContain("Created src_");

    await first.stop();
    await expect(client.callTool({ name: "overview" })).rejects.toThrow(/No Hookyard runs/);
    const again = await startHere(data);
    const text = await textOf(client, "overview", {});
    expect(text).toContain(`Send to ${again.ingestUrl}`);
    expect(text).toContain('name="Größe"');
    await again.stop();
  });
});

describe("lines", () => {
  type Answer = (message: unknown, caller: AbortSignal) => Promise<Reply | Reply[] | null>;

  async function answersTo(lines: readonly string[], answer: Answer): Promise<unknown[]> {
    const [input, output] = [new PassThrough(), new PassThrough()];
    const served = serveLines({ input, output }, { answer });
    for (const line of lines) input.write(`${line}\n`);
    input.end();
    await served;
    output.end();
    const answers: unknown[] = [];
    for await (const line of createInterface({ input: output })) answers.push(JSON.parse(line));
    return answers;
  }
  const result: Answer = async () => ({ jsonrpc: "2.0", id: 1, result: {} });

  test("that are no JSON or too long are refused, and empty ones are passed over", async () => {
    const lineOf = (length: number): string => `"${"x".repeat(length - 2)}"`;
    const lines = ["", "{", lineOf(1_000_001), "  ", lineOf(1_000_000)];
    expect(await answersTo(lines, result)).toMatchObject([
      { error: { code: -32700 } },
      { error: { code: -32600 } },
      { result: {} },
    ]);
  });

  test.for<[string, string, unknown]>([
    ['{"jsonrpc":"2.0","id":7,"method":"tools/call","params":"', '"}', 7],
    ['{"method":"tools/call","id":"a\\"b","params":"', '"}', 'a"b'],
    ['{"method":"tools/call","params":{"text":"', '"},"jsonrpc":"2.0","id":8}', 8],
    ['{"jsonrpc":"2.0","method":"tools/call","params":{"id":9,"text":"', '"}}', null],
    ['{"method":"tools/call","params":{"text":"', '","id":9}}', null],
    ['{"method":"tools/call","params":"', ',\\"id\\":9}"}', null],
    ['[{"jsonrpc":"2.0","id":7,"params":"', '"}]', null],
  ])("that are too long are answered with their id where it is sure: %s…%s", async (given) => {
    const [start, end, id] = given;
    expect(await answersTo([`${start}${"x".repeat(1_000_000)}${end}`], result)).toMatchObject([
      { id, error: { message: "The line is too long." } },
    ]);
  });

  test("that never end are refused as soon as they are too long, and the next is answered", async () => {
    const [input, output] = [new PassThrough(), new PassThrough()];
    const served = serveLines({ input, output }, { answer: result });
    for (let piece = 0; piece < 30; piece += 1) input.write("x".repeat(100_000));
    input.end(`\n{}\n`);
    await served;
    const replies = String(output.read()).trim().split("\n");
    expect(replies.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { error: { code: -32600, message: "The line is too long." } },
      { result: {} },
    ]);
  });

  test("are answered 64 at a time, with a turn of the event loop for each", async () => {
    let running = 0;
    let most = 0;
    let turns = 0;
    let isOver = false;
    const gate = Promise.withResolvers<void>();
    const count = (): void => {
      turns += 1;
      if (!isOver) setImmediate(count);
    };
    count();
    const slow: Answer = async (message) => {
      const { id } = message as { id: number };
      running += 1;
      most = Math.max(most, running);
      if (id === 63) {
        const until = turns + 200;
        while (turns < until) await new Promise(setImmediate);
        gate.resolve();
      }
      await gate.promise;
      running -= 1;
      return { jsonrpc: "2.0", id, result: {} };
    };
    const lines = Array.from({ length: 500 }, (_, id) =>
      JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call" }),
    );
    await answersTo(lines, slow);
    isOver = true;
    expect(most).toBe(64);
    expect(turns).toBeGreaterThan(500);
  });

  test("cancel a request also while as many are in progress as can be", async () => {
    const reply = (id: number): Reply => ({ jsonrpc: "2.0", id, result: {} });
    const answer: Answer = (message, caller) => {
      const { id } = message as { id: number };
      return new Promise((resolve) => {
        if (id === 64) resolve(reply(id));
        caller.addEventListener("abort", () => resolve(null));
      });
    };
    const [input, output] = [new PassThrough(), new PassThrough()];
    const served = serveLines({ input, output }, { answer });
    const write = (message: object): void =>
      void input.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
    for (let id = 0; id < 64; id += 1) write({ id, method: "tools/call" });
    write({ method: "notifications/cancelled", params: { requestId: 0 } });
    write({ id: 64, method: "tools/call" });
    const lines = createInterface({ input: output })[Symbol.asyncIterator]();
    expect(JSON.parse((await lines.next()).value as string)).toEqual(reply(64));
    input.end();
    await served;
  });

  test("are answered as the answers come, and a cancelled request is not", async () => {
    const aborted: unknown[] = [];
    const waiting: Answer = (message, caller) => {
      const { id } = message as { id: number };
      const { promise, resolve } = Promise.withResolvers<Reply>();
      const answer = (): void => resolve({ jsonrpc: "2.0", id, result: {} });
      caller.addEventListener("abort", () => {
        aborted.push(id);
        answer();
      });
      if (id === 2) answer();
      return promise;
    };
    const call = (id: number): string =>
      JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call" });
    const cancel = JSON.stringify({
      jsonrpc: "2.0",
      method: "notifications/cancelled",
      params: { requestId: 1 },
    });
    // The third is in progress when the input ends.
    expect(await answersTo([call(1), call(2), cancel, call(3)], waiting)).toEqual([
      { jsonrpc: "2.0", id: 2, result: {} },
    ]);
    expect(aborted).toEqual([1, 3]);
    // A client may use an id again: its cancellation is of both requests.
    aborted.length = 0;
    expect(await answersTo([call(1), call(1), cancel, call(3)], waiting)).toEqual([]);
    expect(aborted).toEqual([1, 1, 3]);
    aborted.length = 0;
    expect(await answersTo([call(1), call(2), call(1), cancel, call(3)], waiting)).toHaveLength(1);
    expect(aborted).toEqual([1, 1, 3]);
  });
});

test("a running Hookyard is looked for once, and a request whose caller leaves has no answer", async ({
  onTestFinished,
}) => {
  const asked = Promise.withResolvers<void>();
  const server = createHttpServer((_request, response) => {
    const answer = answers.shift();
    if (answer === undefined) return asked.resolve();
    response.writeHead(answer === "{}" ? 401 : 200).end(answer);
  }).listen(0, "127.0.0.1");
  const reply = '{ "jsonrpc": "2.0", "id": 1, "result": {} }';
  const refusal = '{ "jsonrpc": "2.0", "id": null, "error": { "code": -32700 } }';
  const answers = [reply, `[${reply}]`, "{}", refusal];
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const uiUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  let looked = 0;
  const { answer } = answerElsewhere(async () => {
    looked += 1;
    return { uiUrl, token: "t" };
  });
  const caller = new AbortController();
  const ask = () => answer({ jsonrpc: "2.0", id: 1, method: "tools/list" }, caller.signal);
  expect([await ask(), await ask(), looked]).toMatchObject([{ id: 1 }, [{ id: 1 }], 1]);
  expect(await ask()).toMatchObject({
    error: { message: "Hookyard refused the request with the status 401." },
  });
  // It has not read the id of a body that is too large.
  expect(await ask()).toMatchObject({ id: 1, error: { code: -32700 } });
  const last = ask();
  await asked.promise;
  caller.abort();
  expect(await last).toBeNull();
});

test("a Hookyard that does not answer is looked for once more, and then the request fails", async () => {
  const port = await lastingPort();
  let looked = 0;
  const { answer } = answerElsewhere(async () => {
    looked += 1;
    return { uiUrl: `http://127.0.0.1:${port}`, token: "t" };
  });
  const { signal } = new AbortController();
  const request = { jsonrpc: "2.0", id: 7, method: "tools/list" };
  expect(await answer(request, signal)).toMatchObject({
    id: 7,
    error: { message: expect.stringContaining("ECONNREFUSED") },
  });
  expect(looked).toBe(2);
  expect(await answer({ jsonrpc: "2.0", method: "notifications/initialized" }, signal)).toBe(null);
  expect(looked).toBe(4);
});
