/** `hookyard` as a program of its own and in this process, and what it must print with `--json`. */

import { spawn } from "node:child_process";
import { expect, onTestFinished } from "vitest";
import { z } from "zod";
import { createApp } from "../../src/app.ts";
import { startControl } from "../../src/headless/control.ts";
import { root } from "../../src/launch/build.ts";
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

/** As `hookyard serve` does, in this process. Ends with the test, if it has not been stopped. */
export async function startHere(
  data: string,
): Promise<{ ingestUrl: string; stop(): Promise<void> }> {
  const unexpected: unknown[] = [];
  const report = (error: unknown): void => void unexpected.push(error);
  const version = "0.0.0";
  const ports = { ingest: 0, endpoints: 0, endpointsTls: 0 };
  const app = createApp({ data, ports, version, report, log: report });
  const { dataDir, ingestUrl } = await app.start();
  const { api } = app;
  const of = { api, dataDir, root, port: 0, version, program: "headless", report } as const;
  const control = await startControl(of);
  let stopped: Promise<void> | null = null;
  const stop = (): Promise<void> => {
    stopped ??= control
      .stop()
      .then(() => app.stop())
      .then(() => expect(unexpected).toEqual([]));
    return stopped;
  };
  onTestFinished(stop);
  return { ingestUrl, stop };
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
