/** The flags of every command: read, refused in one line, or answered with the help text. */

import { parseArgs, type ParseArgsConfig } from "node:util";

type Options = NonNullable<ParseArgsConfig["options"]>;

const helpOption = { help: { type: "boolean", short: "h", default: false } } as const;

type Read<Of extends Options> = ReturnType<
  typeof parseArgs<{ options: Of & typeof helpOption; allowPositionals: true }>
>;

type Wrong = { wrong: string };

/** Without `allowPositionals`, anything that is no flag is refused. */
export function readFlags<const Of extends Options>(
  command: string,
  args: string[],
  { options, allowPositionals = true }: { options: Of; allowPositionals?: boolean },
): Read<Of> | "help" | Wrong {
  try {
    const config = { args, allowPositionals, options: { ...options, ...helpOption } };
    const read: Read<Of> = parseArgs(config);
    return (read.values as { help?: boolean }).help === true ? "help" : read;
  } catch (error) {
    // Node says the rest in further sentences.
    const [reason] = (error as Error).message.split(/\.(?=\s|$)|\n/);
    return { wrong: `${reason}. hookyard ${command} --help lists all flags.` };
  }
}

/** Prints the help text or what is wrong, and returns the exit code. */
export function endEarly(flags: "help" | Wrong, help: string): 0 | 2 {
  if (flags === "help") process.stdout.write(`${help}\n`);
  else process.stderr.write(`${flags.wrong}\n`);
  return flags === "help" ? 0 : 2;
}

/** Undefined when it was not given, NaN when it is no whole number or out of the range. */
export function wholeNumber(
  text: string | undefined,
  from: number,
  to: number,
): number | undefined {
  if (text === undefined) return undefined;
  const number = Number(text);
  const isWithin = /^-?\d{1,16}$/.test(text) && number >= from && number <= to;
  return isWithin ? number : Number.NaN;
}
