/**
 * `hookyard check`: checks somebody's receiver, prints each result as it arrives, writes reports,
 * and sets the exit code.
 */

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { checkPage } from "../check/report-page.ts";
import { checkJunit, proofText, resultText, summaryText } from "../check/report.ts";
import { CannotCheck, runCheck, type CheckOptions } from "../check/run-check.ts";
import { urlWithoutCredentials } from "../domain/credentials.ts";
import type { Json } from "../domain/json.ts";
import { colourPaint, plainPaint } from "../scenarios/report/text.ts";
import { check } from "./commands.ts";
import { endEarly, readFlags, wholeNumber } from "./flags.ts";
import type { CheckReport } from "../check/outcome.ts";

type Flags = Omit<CheckOptions, "message"> & {
  message: string | undefined;
  json: string | undefined;
  junit: string | undefined;
  html: string | undefined;
  scenarios: string | undefined;
};

export async function checkCommand({ args }: { args: string[] }): Promise<number> {
  const flags = parseCheckFlags(args);
  if (flags === "help" || "wrong" in flags) return endEarly(flags, check);
  const paint =
    process.stdout.isTTY && (process.env["NO_COLOR"] ?? "") === "" ? colourPaint : plainPaint;
  const print = (text: string): void =>
    void (flags.json === "-" || process.stdout.write(`${text}\n`));
  print(`${urlWithoutCredentials(flags.url)}\n`);
  try {
    const message = flags.message === undefined ? undefined : await readMessage(flags.message);
    const report = await runCheck({
      ...flags,
      ...(message === undefined ? {} : { message }),
      onResult(result) {
        print(resultText(result, paint));
        if (result.verdict === "fail") print(proofText(result, paint));
      },
    });
    print(`\n${summaryText(report, paint)}`);
    await writeReports(report, flags);
    return report.verdict === "pass" ? 0 : 1;
  } catch (error) {
    if (!(error instanceof CannotCheck)) throw error;
    process.stderr.write(`${error.message}\n`);
    return 2;
  }
}

async function readMessage(file: string): Promise<Json> {
  const text = await readFile(file, "utf8").catch((error: Error) =>
    Promise.reject(new CannotCheck(`${file} cannot be read: ${error.message}`)),
  );
  try {
    return JSON.parse(text.replace(/^\ufeff/, "")) as Json;
  } catch (error) {
    throw new CannotCheck(`${file} is not JSON: ${(error as Error).message}`);
  }
}

async function writeReports(
  report: CheckReport,
  { json, junit, html, scenarios }: Flags,
): Promise<void> {
  const wrote = (file: string, written: Promise<unknown>): Promise<unknown> =>
    written.catch((error: Error) =>
      Promise.reject(new CannotCheck(`${file} cannot be written: ${error.message}`)),
    );
  const write = (file: string, text: string) =>
    wrote(
      file,
      mkdir(dirname(file), { recursive: true }).then(() => writeFile(file, text)),
    );
  const asJson = `${JSON.stringify(report, null, 2)}\n`;
  if (json === "-") process.stdout.write(asJson);
  else if (json !== undefined) await write(json, asJson);
  if (junit !== undefined) await write(junit, checkJunit(report, hostname()));
  if (html !== undefined) await write(html, checkPage(report));
  if (scenarios === undefined) return;
  await wrote(scenarios, mkdir(scenarios, { recursive: true }));
  for (const { id, scenario } of report.checks)
    if (scenario !== null) await write(join(scenarios, `${id}.yaml`), scenario);
}

/** The flags, `help`, or what is wrong with them in one line. */
export function parseCheckFlags(
  args: string[],
  env = process.env,
): Flags | "help" | { wrong: string } {
  const read = readFlags(check, args, { environment: env });
  if (read === "help" || "wrong" in read) return read;
  const { values, positionals } = read;
  const [url, ...more] = positionals;
  if (url === undefined)
    return {
      wrong: "hookyard check needs the URL of a receiver. hookyard check --help says more.",
    };
  if (more.length > 0) return { wrong: "hookyard check takes one URL." };
  if (values.effects !== undefined && values["effects-command"] !== undefined)
    return { wrong: "--effects and --effects-command say the same: give one of them." };
  if (values.effects !== undefined && !/^https?:\/\//.test(values.effects))
    return { wrong: "--effects needs a full http or https URL." };
  const timeoutMs = wholeNumber(values.timeout, 100, 600_000);
  if (Number.isNaN(timeoutMs)) return { wrong: "--timeout needs milliseconds from 100 to 600000." };
  const seed = wholeNumber(values.seed, 0, 2 ** 31 - 1);
  if (Number.isNaN(seed)) return { wrong: "--seed needs a whole number below 2147483648." };
  const headers = headersOf(values.header);
  if ("wrong" in headers) return { wrong: headers.wrong };
  const list = (text: string | undefined): string[] =>
    (text ?? "")
      .split(",")
      .map((id) => id.trim())
      .filter((id) => id !== "");
  const command = values["effects-command"];
  return {
    url,
    secret: values.secret ?? null,
    headers: headers.list,
    effects:
      values.effects !== undefined
        ? { url: values.effects }
        : command !== undefined
          ? { command }
          : null,
    message: values.message,
    only: list(values.only),
    skip: list(values.skip),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(seed === undefined ? {} : { seed }),
    json: values.json,
    junit: values.junit,
    html: values.html,
    scenarios: values.scenarios,
  };
}

function headersOf(texts: readonly string[]): { list: Record<string, string> } | { wrong: string } {
  const list: Record<string, string> = {};
  for (const text of texts) {
    const [, name, value] =
      /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+): ?([\t\x20-\x7e\x80-\xff]*)$/.exec(text) ?? [];
    if (name === undefined || value === undefined)
      return { wrong: `--header needs "Name: value", not ${JSON.stringify(text)}.` };
    list[name] = value;
  }
  return { list };
}
