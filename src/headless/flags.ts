/**
 * The flags of every command: from what the table in `commands.ts` says of one come its reading
 * from the command line and from the environment, its refusal in one line, its help text, its
 * completion in shells, and its row in `docs/flags.md`.
 */

import { parseArgs, type ParseArgsConfig } from "node:util";

export type Flag = {
  /** What the help calls its value. Without one it is a switch. */
  value?: string;
  /** A sentence or two. */
  text: string;
  default?: string;
  /** Its value when none follows it. */
  bare?: string;
  several?: true;
  /**
   * Its variable of the environment, where `HOOKYARD_` with its own name would mean something else.
   */
  variable?: string;
  /** What a shell completes it with. */
  choices?: readonly string[] | "files" | "directories";
};
type Flags = Record<string, Flag>;

export type Command<Of extends Flags = Flags> = {
  name: string;
  /** What the help calls the arguments beside the flags; without it, there are none. */
  operands?: string;
  /** What a shell completes them with. */
  choices?: readonly string[] | "files";
  /** For the list of all commands. */
  summary: string;
  /** Above its flags, where it says more than the summary. */
  about?: string;
  flags: Of;
  /** What its exit codes mean, by code. */
  exits: Readonly<Record<number, string>>;
};

/** What a command is started with: what was typed after its name, where the program is, its version. */
export type Invocation = { args: string[]; root: string; version: string };

export function defineCommand<const Of extends Flags>(command: Command<Of>): Command<Of> {
  return command;
}

type ValueOf<One extends Flag> = One extends { several: true }
  ? string[]
  : One extends { value: string }
    ? One extends { default: string }
      ? string
      : string | undefined
    : boolean;

type Read<Of extends Flags> = {
  values: { -readonly [Name in keyof Of]: ValueOf<Of[Name]> };
  positionals: string[];
};

export type ReadFlags<Of extends Pick<Command, "flags">> = Read<Of["flags"]>;

type Wrong = { wrong: string };

export const variableOf = (name: string, { variable }: Flag): string =>
  variable ?? `HOOKYARD_${name.toUpperCase().replaceAll("-", "_")}`;

/** `lenient` lets unknown flags and values pass, for a program that shares its arguments. */
export function readFlags<const Of extends Flags>(
  { name: command, operands, flags }: Pick<Command<Of>, "name" | "operands" | "flags">,
  args: readonly string[],
  { environment = process.env, lenient = false }: ReadOptions = {},
): Read<Of> | "help" | Wrong {
  const options: NonNullable<ParseArgsConfig["options"]> = {};
  for (const [name, { value, several }] of Object.entries(flags))
    options[name] = {
      type: value === undefined ? "boolean" : "string",
      multiple: several === true,
    };
  if (!lenient) options["help"] = { type: "boolean", short: "h" };
  let given;
  try {
    given = parseArgs({
      args: withBareValues(args, flags).map((arg) =>
        operands !== undefined && leavesOut.test(arg) ? `\0${arg}` : arg,
      ),
      options,
      strict: !lenient,
      allowPositionals: lenient || operands !== undefined,
    });
  } catch (error) {
    // Node says the rest in further sentences.
    const [reason] = (error as Error).message.split(/\.(?=\s|$)|\n/);
    return { wrong: `${reason}. hookyard ${command} --help lists all flags.` };
  }
  if (given.values["help"] === true) return "help";
  const values: Record<string, unknown> = {};
  for (const [name, flag] of Object.entries(flags)) {
    const written = asGiven(given.values[name]);
    const value =
      flag.value !== undefined && written === true
        ? ""
        : (written ?? fromEnvironment(name, flag, environment));
    if (isWrong(value)) return value;
    values[name] =
      value ?? flag.default ?? (flag.value === undefined ? false : flag.several ? [] : undefined);
  }
  return {
    values: values as Read<Of>["values"],
    positionals: given.positionals.map((each) => asGiven(each)),
  };
}

