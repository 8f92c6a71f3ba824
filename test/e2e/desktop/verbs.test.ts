/** The commands with the desktop host, which serves the same control API: no test here needs its page. */

import { beforeAll, expect, onTestFinished, test } from "vitest";
import { hookyard } from "../../command-line/command-line.ts";
import { verbsSuite } from "../../command-line/verbs.suite.ts";
import { startInProcess } from "../../support/in-process.ts";
import { startHookyard, type Surroundings } from "../../crash/hookyard-process.ts";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildDesktop, startDesktop } from "./desktop-process.ts";
import { freePorts } from "../../support/free-ports.ts";

beforeAll(buildDesktop);

async function start(
  data: string,
  { ports = freePorts, env = {}, cwd = data }: Surroundings = {},
): Promise<void> {
  const flags = [...ports, "--data", data];
  const desktop = startDesktop({ flags, environment: env, cwd });
  onTestFinished(() => desktop.stop());
  await desktop.window();
}

// The suite with the headless host has the commands as processes, and those that ask no host.
verbsSuite(start, { command: startInProcess, withHostless: false });

test("two hosts never share a data directory: serve names the window, the window opens what serve shows", async () => {
  const data = mkdtempSync(join(tmpdir(), "hookyard-hosts-"));
  onTestFinished(() => rmSync(data, { recursive: true, force: true }));
  const desktop = startDesktop({ flags: [...freePorts, "--data", data] });
  onTestFinished(() => desktop.stop());
  await desktop.window();
  expect(await startHookyard(data).ended).toMatchObject({
    code: 1,
    errors: expect.stringMatching(/running Hookyard \(in its window, process \d+, http:/),
  });
  desktop.signal("SIGTERM");
  expect((await desktop.ended).code).toBe(0);

  const headless = startHookyard(data);
  onTestFinished(async () => {
    headless.kill("SIGTERM");
    await headless.ended;
  });
  await headless.ready;
  expect((await hookyard(["clock", "--data", data]).ended).code).toBe(0);
  const opened = join(data, "opened");
  writeFileSync(join(data, "xdg-open"), `#!/bin/sh\ntouch "${opened}"\n`, { mode: 0o755 });
  const environment = { PATH: `${data}:${process.env["PATH"]}` };
  const flags = [...freePorts, "--data", data];
  const second = startDesktop({ flags, environment });
  onTestFinished(() => second.stop());
  const { code, errors } = await second.ended;
  expect({ code, errors }).toEqual({ code: 0, errors: expect.stringContaining("already runs") });
  expect(second.called("dialog.showErrorBox")).toEqual([]);
});

test("windows that store nothing run beside each other, and leave nothing behind", async () => {
  const place = mkdtempSync(join(tmpdir(), "hookyard-hosts-"));
  onTestFinished(() => rmSync(place, { recursive: true, force: true }));
  const [appData = "", temporary = ""] = ["app-data", "temporary"].map((name) => join(place, name));
  for (const directory of [appData, temporary]) mkdirSync(directory);
  const environment = {
    ...{ STAND_IN_APP_DATA: appData },
    ...{ TMPDIR: temporary, TEMP: temporary, TMP: temporary },
  };
  const flags = [...freePorts, "--data", ":memory:"];
  const windows = [1, 2].map(() => startDesktop({ flags, environment }));
  onTestFinished(async () => void (await Promise.all(windows.map((each) => each.stop()))));
  for (const each of windows) await each.window();
  for (const each of windows) each.signal("SIGTERM");
  for (const each of windows) expect(await each.ended).toEqual({ code: 0, errors: "" });
  expect(readdirSync(temporary)).toEqual([]);
});
