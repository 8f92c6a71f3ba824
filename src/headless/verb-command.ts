/**
 * Runs a command that talks to the running Hookyard: reads its flags, finds the Hookyard by its
 * data directory, prints, and turns what goes wrong into a sentence and an exit code.
 */

import { resolve } from "node:path";
import { shownLines } from "../scenarios/report/text.ts";
import { CallRefused } from "../scenarios/run/pipeline.ts";
import { whenAskedToStop } from "./asked-to-stop.ts";
import { defaultDataDirectory } from "./commands.ts";
import { connect, NoHookyard, type Connection } from "./connect.ts";
import { endEarly, readFlags, type Command, type Flag, type ReadFlags } from "./flags.ts";

/** What the user asked for is wrong: a sentence, exit code 2. */
export class WrongInput extends Error {
  override name = "WrongInput";
}

export type Asked<Of extends Command> = ReadFlags<Of> & {
  hookyard: Connection;
  /** A value for `--json`, or the text that stands for it. */
  print: (value: unknown, text: string) => void;
  say: (sentence: string) => void;
  input: () => Promise<string>;
  /** When the user ends it, or whoever reads the output is gone; for one that does not end itself. */
  whenOver: () => Promise<void>;
};

type VerbFlags = { data: Flag & { value: string }; json: Flag };

export async function runVerb<Of extends Command<VerbFlags & Record<string, Flag>>>(
  command: Of,
  args: readonly string[],
  run: (asked: Asked<Of>) => Promise<number>,
): Promise<number> {
  const read = readFlags(command, args);
  if (read === "help" || "wrong" in read) return endEarly(read, command);
  const { data, json } = read.values as { data: string | undefined; json: boolean };
  const say = (sentence: string): void => void process.stderr.write(`${shownLines(sentence)}\n`);
  const print = (value: unknown, text: string): void =>
    void process.stdout.write(`${shownLines(json ? JSON.stringify(value) : text)}\n`);
  if (data === "") {
    say(`--data needs a directory. hookyard ${command.name} --help lists all flags.`);
    return 2;
  }
  try {
    const hookyard = await connect(
      data === ":memory:" ? data : resolve(data ?? defaultDataDirectory()),
    );
    const asked = { ...(read as ReadFlags<Of>), hookyard, print, say, input: readInput };
    return await run({ ...asked, whenOver });
  } catch (error) {
    const code = codeOf(error);
    if (code === null) throw error;
    say((error as Error).message);
    return code;
  }
}

function whenOver(): Promise<void> {
  return new Promise((resolve) => {
    process.stdout.once("error", () => resolve());
    void whenAskedToStop().then(resolve);
  });
}

function codeOf(error: unknown): number | null {
  if (error instanceof WrongInput) return 2;
  if (error instanceof NoHookyard) return 3;
  return error instanceof CallRefused ? 1 : null;
}

/** Nothing is read from a terminal: its user would wonder what the command waits for. */
async function readInput(): Promise<string> {
  if (process.stdin.isTTY) return "";
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}
