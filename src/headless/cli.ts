#!/usr/bin/env node
/**
 * The `hookyard` command. It checks the version of Node before anything is loaded that needs a
 * newer one, and runs the named command.
 */

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { NoHome } from "../app-errors.ts";
import type { Invocation } from "./flags.ts";

const oldestNode = 24;

/** Each is loaded on first use. */
const runs: Record<string, (options: Invocation) => Promise<number>> = {
  serve: async (options) => (await import("./serve-command.ts")).serveCommand(options),
  run: async (options) => (await import("./run-command.ts")).runCommand(options),
  check: async (options) => (await import("./check-command.ts")).checkCommand(options),
  explore: async (options) => (await import("./explore-command.ts")).exploreCommand(options),
  share: async (options) => (await import("./share-command.ts")).shareCommand(options),
  doctor: async (options) => (await import("./data-commands.ts")).doctorCommand(options),
  backup: async (options) => (await import("./data-commands.ts")).backupCommand(options),
  mcp: async (options) => (await import("./mcp-command.ts")).mcpCommand(options),
  completion: async (options) => (await import("./completion.ts")).completionCommand(options),
};

function helpText(commands: readonly { name: string; summary: string }[]): string {
  return `Usage: hookyard [command] [flags]

Without a command it is hookyard serve, with the inspector open in the browser.

${commands.map(({ name, summary }) => `  ${name.padEnd(12)} ${summary}`).join("\n")}

  FILE.hookyard  Opens a share file in the browser, on a port of its own.
  --version    The version.
  --help       This text. hookyard <command> --help lists the flags of a command.`;
}

// The reader of the output may stop reading; that is no reason to exit.
process.stdout.on("error", () => undefined);
process.stderr.on("error", () => undefined);

const code = await run(process.argv.slice(2)).catch((error: unknown) => {
  if (!(error instanceof NoHome)) throw error;
  process.stderr.write(`${error.message}\n`);
  return 2;
});
// An exit would cut off what a pipe has not taken yet.
await Promise.all([process.stdout, process.stderr].map(written));
process.exit(code);

function written(output: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => void output.write("", () => resolve()));
}

function hasDisplay(): boolean {
  const { DISPLAY, WAYLAND_DISPLAY } = process.env;
  return process.platform !== "linux" || Boolean(DISPLAY || WAYLAND_DISPLAY);
}

async function run([command, ...args]: string[]): Promise<number> {
  if (Number.parseInt(process.versions.node, 10) < oldestNode) {
    process.stderr.write(
      `Hookyard needs Node ${oldestNode} or newer; this is ${process.versions.node}.\n`,
    );
    return 1;
  }
  // Two levels up from here, both in the sources and in the built program.
  const root = fileURLToPath(new URL("../../", import.meta.url));
  const { version } = JSON.parse(readFileSync(`${root}package.json`, "utf8")) as {
    version: string;
  };
  switch (command) {
    case "--help":
    case "-h":
    case "help":
      process.stdout.write(`${helpText((await import("./commands.ts")).commands)}\n`);
      return 0;
    case "--version":
    case "-v":
      process.stdout.write(`${version}\n`);
      return 0;
    default: {
      // Alone, and with flags of it alone, it opens the product.
      if (command === undefined || command.startsWith("--")) {
        const flags = command === undefined ? [] : [command, ...args];
        return (
          runs["serve"]?.({
            args: [...(hasDisplay() ? ["--open"] : []), ...flags],
            root,
            version,
          }) ?? 2
        );
      }
      const known = Object.hasOwn(runs, command) ? runs[command] : undefined;
      if (known !== undefined) return known({ args, root, version });
      if (command.endsWith(".hookyard"))
        return (await import("./share-command.ts")).openShareCommand({ file: command, args, root });
      const { runVerbNamed } = await import("./verbs.ts");
      const code = await runVerbNamed(command, args);
      if (code !== null) return code;
      process.stderr.write(`hookyard has no command ${command}. hookyard --help lists them.\n`);
      return 2;
    }
  }
}
