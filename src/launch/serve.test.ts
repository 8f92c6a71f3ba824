/** `npm run serve` as it is typed after `npm ci`. */

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { afterEach, expect, test } from "vitest";
import { root } from "./build.ts";
import { freePorts, lastingPorts } from "../../test/support/free-ports.ts";

const groups: number[] = [];
afterEach(() => {
  for (const group of groups.splice(0)) {
    try {
      process.kill(-group, "SIGKILL");
    } catch {
      // All of it has ended.
    }
  }
});

/** In a group of its own, so that nothing of it outlives the test. */
function npm(...args: string[]): {
  child: ChildProcess;
  said: { output: string; errors: string };
  closed: Promise<unknown>;
} {
  const child = spawn("npm", args, {
    cwd: root,
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  groups.push(child.pid ?? 0);
  const said = { output: "", errors: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (said.output += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (said.errors += text));
  return { child, said, closed: once(child, "close") };
}

test.skipIf(process.platform === "win32")(
  "`npm run serve` says where it is behind npm's own lines, and Ctrl+C ends it",
  async () => {
    const { child, said, closed } = npm("run", "serve", "--", "--data", ":memory:", ...freePorts);
    await expect.poll(() => said.output).toMatch(/\n {2}Data +in memory only\n/);
    expect(said.output).toMatch(
      /^\n> hookyard@[\d.]+ serve\n> .*\n\nHookyard [\d.]+ is running\. Ctrl\+C ends it\.\n/,
    );
    const [, inspector = ""] = /Inspector +(\S+)/.exec(said.output) ?? [];
    expect(await (await fetch(inspector)).text()).toContain("<title>Hookyard</title>");
    // As a terminal does it: to the whole group.
    process.kill(-(child.pid ?? 0), "SIGINT");
    await closed;
  },
);

test.skipIf(process.platform === "win32")(
  "`npm --silent run serve -- --json` prints JSON and nothing else, and ends with npm",
  async () => {
    const { child, said, closed } = npm(
      "--silent",
      "run",
      "serve",
      "--",
      "--data",
      ":memory:",
      ...(await lastingPorts()),
      "--json",
    );
    await expect.poll(() => said.output).toContain("\n");
    const { ingestUrl, ...ready } = JSON.parse(said.output) as Record<string, string>;
    expect(ready).toMatchObject({ event: "ready", dataDir: null });
    expect((await fetch(`${ingestUrl}/v1/batch`, { method: "POST", body: "{}" })).status).toBe(400);
    child.kill("SIGTERM");
    // Closed when everything that could still write there has ended.
    await closed;
    await expect(fetch(ingestUrl ?? "")).rejects.toThrow("fetch failed");
    expect(said.errors.replace("Building Hookyard…\n", "")).toBe("");
    expect(said.output.trimEnd().split("\n")).toHaveLength(1);
  },
);
