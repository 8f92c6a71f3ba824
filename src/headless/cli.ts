#!/usr/bin/env node
/**
 * The `hookyard` command. It looks at the version of Node before anything is loaded that needs a newer one, and
 * gives the rest to the command that is named.
 */

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const oldestNode = 24;

const help = `Usage: hookyard <command> [flags]

  serve        Runs the pipeline, the test endpoints and the inspector. hookyard serve --help lists its flags.
  run          Runs scenario files. hookyard run --help lists its flags.

  --version    The version.
  --help       This text.`;

// Whoever reads the output may stop reading; that is no reason to end.
process.stdout.on("error", () => undefined);
process.stderr.on("error", () => undefined);

process.exit(await run(process.argv.slice(2)));

async function run([command, ...args]: string[]): Promise<number> {
  if (Number.parseInt(process.versions.node, 10) < oldestNode) {
    process.stderr.write(`Hookyard needs Node ${oldestNode} or newer; this is ${process.versions.node}.\n`);
    return 1;
  }
  // Two levels up from here, both in the sources and in the built program.
  const root = fileURLToPath(new URL("../../", import.meta.url));
  const { version } = JSON.parse(readFileSync(`${root}package.json`, "utf8")) as { version: string };
  switch (command) {
    case "serve": {
      const { serveCommand } = await import("./serve-command.ts");
      return serveCommand({ args, root, version });
    }
    case "run": {
      const { runCommand } = await import("./run-command.ts");
      return runCommand({ args, root, version });
    }
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
    default:
      process.stderr.write(`hookyard has no command ${command}. hookyard --help lists them.\n`);
      return 2;
  }
}
