/** Reads a configuration file that was found: its value with the places in it, checked. */

import { existsSync, readFileSync } from "node:fs";
import { extname } from "node:path";
import { pathToFileURL } from "node:url";
import { z } from "zod";
import { WrongConfig } from "../app-errors.ts";
import { type ConfigurationDocument, configurationDocument } from "../contract/configuration.ts";
import { isObject, type Json } from "../domain/json.ts";
import { unknownMembers } from "../scenarios/file/members.ts";
import { problemsOf } from "../scenarios/file/sentences.ts";
import { readYaml, type PlacedValue } from "../scenarios/file/yaml-places.ts";
import { variableOf } from "./flags.ts";
import { portFlags } from "./serve-flags.ts";

const port = z
  .int({ error: "a number from 0 to 65535" })
  .min(0, "a number from 0 to 65535")
  .max(65_535, "a number from 0 to 65535")
  .optional();
const { version, ...shape } = configurationDocument.shape;

/**
 * What a file may say: what the contract imports, and the ports. `resources/config.schema.json` is
 * generated from it.
 */
export const configFile = z
  .strictObject({
    $schema: z.string().optional().describe("The schema for editors."),
    version: version.optional(),
    ports: z
      .strictObject({
        ingest: port,
        ingestTls: port,
        ui: port,
        endpoints: port,
        endpointsTls: port,
      })
      .optional()
      .describe("Where Hookyard listens, unless a flag or the environment says otherwise."),
    ...shape,
  })
  .meta({ id: "HookyardConfig", title: "A configuration of Hookyard" });

type Found = {
  file: string;
  /** As the user knows it. */
  shown: string;
  environment: NodeJS.ProcessEnv;
};

export type ConfigFile = {
  /** As the user knows it. */
  file: string;
  document: ConfigurationDocument;
  /** What Hookyard says of the document, with the place that it means. */
  placed: (message: string) => string;
  /** The ports as the environment would have them. */
  environment: Record<string, string>;
};

export async function readConfigIn({ file, shown, environment }: Found): Promise<ConfigFile> {
  const placed = await readValue(file, shown);
  const filled = withVariables(placed, shown, environment);
  const read = configFile.safeParse(filled.value, {
    reportInput: true,
    error: ({ code, inst, ...issue }) => {
      const known = (inst?._zod.def as { shape?: object } | undefined)?.shape;
      return code === "unrecognized_keys" && known !== undefined
        ? unknownMembers((issue as unknown as { keys: string[] }).keys, Object.keys(known))
        : undefined;
    },
  });
  if (!read.success) {
    const mistakes = problemsOf(read.error.issues, filled).map((mistake) => ({
      ...mistake,
      // What is there may be a secret.
      message: mistake.message.replace(/, but it is "[^]*?(?:"(?=\.)|…)/, ""),
    }));
    throw new WrongConfig(
      mistakes
        .map(({ line, column, message }) => `${placeIn(shown, line, column)} ${message}`)
        .join("\n"),
    );
  }
  const { ports = {} } = read.data;
  const overlay = Object.entries(portFlags).flatMap(([role, flag]) => {
    const number = ports[role as keyof typeof ports];
    return number === undefined ? [] : [[variableOf(flag.slice(2), { text: "" }), String(number)]];
  });
  return {
    file: shown,
    placed: (message) => withPlace(message, shown, filled),
    document: documentIn(filled.value),
    environment: Object.fromEntries(overlay) as Record<string, string>,
  };
}

/** As the contract has it on the wire: its call decodes it. */
function documentIn(value: Json): ConfigurationDocument {
  const { $schema: _, ports: _ports, ...document } = value as Record<string, Json>;
  return { ...document, version: 1 };
}

const isProgram = (file: string): boolean => /^\.[cm]?[jt]s$/.test(extname(file));

/** A program has no places for its values. */
const placeIn = (file: string, line: number, column: number): string =>
  isProgram(file) ? `${file}:` : `${file}:${line}:${column}`;

/** `destinations[0]: …` is at the first destination of the file. */
function withPlace(message: string, shown: string, { placeOf }: PlacedValue): string {
  const [named = "", list = "", index] = /^(\w+)(?:\[(\d+)\])?(?=: )/.exec(message) ?? [];
  if (named === "") return `${shown}: ${message}`;
  const { line, column } = placeOf(index === undefined ? [list] : [list, Number(index)]);
  return `${placeIn(shown, line, column)} ${message}`;
}

/**
 * What a program prints goes to standard error: standard output is that of the command, and
 * somebody parses it.
 */
async function valueOf(file: string): Promise<unknown> {
  const { write } = process.stdout;
  process.stdout.write = process.stderr.write.bind(process.stderr);
  try {
    const { default: exported } = (await import(pathToFileURL(file).href)) as {
      default?: unknown;
    };
    return typeof exported === "function" ? await (exported as () => unknown)() : exported;
  } finally {
    process.stdout.write = write;
  }
}

/** `:3:7`, where an error of a program names its file. */
function lineIn(error: unknown, file: string): string {
  const { stack = "" } = error instanceof Error ? error : {};
  for (const name of [pathToFileURL(file).href, file]) {
    const [, after] = stack.split(`${name}:`);
    if (after !== undefined) return /^\d+(?::\d+)?/.exec(after)?.[0].replace(/^/, ":") ?? "";
  }
  return "";
}

async function readValue(file: string, shown: string): Promise<PlacedValue> {
  try {
    if (isProgram(file)) {
      const made = await valueOf(file);
      if (typeof made !== "object" || made === null)
        throw new Error("it has no default export with the configuration");
      const start = () => ({ line: 1, column: 1 });
      // Through JSON, as it will be sent.
      return {
        value: JSON.parse(JSON.stringify(made)) as Json,
        placeOf: start,
        placeOfName: start,
      };
    }
    const text = readFileSync(file, "utf8");
    if (text.trim() === "") throw new Error("it is empty");
    const read = readYaml(text, { maxValues: 200_000 });
    if (!("problems" in read)) return read;
    throw new WrongConfig(
      read.problems
        .map(({ line, column, message }) => `${shown}:${line}:${column} ${message}`)
        .join("\n"),
    );
  } catch (error) {
    if (error instanceof WrongConfig) throw error;
    const { message } = error instanceof Error ? error : { message: String(error) };
    throw new WrongConfig(
      existsSync(file)
        ? `${shown}${lineIn(error, file)} cannot be read: ${message}.`
        : `${shown} was not found.`,
    );
  }
}

/** `${NAME}` in a text is the variable NAME of the environment, so that secrets stay out of files. */
function withVariables(
  placed: PlacedValue,
  shown: string,
  environment: NodeJS.ProcessEnv,
): PlacedValue {
  const fill = (value: Json, path: (string | number)[]): Json => {
    if (typeof value === "string")
      return value.replaceAll(/\$\{([A-Za-z_]\w*)\}/g, (_, name: string) => {
        const text = environment[name];
        if (text !== undefined) return text;
        const { line, column } = placed.placeOf(path);
        throw new WrongConfig(
          `${placeIn(shown, line, column)} The variable ${name} is not in the environment.`,
        );
      });
    if (Array.isArray(value)) return value.map((one, index) => fill(one, [...path, index]));
    if (!isObject(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, one]) => [name, fill(one, [...path, name])]),
    );
  };
  return { ...placed, value: fill(placed.value, []) };
}
