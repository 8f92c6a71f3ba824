/** `hookyard share` that a signal ends, or that reads a copy of a data directory. */

import { cpSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startHookyard } from "../crash/hookyard-process.ts";
import { runInProcess } from "../support/in-process.ts";
import { hookyard } from "./command-line.ts";
import { directory, quietBrowser } from "./verbs.suite.ts";

test.each(["SIGINT", "SIGTERM"] as const)(
  "share leaves no copy of the data behind when %s ends it",
  async (signal) => {
    const [data, temporary] = [directory(), directory()];
    const running = startHookyard(data);
    expect(await running.ready).not.toBe(null);
    // One that runs would write the file itself, without a copy.
    running.kill("SIGTERM");
    await running.ended;
    const file = join(directory(), "all.hookyard");
    const env = { ...quietBrowser(directory()), TMPDIR: temporary };
    let code: number | null = 0;
    // One that ends with 0 had written its file before the signal came.
    while (code === 0) {
      const sharing = hookyard(["share", file, "--force", "--data", data], { env });
      let isOver = false;
      const ended = sharing.ended.finally(() => (isOver = true));
      await expect
        .poll(() => isOver || readdirSync(temporary).length > 0, { interval: 1 })
        .toBe(true);
      sharing.kill(signal);
      ({ code } = await ended);
      expect(readdirSync(temporary)).toEqual([]);
    }
    expect(code).toBe(null);
  },
);

test("share of a copied data directory writes the copy, not what the original has since", async () => {
  const [data, copy] = [directory(), join(directory(), "copy")];
  const running = startHookyard(data);
  onTestFinished(async () => {
    running.kill("SIGTERM");
    await running.ended;
  });
  expect(await running.ready).not.toBe(null);
  const run = (...args: string[]) => runInProcess(args);
  await run("send", "page", "--user", "ada", "--data", data);
  cpSync(data, copy, { recursive: true });
  await run("send", "page", "--user", "ben", "--data", data);
  const shared = async (of: string) => {
    const file = join(directory(), "all.hookyard");
    const { code, out, err } = await run("share", file, "--json", "--data", of);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    return (JSON.parse(out) as { messages: number }).messages;
  };
  expect([await shared(data), await shared(copy)]).toEqual([2, 1]);
});
