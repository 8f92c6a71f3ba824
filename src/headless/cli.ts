#!/usr/bin/env node
/**
 * The `hookyard` command. It checks the version of Node before anything is loaded that needs a
 * newer one, and runs the named command.
 */

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const oldestNode = 24;

type Command = {
  summary: string;
  run(options: { args: string[]; root: string; version: string }): Promise<number>;
};

/** Each is loaded on first use. */
const commands: Record<string, Command> = {
  serve: {
    summary: "Runs the pipeline, the test endpoints and the inspector.",
    run: async (options) => (await import("./serve-command.ts")).serveCommand(options),
  },
  run: {
    summary: "Runs scenario files.",
    run: async (options) => (await import("./run-command.ts")).runCommand(options),
  },
  check: {
    summary:
      "Checks a receiver of yours: answers, signatures, duplicates, lost answers, connections.",
    run: async (options) => (await import("./check-command.ts")).checkCommand(options),
  },
  explore: {
    summary: "Searches for the order of events that breaks a receiver of yours.",
    run: async (options) => (await import("./explore-command.ts")).exploreCommand(options),
  },
  share: {
    summary: "Writes messages with everything about them into a file or a page for somebody else.",
    run: async (options) => (await import("./share-command.ts")).shareCommand(options),
  },
  doctor: {
    summary: "Checks a data directory, even while Hookyard uses it. Changes nothing.",
    run: async (options) => (await import("./data-commands.ts")).doctorCommand(options),
  },
  backup: {
    summary: "Copies the data into one file, even while Hookyard uses it.",
    run: async (options) => (await import("./data-commands.ts")).backupCommand(options),
  },
};

const help = `Usage: hookyard <command> [flags]

${Object.entries(commands)
  .map(([name, { summary }]) => `  ${name.padEnd(12)} ${summary}`)
  .join("\n")}

  FILE.hookyard  Opens a share file in the browser, on a port of its own.
  --version    The version.
  --help       This text. hookyard <command> --help lists the flags of a command.`;

// The reader of the output may stop reading; that is no reason to end.
process.stdout.on("error", () => undefined);
process.stderr.on("error", () => undefined);

process.exit(await run(process.argv.slice(2)));

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
      process.stdout.write(`${help}\n`);
      return 0;
    case "--version":
    case "-v":
      process.stdout.write(`${version}\n`);
      return 0;
    case undefined:
      process.stderr.write("hookyard needs a command. hookyard --help lists them.\n");
      return 2;
    default: {
      const known = Object.hasOwn(commands, command) ? commands[command] : undefined;
      if (known !== undefined) return known.run({ args, root, version });
      if (command.endsWith(".hookyard"))
        return (await import("./share-command.ts")).openShareCommand({ file: command, args, root });
      process.stderr.write(`hookyard has no command ${command}. hookyard --help lists them.\n`);
      return 2;
    }
  }
}