/** `-state:delivered` is part of a filter, not a flag. It is marked until the flags are read. */
const leavesOut = /^-[a-z]+:/i;
const asGiven = <Value>(value: Value): Value =>
  Array.isArray(value)
    ? (value.map(asGiven) as Value)
    : typeof value === "string" && value.startsWith("\0")
      ? (value.slice(1) as Value)
      : value;

type ReadOptions = { environment?: NodeJS.ProcessEnv; lenient?: boolean };

function withBareValues(args: readonly string[], flags: Flags): string[] {
  return args.map((arg, index) => {
    const bare = arg.startsWith("--") ? flags[arg.slice(2)]?.bare : undefined;
    const next = args[index + 1];
    return bare === undefined || (next !== undefined && !/^-./.test(next)) ? arg : `${arg}=${bare}`;
  });
}

/** An empty variable counts as not set, except where a value must not be empty. */
function fromEnvironment(
  name: string,
  flag: Flag,
  environment: NodeJS.ProcessEnv,
): string | string[] | boolean | undefined | Wrong {
  const variable = variableOf(name, flag);
  const text = environment[variable];
  if (text === undefined || text === "") return undefined;
  if (flag.several) return [text];
  if (flag.value !== undefined) return text;
  if (/^(1|true|yes|on)$/i.test(text)) return true;
  if (/^(0|false|no|off)$/i.test(text)) return false;
  return { wrong: `${variable} in the environment must be 1 or 0, not ${text}.` };
}

function isWrong(value: unknown): value is Wrong {
  return typeof value === "object" && value !== null && "wrong" in value;
}

const width = 100;

export function helpOf({ name, operands, summary, about, flags, exits }: Command): string {
  const rows = [...Object.entries(flags), ["help", { text: "This text." }] as [string, Flag]].map(
    ([flag, of]): [string, string] => [flagLabel(flag, of), textOf(of)],
  );
  const column = Math.min(26, Math.max(...rows.map(([label]) => label.length))) + 2;
  const lines = rows.flatMap(([label, text]) => {
    const [first = "", ...rest] = wrapped(text, width - column - 2);
    const indent = " ".repeat(column + 2);
    const own = label.length + 2 > column;
    return [
      own ? `  ${label}` : `  ${label.padEnd(column)}${first}`,
      ...(own ? [first, ...rest] : rest).map((line) => indent + line),
    ];
  });
  const codes = Object.entries(exits)
    .map(([code, meaning]) => `${code} ${meaning}`)
    .join(", ");
  return [
    `Usage: hookyard ${name}${operands === undefined ? "" : ` ${operands}`} [flags]`,
    "",
    ...wrapped(about ?? summary, width),
    "",
    ...lines,
    "",
    ...wrapped(`Exit code: ${codes}.`, width),
  ].join("\n");
}

export function flagLabel(name: string, { value }: Flag): string {
  return `--${name}${value === undefined ? "" : ` ${value}`}`;
}

export function textOf({ text, default: usual }: Flag): string {
  return usual === undefined || usual === "" ? text : `${text} Default: ${usual}.`;
}

function wrapped(text: string, columns: number): string[] {
  const lines = [""];
  for (const word of text.split(" ")) {
    const line = lines.at(-1) ?? "";
    if (line !== "" && line.length + word.length >= columns) lines.push(word);
    else lines[lines.length - 1] = line === "" ? word : `${line} ${word}`;
  }
  return lines;
}

/** Prints the help text or what is wrong, and returns the exit code. */
export function endEarly(flags: "help" | Wrong, command: Command): 0 | 2 {
  if (flags === "help") process.stdout.write(`${helpOf(command)}\n`);
  else process.stderr.write(`${flags.wrong}\n`);
  return flags === "help" ? 0 : 2;
}

/** Undefined when it was not given, NaN when it is not a whole number or out of range. */
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
