/**
 * `hookyard mcp`: an agent starts it and speaks MCP with it on standard input and output. It joins
 * the Hookyard that runs with the data directory. When none runs, it starts one that ends with the
 * agent, so that nobody has to start Hookyard first.
 */

import { join, resolve } from "node:path";
import { DataInUse, OpenError, PortTaken, Refusal } from "../app-errors.ts";
import { monotonic, startTimer } from "../engine/real-time.ts";
import type { Collector } from "../engine/traces/collector.ts";
import { whenAskedToStop } from "./asked-to-stop.ts";
import { defaultDataDirectory, mcp } from "./commands.ts";
import { applyAtStart, environmentWith, readConfigFile } from "./config-file.ts";
import type { ConfigFile } from "./read-config.ts";
import { connect, NoHookyard } from "./connect.ts";
import { lookMs, maxStartMs, startControl, whoHasData } from "./control.ts";
import { endEarly, readFlags } from "./flags.ts";
import { answerElsewhere, serveLines, type Answering } from "./mcp-stdio.ts";
import { parseServeFlags, tracesTo, type ServePorts } from "./serve-flags.ts";
import { enlargeThreadPool } from "./thread-pool.ts";

type Options = { root: string; version: string };
type Hookyard = Answering & { uiUrl: string; token: string; stop(): Promise<void> };

export async function mcpCommand({
  args,
  ...options
}: Options & { args: string[] }): Promise<number> {
  enlargeThreadPool();
  const read = readFlags(mcp, args);
  if (read === "help" || "wrong" in read) return endEarly(read, mcp);
  const given = read.values.data ?? defaultDataDirectory();
  if (given === "") {
    warn(`--data needs a directory, or :memory:. hookyard mcp --help lists all flags.`);
    return 2;
  }
  const data = given === ":memory:" ? given : resolve(given);
  process.on("uncaughtException", report);
  process.on("unhandledRejection", report);
  try {
    const hookyard = (await joinRunning(data, options)) ?? (await startOrJoin(data, options));
    const asked = whenAskedToStop();
    const streams = { input: process.stdin, output: process.stdout };
    await Promise.race([serveLines(streams, hookyard), asked]);
    await hookyard.stop();
    return 0;
  } catch (error) {
    warn(sentenceOf(error));
    return error instanceof NoHookyard ? 3 : 1;
  }
}

/** Null when none runs. One that is named by its address has to. */
async function joinRunning(data: string, options: Options): Promise<Hookyard | null> {
  const isNamed = Boolean(process.env["HOOKYARD_URL"]);
  if (data === ":memory:" && !isNamed) return null;
  let endsWithItsAgent = false;
  let next: Hookyard | null = null;
  const find = async () => {
    const connection = await connect(data);
    endsWithItsAgent = connection.host === "agent";
    return connection;
  };
  /** When a Hookyard that another agent started has ended, no other program starts a new one. */
  const findAgain = async () => {
    try {
      return await find();
    } catch (error) {
      if (!endsWithItsAgent || !(error instanceof NoHookyard)) throw error;
      return (next = await startOrJoin(data, options));
    }
  };
  try {
    const { uiUrl, token } = await find();
    warn(`Joined the Hookyard at ${uiUrl}.`);
    return { ...answerElsewhere(findAgain), uiUrl, token, stop: async () => next?.stop() };
  } catch (error) {
    if (isNamed || !(error instanceof NoHookyard)) throw error;
    return null;
  }
}

/** Of two that start at once, both may find the data in use for a moment. */
async function startOrJoin(data: string, options: Options): Promise<Hookyard> {
  for (const end = monotonic() + maxStartMs; ;) {
    try {
      return await startOwn(data, options);
    } catch (error) {
      if (!(error instanceof DataInUse) || monotonic() > end) throw error;
    }
    await new Promise<void>((resolve) => startTimer(lookMs, resolve));
    const joined = await joinRunning(data, options);
    if (joined !== null) return joined;
  }
}

async function startOwn(data: string, options: Options): Promise<Hookyard> {
  const config = await readConfigFile(process.env["HOOKYARD_CONFIG"] || undefined);
  const flags = parseServeFlags(["--data", data], environmentWith(config));
  if (flags === "help" || "wrong" in flags) throw new Refusal(flags === "help" ? "" : flags.wrong);
  const { ports, traces } = flags;
  const asked = { ...options, config, traces: tracesTo(traces, warn) };
  for (;;) {
    try {
      return await startOn(ports, data, asked);
    } catch (error) {
      if (!(error instanceof PortTaken) || ports[error.role] === 0) throw error;
      ports[error.role] = 0;
    }
  }
}

type Asked = Options & { config: ConfigFile | null; traces: Collector | undefined };

async function startOn(
  ports: ServePorts,
  data: string,
  { root, version, config, traces }: Asked,
): Promise<Hookyard> {
  const { createApp } = await import("../app.ts");
  const app = createApp({
    data,
    ports,
    scenarios: join(root, "resources", "scenarios"),
    pages: join(root, "out", "renderer"),
    threads: true,
    traces,
    report,
    log: warn,
    version,
  });
  try {
    const { dataDir } = await app.start();
    const { api } = app;
    if (config !== null) await applyAtStart(config, api, warn);
    const options = { api, dataDir, root, version, report, program: "agent" } as const;
    const control = await startControl({ ...options, port: ports.ui });
    warn(`Started Hookyard: ${control.uiUrl}. It ends with this program.`);
    const { createMcp } = await import("../mcp/mcp.ts");
    const server = await createMcp({ api, report });
    return {
      answer: server.answer,
      uiUrl: control.uiUrl,
      token: control.token,
      async stop() {
        await control.stop();
        await app.stop();
      },
    };
  } catch (error) {
    await app.stop().catch(report);
    throw error;
  }
}

function sentenceOf(error: unknown): string {
  if (error instanceof DataInUse) return whoHasData(error);
  if ([OpenError, NoHookyard, Refusal].some((kind) => error instanceof kind))
    return (error as Error).message;
  return `Hookyard could not start: ${error instanceof Error ? error.message : String(error)}`;
}

function report(error: unknown): void {
  warn(String(error instanceof Error ? error.stack : error));
}

function warn(sentence: string): void {
  process.stderr.write(`${sentence}\n`);
}
