/** The commands with the headless host, and without any. */

import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { commands } from "../../src/headless/commands.ts";
import { verbAnswers, verbSchema } from "./answers.ts";
import { startHookyard, type Surroundings } from "../crash/hookyard-process.ts";
import { startReceiver } from "../support/webhook-receiver.ts";
import { answerIn, hookyard } from "./command-line.ts";
import { verbsSuite } from "./verbs.suite.ts";

async function start(data: string, surroundings: Surroundings = {}): Promise<void> {
  const running = startHookyard(data, [], surroundings);
  onTestFinished(async () => {
    running.kill("SIGTERM");
    await running.ended;
  });
  expect(await running.ready, running.said.errors).toMatchObject({ token: expect.any(String) });
  answerIn("serve", running.said.output);
}

verbsSuite(start);

function directory(): string {
  const path = mkdtempSync(join(tmpdir(), "hookyard-verbs-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

test("the first message of all gets a source, a destination and a test endpoint", async () => {
  const data = directory();
  await start(data);
  const { code, err } = await hookyard([
    "send",
    "track",
    "--event",
    "X",
    "--user",
    "u",
    "--data",
    data,
  ]).ended;
  expect(code).toBe(0);
  expect(err).toMatch(/^There was no source, so Hookyard created one, with a destination/);
  const kept = await hookyard(["apply", "--data", data, "--json"], { cwd: data }).ended;
  expect(kept).toMatchObject({ code: 2, err: expect.stringContaining("no hookyard.config.yaml") });
  writeFileSync(join(data, "hookyard.config.json"), '{"ports":{"ui":1},"sources":[]}');
  const found = await hookyard(["apply", "--data", data, "--json"], { cwd: data }).ended;
  expect(answerIn("apply", found.out).kept).toEqual([
    "source First source",
    "test endpoint First",
    "destination First destination",
  ]);
});

test("each command with --json has a schema (npx vitest run test/command-line --update writes them again)", async () => {
  const withJson = commands.filter(({ flags }) => "json" in flags).map(({ name }) => name);
  expect(Object.keys(verbAnswers).toSorted()).toEqual(withJson.toSorted());
  await expect(`${JSON.stringify(verbSchema(), null, 2)}\n`).toMatchFileSnapshot(
    "../../resources/command-line.schema.json",
  );
});

test("what others wrote reaches no terminal as an escape code, in text and in JSON", async () => {
  const data = directory();
  await start(data);
  const evil = "x\u001b[2J\u009b31m\u202e\u2028\r\n\u0007y";
  const receiver = await startReceiver((response) =>
    response.writeHead(400, { "X-Evil": "\u009b31m" }).end(evil),
  );
  onTestFinished(() => receiver.stop());
  const config = join(data, "hookyard.config.json");
  const named = { name: evil.replaceAll(/[\r\n]/g, ""), writeKey: "wk" };
  const destination = { name: evil, sources: ["wk"], webhooks: [{ url: receiver.url }] };
  writeFileSync(config, JSON.stringify({ sources: [named], destinations: [destination] }));
  const event = { type: "track", event: evil, userId: evil, messageId: evil, [evil]: evil };
  const run = (args: string[], input = "") => hookyard([...args, "--data", data], { input }).ended;
  const ends = [await run(["apply", "--config", config])];
  writeFileSync(config, "{}");
  ends.push(await run(["apply", "--config", config]));
  ends.push(await run(["send"], JSON.stringify(event)));
  await run(["wait", "--state", "failed"]);
  const { items } = answerIn("messages", (await run(["messages", "--json"])).out);
  const tries: string[][] = [
    ["messages"],
    ["messages", evil],
    ["messages", `state:${evil}`],
    ["show", items[0]?.id ?? ""],
    ["show", items[0]?.id ?? "", "--json"],
    ["show", evil],
    ["wait", "--state", "failed"],
    ["wait", "--state", "delivered", "--user", evil, "--timeout", "1ms"],
    ["send", "track", "--source", evil],
    ["send", "track", "--event", "A"],
    ["retry", evil],
    ["retry", "--filter", `event:${evil}`],
  ];
  ends.push(...(await Promise.all(tries.map((args) => run(args)))));
  const tail = hookyard(["tail", "--count", "1", "--data", data]);
  await expect.poll(() => tail.said.err).toContain("Waiting for messages.");
  await run(["send"], JSON.stringify({ ...event, messageId: "m_2" }));
  ends.push(await tail.ended);
  for (const { out, err } of ends)
    expect(out + err).not.toMatch(
      /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e]/,
    );
  expect(
    ends
      .map(({ out, err }) => out + err)
      .join("")
      .split(String.raw`\u001b[2J`).length,
  ).toBeGreaterThan(10);
  const shown = answerIn("show", ends[7]?.out ?? "");
  expect([shown.event, shown.messageId]).toEqual([evil, evil]);
});

test("without a running Hookyard each command says so with exit code 3", async () => {
  const data = directory();
  const { code, err } = await hookyard(["messages", "--data", data]).ended;
  expect([code, err]).toEqual([
    3,
    `No Hookyard runs with the data in ${data}. Start one with hookyard serve, or name the directory of the one that runs with --data.\n`,
  ]);
  const memory = await hookyard(["clock", "--data", ":memory:"]).ended;
  expect(memory).toMatchObject({ code: 3, err: expect.stringContaining("HOOKYARD_TOKEN") });
});

test("one that stores nothing is found by the environment, one that was killed is not", async () => {
  const memory = startHookyard(":memory:");
  const ready = await memory.ready;
  const env = { HOOKYARD_URL: ready?.uiUrl ?? "", HOOKYARD_TOKEN: ready?.token ?? "" };
  expect(await hookyard(["clock", "--json"], { env }).ended).toMatchObject({ code: 0 });
  const wrong = { ...env, HOOKYARD_TOKEN: "x" };
  expect(await hookyard(["clock"], { env: wrong }).ended).toMatchObject({ code: 3 });
  memory.kill("SIGTERM");
  await memory.ended;
  expect(await hookyard(["clock"], { env }).ended).toMatchObject({
    code: 3,
    err: `Nothing answers at ${ready?.uiUrl}.\n`,
  });

  const data = directory();
  const killed = startHookyard(data);
  await killed.ready;
  expect(statSync(join(data, "hookyard.running.json")).mode & 0o777).toBe(0o600);
  expect(statSync(join(data, "certificates", "authority.pem")).isFile()).toBe(true);
  const second = await startHookyard(data).ended;
  expect(second).toMatchObject({
    code: 1,
    errors: expect.stringMatching(
      /^The data in \S+ is in use by a running Hookyard \(hookyard serve, process \d+, http:\S+\)\. hookyard open shows it\./,
    ),
  });
  killed.kill("SIGKILL");
  await killed.ended;
  expect(await hookyard(["clock", "--data", data]).ended).toMatchObject({
    code: 3,
    err: expect.stringMatching(/^The Hookyard that ran as process \d+ no longer answers/),
  });
});

test.runIf(process.platform === "linux")(
  "open, and a second serve with --open, show the one that runs",
  async () => {
    const data = directory();
    const programs = directory();
    const opened = join(programs, "opened");
    writeFileSync(join(programs, "xdg-open"), `#!/bin/sh\ncat "\${1#file://}" >> "${opened}"\n`, {
      mode: 0o755,
    });
    await start(data);
    const env = { PATH: `${programs}:${process.env["PATH"]}` };
    const { code, out } = await hookyard(["open", "--json", "--data", data], { env }).ended;
    const { url } = answerIn("open", out);
    expect(code).toBe(0);
    expect(url).not.toContain("token");
    const second = await hookyard(["serve", "--open", "--data", data], { env }).ended;
    expect(second).toMatchObject({ code: 0, err: expect.stringContaining(`already runs`) });
    await expect
      .poll(() => readFileSync(opened, "utf8").split(`url=${url}/#token=`).length)
      .toBe(3);
  },
);
