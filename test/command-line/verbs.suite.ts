/** What the commands do with a running Hookyard, whichever host it has. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { verbAnswers } from "./answers.ts";
import { answerIn, hookyard } from "./command-line.ts";

/** Starts a Hookyard on the data directory, which ends with the test. */
export function verbsSuite(start: (data: string) => Promise<void>): void {
  const begin = async () => {
    const data = mkdtempSync(join(tmpdir(), "hookyard-verbs-"));
    onTestFinished(() => rmSync(data, { recursive: true, force: true }));
    await start(data);
    const run = (args: string[], input?: string) =>
      hookyard([...args, "--data", data], input === undefined ? {} : { input }).ended;
    const ask = async <Name extends keyof typeof verbAnswers>(
      name: Name,
      args: string[],
      input?: string,
    ) => {
      const { code, out, err } = await run([name, ...args, "--json"], input);
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
}
