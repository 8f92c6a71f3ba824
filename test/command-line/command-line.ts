/** `hookyard` as a program of its own, and what it must print with `--json`. */

import { spawn } from "node:child_process";
import { expect } from "vitest";
import { z } from "zod";
import { type verbAnswers, verbSchema } from "./answers.ts";
import { program } from "../support/program.ts";

type Ended = { code: number | null; out: string; err: string };
type RunOptions = { env?: Record<string, string>; input?: string; cwd?: string };

export function hookyard(args: readonly string[], { env, input, cwd }: RunOptions = {}) {
  const child = spawn(process.execPath, [program, ...args], {
    env: { ...process.env, ...env },
    ...(cwd === undefined ? {} : { cwd }),
  });
  const said = { out: "", err: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (said.out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (said.err += text));
  child.stdin.end(input ?? "");
  const ended = new Promise<Ended>((resolve) =>
    child.on("close", (code) => resolve({ code, ...said })),
  );
  return {
    ...{ said, ended },
    kill: (signal: NodeJS.Signals) => child.kill(signal),
    stopReading: () => void child.stdout.destroy(),
  };
}

const schemas = new Map<string, z.ZodType>();

/** Made from what the schema's file is made of, because an update writes that only after all tests. */
function schemaOf(name: keyof typeof verbAnswers): z.ZodType {
  const { properties, ...schema } = verbSchema() as {
    $schema: string;
    properties: Record<string, object>;
    definitions: object;
  };
  const { $schema, definitions } = schema;
  return z.fromJSONSchema({ $schema, ...properties[name], definitions } as never);
}

/** The answer of a command, which the schema must allow. */
export function answerIn<Name extends keyof typeof verbAnswers>(
  name: Name,
  text: string,
): z.input<(typeof verbAnswers)[Name]> {
  const value: unknown = JSON.parse(text);
  const schema = schemas.get(name) ?? schemaOf(name);
  schemas.set(name, schema);
  expect(schema.safeParse(value).error?.issues ?? []).toEqual([]);
  return value as never;
}
