/** What the commands do with a running Hookyard, tried with each host. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { Surroundings } from "../crash/hookyard-process.ts";
import { startInProcess } from "../support/in-process.ts";
import { startReceiver } from "../support/webhook-receiver.ts";
import type { verbAnswers } from "./answers.ts";
import { answerIn, hookyard } from "./command-line.ts";

/** Starts a Hookyard on the data directory, which ends with the test. */
type Start = (data: string, surroundings?: Surroundings) => Promise<void>;

type Command = typeof hookyard | typeof startInProcess;

/** Commands with a Hookyard of their own, as processes or in this one. */
export const beginner =
  (start: Start, command: Command = hookyard) =>
  async (surroundings: Surroundings = {}) => {
    const data = directory();
    await start(data, surroundings);
    const run = (args: string[], input = "", env = {}) =>
      command([...args, "--data", data], { input, env }).ended;
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

/**
 * What depends on the host: how it is set up, and that it serves what each command asks. With
 * `withHostless`, also the commands that ask none.
 */
export function verbsSuite(
  start: Start,
  { command = hookyard, withHostless = true }: { command?: Command; withHostless?: boolean } = {},
): void {
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
    const begin = beginner(start, startInProcess);
    const found = await begin({ ports: [], cwd, env: { ...traced, SECRET: "s3cret" } });
    const uiUrl = (await found.ask("open", [], "", quietBrowser(repository))).url;
    expect(uiUrl).not.toMatch(/:4701\b/);
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
    const { data, run } = await beginner(start, command)();
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
      if (needsNone.has(name) && !withHostless) continue;
      const more = needsNone.has(name) ? [] : ["--data", data];
      const running = command([name, ...args, "--json", ...more], { env: programs });
      if (name === "tail") {
        await expect.poll(() => running.said.err).toContain("Waiting for messages.");
        await run(["send", "page", "--user", "u_2"]);
      }
      const { code, out, err } = await running.ended;
      expect({ name, code, err }).toMatchObject({ name, code: 0 });
      answerIn(name as keyof typeof verbAnswers, out);
      expect(out.endsWith("\n"), name).toBe(true);
    }
  });
}

export function directory(): string {
  const path = mkdtempSync(join(tmpdir(), "hookyard-verbs-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** In place of the program that opens the browser. */
export function quietBrowser(directory: string): Record<string, string> {
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
