/** What the commands do with a running Hookyard, whichever host it has. */

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { Surroundings } from "../crash/hookyard-process.ts";
import { startReceiver } from "../support/webhook-receiver.ts";
import type { verbAnswers } from "./answers.ts";
import { answerIn, hookyard } from "./command-line.ts";

type Start = (data: string, surroundings?: Surroundings) => Promise<void>;

/** Starts a Hookyard on the data directory, which ends with the test. */
export function verbsSuite(start: Start): void {
  const begin = async (surroundings: Surroundings = {}) => {
    const data = directory();
    await start(data, surroundings);
    const run = (args: string[], input = "", env = {}) =>
      hookyard([...args, "--data", data], { input, env }).ended;
    const ask = async <Name extends keyof typeof verbAnswers>(
      name: Name,
      args: string[],
      input?: string,
      env?: Record<string, string>,
    ) => {
      const { code, out, err } = await run([name, ...args, "--json"], input, env);
      expect({ args, code, err }).toMatchObject({ args, code: 0 });
      return { ...answerIn(name, out), err };
    };
    return { data, run, ask };
  };

  test("a message is sent, waited for, listed, shown and retried", async () => {
    const { run, ask } = await begin();
    const order = ["track", "--event", "Order Completed", "--user", "u_1"];
    const sent = await ask("send", [...order, "--properties", '{"total":49.9}']);
    const [message] = sent.messages;
    const met = await ask("wait", ["--state", "delivered", "--user", "u_1", "last:1h"]);
    expect(met).toMatchObject({ met: true, total: 1, items: [{ id: message?.id }] });
    const listed = await ask("messages", ["--event", "Order Completed", "--limit", "5"]);
    expect(listed.items.map(({ id }) => id)).toEqual([message?.id]);
    for (const id of [message?.id ?? "", message?.messageId ?? ""]) {
      const shown = await ask("show", [id]);
      expect(shown).toMatchObject({ userId: "u_1", state: "delivered" });
      expect(shown.deliveries[0]?.attempts[0]?.response?.status).toBe(200);
    }
    const text = await run(["show", message?.id ?? ""]);
    expect(text.out).toMatch(/track Order Completed · u_1 {2}1 attempt\n[^]*round 1 {2}200 /);
    expect(await ask("retry", ["--filter", "state:delivered", "--dry-run"])).toMatchObject({
      count: 0,
    });
    expect(await ask("reset", [])).toMatchObject({ what: "messages" });
    expect((await run(["messages"])).out).toBe("No messages.\n");
    expect(await ask("reset", ["--everything"])).toMatchObject({ what: "everything" });
  });

  test("a failing receiver is configured by a file, and the clock brings its retries", async () => {
    const { data, run, ask } = await begin();
    const file = join(data, "hookyard.config.yaml");
    writeFileSync(
      file,
      `sources: [{ name: Shop, writeKey: wk_shop }]
endpoints:
  - { name: Flaky, steps: [{ do: answer, status: 503, times: 2 }, { do: answer, status: 200 }] }
destinations:
  - { name: Orders, sources: [Shop], webhooks: [{ endpoint: Flaky }], sharedSecret: s3cret }
`,
    );
    const applied = { file, created: 3, updated: 0, missing: [] };
    expect(await ask("apply", ["--config", file])).toMatchObject(applied);
    await ask("clock", ["pause"]);
    const [sent] = (await ask("send", [], '{"type":"track","event":"Paid","userId":"u_2"}'))
      .messages;
    await ask("wait", ["--state", "waiting", "user:u_2"]);
    expect(await ask("clock", ["advance", "1s"])).toMatchObject({ mode: "paused" });
    expect(await ask("clock", ["idle"])).toMatchObject({ ran: { attempts: 2 }, nextDueAt: null });
    expect((await ask("show", [sent?.id ?? ""])).attempts).toBe(3);
    expect((await run(["clock"])).out).toMatch(/^\d{4}-\S+ {2}paused; next due: nothing\n$/);
    expect(await ask("clock", ["real"])).toMatchObject({ mode: "real" });

    const again = { created: 0, updated: 3 };
    expect(await ask("apply", ["--config", file])).toMatchObject(again);
    writeFileSync(file, "sources: [{ name: Web, writeKey: wk_web }]\n");
    expect((await ask("apply", ["--config", file])).kept).toEqual(
      expect.arrayContaining(["source Shop", "test endpoint Flaky", "destination Orders"]),
    );
  });

  test("tail prints messages as they arrive and change, as lines of JSON", async () => {
    const { data, ask } = await begin();
    await ask("send", ["identify", "--user", "before"]);
    const tail = hookyard(["tail", "user:ada", "--count", "2", "--json", "--data", data]);
    await expect.poll(() => tail.said.err).toContain("Waiting for messages.");
    const lines = [
      JSON.stringify({ type: "page", userId: "bob" }),
      JSON.stringify({ type: "page", name: "Home\u001b[31m", userId: "ada" }),
      JSON.stringify({ type: "page", name: "Cart", userId: "ada" }),
    ];
    await ask("send", [], lines.join("\n"));
    const { code, out } = await tail.ended;
    expect(code).toBe(0);
    const seen = out.trimEnd().split("\n");
    expect(seen).toHaveLength(2);
    for (const line of seen) expect(answerIn("tail", line).userId).toBe("ada");
    const listed = await hookyard(["messages", "user:ada", "--data", data]).ended;
    expect(listed.out).not.toContain("\u001b");
    expect(listed.out).toContain(String.raw`Home\u001b[31m`);
  });

  test("what is wrong is a sentence with an exit code, and the token is in no argument", async () => {
    const { data, run } = await begin();
    const failures: [string[], number, RegExp, string?][] = [
      [["send", "track", "--event", "X"], 1, /reason|userId|rejected/i],
      [["send", "track", "--properties", "{"], 2, /^--properties is not valid JSON/],
      [["send"], 2, /^hookyard send needs a type such as track, or messages on standard input/],
      [["send"], 2, /^Line 2 of standard input is not valid JSON/, '{"type":"page"}\n{'],
      [["send", "track", "--source", "Nobody"], 2, /^There is no source Nobody\./],
      [["messages", "state:failing"], 2, /^Unknown state “failing”\. The states are /],
      [["messages", "--limit", "1000"], 2, /^--limit needs a number from 1 to 200/],
      [["show", "msg_0000000000"], 1, /msg_0000000000/],
      [["show"], 2, /^hookyard show needs the id of one message/],
      [["clock", "advance", "ten"], 2, /needs a duration such as 30s/],
      [["clock", "stop"], 2, /^hookyard clock does not know stop/],
      [["retry"], 2, /^hookyard retry needs ids/],
      [["retry", "dlv_0000000000"], 1, /dlv_0000000000/],
      [["wait", "--timeout", "soon"], 2, /^--timeout needs a duration/],
      [["wait", "--timeout", "1ms", "--user", "nobody"], 4, /^After 1ms, 0 of 1 messages match/],
      [["apply", "--config", join(data, "none.yaml")], 2, /none\.yaml was not found/],
      [["open", "--jsn"], 2, /^Unknown option '--jsn'/],
      [["reset", "messages"], 2, /^Unexpected argument 'messages'/],
      [["tail", "state:failing"], 2, /^Unknown state “failing”/],
      [["tail", "--count", "0"], 2, /^--count needs a number from 1/],
      [["backup"], 2, /^hookyard backup needs one file/],
      [["backup", join(data, "token")], 1, /token is part of the data itself/],
      [["share", "all.zip"], 2, /^hookyard share needs one file/],
      [["share", join(data, "no", "all.hookyard")], 1, /cannot be written: ENOENT/],
      [["share", "--filter", "state:x", join(data, "x.hookyard")], 1, /Unknown state “x”/],
    ];
    const ends = await Promise.all(failures.map(([args, , , input]) => run(args, input)));
    for (const [index, [args, code, sentence]] of failures.entries()) {
      expect({ args, ...ends[index] }).toEqual({
        args,
        code,
        out: expect.any(String),
        err: expect.stringMatching(sentence),
      });
    }
    const token = readFileSync(join(data, "token"), "utf8");
    expect(ends.some(({ out, err }) => `${out}${err}`.includes(token))).toBe(false);
  });

  test("a configuration file and the environment set it up, with ports, secrets and traces", async () => {
    const collector = await startReceiver();
    const repository = directory();
    onTestFinished(() => collector.stop());
    const [cwd, other] = [join(repository, "packages"), join(repository, "other.json")];
    mkdirSync(cwd);
    writeFileSync(
      join(repository, "hookyard.config.yaml"),
      `ports: { ingest: 0, ui: 0, endpoints: 0, endpointsTls: 0 }
sources: [{ name: Shop, writeKey: wk_shop }]
endpoints: [{ name: Receiver, steps: [] }]
destinations:
  - { name: Orders, sources: [Shop], webhooks: [{ endpoint: Receiver }], sharedSecret: "\${SECRET}" }
`,
    );
    writeFileSync(other, '{"sources":[{"name":"Other","writeKey":"wk_other"}]}');
    const traced = {
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/of/traces`,
      OTEL_EXPORTER_OTLP_HEADERS: "x-key=k%201",
    };
    const found = await begin({ ports: [], cwd, env: { ...traced, SECRET: "s3cret" } });
    const uiUrl = (await found.ask("open", [], "", quietBrowser(repository))).url;
    expect(uiUrl).not.toContain(":4701");
    await found.ask("send", ["track", "--event", "Paid", "--user", "u_1", "--source", "wk_shop"]);
    const { items } = await found.ask("wait", ["--state", "delivered"]);
    const shown = await found.ask("show", [items[0]?.id ?? ""]);
    const [attempt] = shown.deliveries[0]?.attempts ?? [];
    expect(attempt?.request.headers.map(([name]) => name.toLowerCase())).toEqual(
      expect.arrayContaining(["x-signature", "traceparent"]),
    );
    await expect.poll(() => collector.requests.length).toBeGreaterThan(0);
    expect(collector.requests[0]).toMatchObject({ url: "/hook/of/traces" });
    expect(collector.requests[0]?.headers).toContainEqual(["x-key", "k 1"]);

    const named = await begin({ cwd, env: { HOOKYARD_CONFIG: other } });
    const sent = await named.run(["send", "track", "--source", "Shop"]);
    expect(sent.err).toBe("There is no source Shop. There are Other.\n");
  });

  test("every command answers with --json as its schema says", async () => {
    const { data, run } = await begin();
    const beside = directory();
    const programs = quietBrowser(beside);
    const file = (name: string, text: string): string => {
      writeFileSync(join(beside, name), text);
      return join(beside, name);
    };
    const sent = await run(["send", "track", "--event", "Paid", "--user", "u_1", "--json"]);
    const [message] = answerIn("send", sent.out).messages;
    const receiver = await startReceiver();
    onTestFinished(() => receiver.stop());
    const tries: Record<Exclude<keyof typeof verbAnswers, "serve" | "send">, string[]> = {
      apply: ["--config", file("hookyard.config.yaml", "sources: [{ name: Web }]")],
      tail: ["--count", "1"],
      wait: ["--state", "delivered"],
      messages: ["--limit", "1"],
      show: [message?.id ?? ""],
      clock: [],
      retry: ["--filter", "state:delivered", "--dry-run"],
      open: [],
      run: [file("scenario.yaml", scenario)],
      check: [receiver.url, "--only", "answers"],
      explore: [file("explore.yaml", exploring(receiver.url)), "--runs", "2", "--out", beside],
      share: [join(beside, "all.hookyard")],
      doctor: [],
      backup: [join(beside, "backup.db")],
      // The last: nothing is left after it.
      reset: [],
    };
    const needsNone = new Set(["run", "check", "explore"]);
    for (const [name, args] of Object.entries(tries)) {
      const more = needsNone.has(name) ? [] : ["--data", data];
      const command = hookyard([name, ...args, "--json", ...more], { env: programs });
      if (name === "tail") {
        await expect.poll(() => command.said.err).toContain("Waiting for messages.");
        await run(["send", "page", "--user", "u_2"]);
      }
      const { code, out, err } = await command.ended;
      expect({ name, code, err }).toMatchObject({ name, code: 0 });
      answerIn(name as keyof typeof verbAnswers, out);
      expect(out.endsWith("\n"), name).toBe(true);
    }
  });
}

function directory(): string {
  const path = mkdtempSync(join(tmpdir(), "hookyard-verbs-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** In place of the program that opens the browser. */
function quietBrowser(directory: string): Record<string, string> {
  for (const name of ["xdg-open", "open"])
    writeFileSync(join(directory, name), "#!/bin/sh\n", { mode: 0o755 });
  return { PATH: `${directory}:${process.env["PATH"]}` };
}

const scenario = `name: It arrives
endpoints: { Receiver: [{ status: 200 }] }
destinations: { Receiver: { webhooks: [{ endpoint: Receiver }] } }
steps:
  - send: { type: track, event: Paid, userId: u_1 }
  - expect: { deliveries: { state: delivered } }
`;

const exploring = (url: string): string => `name: Orders
explore:
  receiver: { url: "${url}" }
  messages: [{ type: track, event: Paid }]
  vary: { duplicates: 1 }
  always: { answers: true }
`;
