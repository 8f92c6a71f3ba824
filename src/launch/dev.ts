/**
 * `npm run dev -- FLAGS`: Vite's server shows the inspector from its sources and updates the open
 * page when they change. Behind it runs the engine from its sources, restarted when they change: its
 * ports for clients and webhooks stay, and so does the token for the page.
 */

import { fork, type ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";
import type { ProxyOptions } from "vite";
import { whenAskedToStop } from "../headless/asked-to-stop.ts";
import { serve } from "../headless/commands.ts";
import { helpOf } from "../headless/flags.ts";
import { openInspector } from "../headless/open-inspector.ts";
import { linkPath } from "../headless/open-links.ts";
import { parseServeFlags, portFlags, type ServeFlags } from "../headless/serve-flags.ts";
import { createDevProgram } from "./dev-program.ts";
import { startDevServer } from "./dev-server.ts";
import { endWithNpm } from "./end-with-npm.ts";

/** The first line of `hookyard serve --json`. */
type Ready = {
  ingestUrl: string;
  ingestTlsUrl?: string;
  uiUrl: string;
  token: string;
  endpointsUrl: string;
  endpointsTlsUrl: string;
  dataDir: string | null;
};

const print = (text: string): void => void process.stdout.write(`${text}\n`);

const flags = parseServeFlags(process.argv.slice(2));
if (flags === "help" || "wrong" in flags) {
  if (flags === "help") print(helpOf(serve).replace("hookyard serve", "npm run dev --"));
  else process.stderr.write(`${flags.wrong}\n`);
  process.exit(flags === "help" ? 0 : 2);
}
endWithNpm();
await run(flags);

async function run(flags: ServeFlags): Promise<void> {
  /** Where the first engine listened: the later ones do too, except for the control port. */
  let first: Ready | null = null;
  let ready = Promise.withResolvers<Ready>();
  const ended = whenAskedToStop({ signals: ["SIGINT", "SIGTERM", "SIGHUP"] });
  /** Whoever waits for the engine waits for the next one. */
  const expectNext = (): void => {
    const next = Promise.withResolvers<Ready>();
    ready.resolve(next.promise);
    ready = next;
  };

  async function start(): Promise<ChildProcess> {
    const child = fork(new URL("dev-engine.ts", import.meta.url), engineFlags(flags, first), {
      execArgv: [],
      stdio: ["ignore", "pipe", "inherit", "ipc"],
      // In a group of its own Ctrl+C does not reach it: this process ends it.
      detached: process.platform !== "win32",
    });
    const started = ready;
    if (child.stdout !== null)
      createInterface({ input: child.stdout }).on("line", (line) => {
        if (!line.startsWith('{"event":"ready"')) return print(line);
        if (first !== null) print("The engine has restarted.");
        started.resolve(JSON.parse(line) as Ready);
      });
    child.once("exit", (code, signal) => {
      if (started !== ready) return;
      if (first === null) process.exit(code ?? 1);
      expectNext();
      print(`The engine ended with ${code ?? signal}. It restarts when its sources change.`);
    });
    return child;
  }

  const engine = createDevProgram(start);
  engine.restart();
  const { uiUrl, token } = (first = await ready.promise);
  /** Each engine has a new control port. While the next one starts, calls wait for it. */
  function toEngine(): ProxyOptions {
    let used: ProxyOptions;
    return {
      target: uiUrl,
      configure: (_, options) => void (used = options),
      bypass: async ({ headers }) => {
        const current = await ready.promise;
        used.target = current.uiUrl;
        // An engine that keeps no data has a token of its own; the page keeps the first one.
        if (headers.authorization === `Bearer ${token}`)
          headers.authorization = `Bearer ${current.token}`;
        return undefined;
      },
    };
  }
  const server = await startDevServer({
    host: flags.host,
    port: flags.ports.ui,
    proxy: { [linkPath]: toEngine(), "/api/": toEngine() },
    engineChanged: () => {
      expectNext();
      engine.restart();
    },
  });
  print(`Hookyard runs from its sources. Ctrl+C ends it.

  Inspector       ${server.url}/#token=${token}
  Ingest          ${first.ingestUrl}
  Test endpoints  ${first.endpointsUrl} and ${first.endpointsTlsUrl}
  Data            ${first.dataDir ?? "in memory only"}
`);
  if (flags.open) void openInspector({ uiUrl: server.url, token, say: print });
  await ended;
  await Promise.all([server.stop(), engine.stop()]);
  process.exit(0);
}

function engineFlags({ data, host, ports, config }: ServeFlags, first: Ready | null): string[] {
  const port = (url: string | undefined, flag: number): string =>
    (url === undefined ? "" : new URL(url).port) || String(flag);
  return [
    ...["serve", "--json", "--data", data, "--host", host],
    ...[portFlags.ingest, port(first?.ingestUrl, ports.ingest)],
    ...(ports.ingestTls === null
      ? []
      : [portFlags.ingestTls, port(first?.ingestTlsUrl, ports.ingestTls)]),
    // A new one each time: another program could take the old one between two engines.
    ...[portFlags.ui, "0"],
    ...[portFlags.endpoints, port(first?.endpointsUrl, ports.endpoints)],
    ...[portFlags.endpointsTls, port(first?.endpointsTlsUrl, ports.endpointsTls)],
    ...(config === undefined ? [] : ["--config", config]),
  ];
}
