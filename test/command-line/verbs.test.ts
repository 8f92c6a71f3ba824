/** The commands with the headless host, and without any. */

import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { commands } from "../../src/headless/commands.ts";
import { verbAnswers, verbSchema } from "./answers.ts";
import { startHookyard, type Surroundings } from "../crash/hookyard-process.ts";
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

test.each(["bash", "zsh", "fish"])(
  "the completion of %s has every command and flag",
  async (shell) => {
    const { code, out } = await hookyard(["completion", shell]).ended;
    expect(code).toBe(0);
    for (const { name, flags } of commands) {
      expect(out).toContain(name);
      for (const flag of Object.keys(flags))
        expect(out).toContain(shell === "fish" ? `-l ${flag}` : `--${flag}`);
    }
  },
);
