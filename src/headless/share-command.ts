/**
 * `hookyard share FILE` writes messages with everything about them, as a share file or as a page
 * that stands alone. `hookyard NAME.hookyard` opens one: on a port of its own, beside the data of
 * the user, which it never touches.
 */

import { mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { OpenError, PortTaken } from "../app-errors.ts";
import { isProblem } from "../domain/problem.ts";
import { monotonic, wallClockNow } from "../engine/real-time.ts";
import { CallRefused } from "../scenarios/run/pipeline.ts";
import { whenAskedToStop } from "./asked-to-stop.ts";
import { defaultDataDirectory, openShare, share } from "./commands.ts";
import { connect, NoHookyard, type Connection } from "./connect.ts";
import { endEarly, readFlags, wholeNumber, type Invocation } from "./flags.ts";

/** With the contract, so only where there is something to do. */
const shareFiles = () => import("../share/share-file.ts");

export async function shareCommand({ args, root, version }: Invocation): Promise<number> {
  const read = readFlags(share, args);
  if (read === "help" || "wrong" in read) return endEarly(read, share);
  const [file, ...more] = read.positionals;
  const { data, filter, redact, secrets, force, json } = read.values;
  if (file === undefined || more.length > 0 || !/\.(?:hookyard|html)$/.test(file))
    return endEarly(
      { wrong: "hookyard share needs one file to write to: NAME.hookyard or NAME.html." },
      share,
    );
  const place = resolve(data ?? defaultDataDirectory());
  // HOOKYARD_URL comes first, as for the other commands, unless a flag names the data.
  const isNamed = args.some((arg) => /^--data(?:=|$)/.test(arg));
  const isElsewhere = Boolean(process.env["HOOKYARD_URL"]) && !isNamed;
  const { writtenText } = await shareFiles();
  try {
    const asked = { place, file, filter, redact, secrets, force };
    const written = isElsewhere
      ? await shareThere(asked, await connect(place, process.env))
      : ((await shareOfRunning(asked)) ?? (await shareHere({ ...asked, root, version })));
    if ("wrong" in written) return say(written.wrong, 1);
    process.stdout.write(`${json ? JSON.stringify(written) : writtenText(written)}\n`);
    return 0;
  } catch (error) {
    if (error instanceof NoHookyard) return say(error.message, 3);
    if (!(error instanceof OpenError || error instanceof CallRefused)) throw error;
    return say(error.message, 1);
  }
}

type Program = Pick<Invocation, "root" | "version">;
type Asked = {
  /** The data directory. */
  place: string;
  file: string;
  filter: string;
  redact: string[];
  secrets: boolean;
  force: boolean;
};

/**
 * Of the one that has the data open: it knows its addresses, and what it counted. Null when there is
 * none, or it writes another share file. A copy of a data directory names the Hookyard of the
 * original.
 */
async function shareOfRunning(asked: Asked) {
  try {
    const hookyard = await connect(asked.place, {});
    const { dataDir } = await hookyard.call("about.get", {});
    return isSame(dataDir, asked.place) ? await shareThere(asked, hookyard) : null;
  } catch (error) {
    if (error instanceof NoHookyard) return null;
    if (error instanceof CallRefused && error.problem.code === "share_busy") return null;
    throw error;
  }
}

function isSame(dataDir: string | null, place: string): boolean {
  try {
    return dataDir !== null && realpathSync.native(dataDir) === realpathSync.native(place);
  } catch {
    return false;
  }
}

/** At `HOOKYARD_URL`, its data may be on another machine. */
async function shareThere(asked: Asked, { call }: Connection) {
  const { file, force, filter, redact, secrets } = asked;
  const { shareForm, writeShareBytes } = await shareFiles();
  const { base64, messages } = await call("shares.write", {
    ...{ filter, redact, secrets, as: shareForm(file) },
  });
  return writeShareBytes({ file, force, content: Buffer.from(base64, "base64"), messages });
}

async function shareHere({ place, root, version, file, force, ...asked }: Asked & Program) {
  const { directory, remove } = makeCopyDirectory();
  try {
    const { backUpData, createApp } = await import("../app.ts");
    const { collectShare, writeShare } = await shareFiles();
    const to = join(directory, "hookyard.db");
    await backUpData({ data: place, to, force: false, temporary: directory });
    // Never started: it listens nowhere and sends nothing.
    const app = createApp({
      data: directory,
      ports: { ingest: 0, endpoints: 0, endpointsTls: 0 },
      version,
    });
    try {
      const savedAt = new Date(wallClockNow()).toISOString();
      const lines = await collectShare({ ...app, ...asked, version, savedAt });
      if (isProblem(lines)) return { wrong: lines.message };
      return await writeShare({ file, lines, root, force });
    } finally {
      await app.stop();
    }
  } finally {
    remove();
  }
}

/** The copy has all secrets: a signal that ends the process leaves nothing of it behind. */
function makeCopyDirectory(): { directory: string; remove(): void } {
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  const end = (signal: NodeJS.Signals): void => {
    try {
      remove();
    } finally {
      process.kill(process.pid, signal);
    }
  };
  // Before the directory: a signal may come at once.
  for (const signal of signals) process.on(signal, end);
  const directory = mkdtempSync(join(tmpdir(), "hookyard-share-"));
  const remove = (): void => {
    for (const signal of signals) process.off(signal, end);
    rmSync(directory, { recursive: true, force: true });
  };
  return { directory, remove };
}

/** Until a signal comes. */
export async function openShareCommand({
  file,
  args,
  root,
}: {
  file: string;
  args: string[];
  root: string;
}): Promise<number> {
  const read = readFlags(openShare, args);
  if (read === "help" || "wrong" in read) return endEarly(read, openShare);
  const port = wholeNumber(read.values["ui-port"], 0, 65_535);
  if (port === undefined || Number.isNaN(port))
    return say("--ui-port needs a number from 0 to 65535.", 2);
  const began = monotonic();
  let content: Uint8Array;
  try {
    content = readFileSync(file);
  } catch (error) {
    return say(`${file} cannot be read: ${(error as Error).message}`, 1);
  }
  const { shareApi } = await shareFiles();
  const api = shareApi(content);
  if (isProblem(api)) return say(`${file}: ${api.message}`, 1);
  const { createControlPort } = await import("./http-api.ts");
  const { createStaticPages } = await import("./static-pages.ts");
  const { readOrMakeToken } = await import("./token.ts");
  const token = readOrMakeToken(null);
  const control = createControlPort({
    api,
    token,
    pages: createStaticPages([join(root, "out", "renderer"), join(root, "resources", "bare")]),
    host: "127.0.0.1",
    port,
    report: (error) => void say(String(error), 1),
  });
  let uiUrl: string;
  try {
    uiUrl = await control.start();
  } catch (error) {
    if (!(error instanceof PortTaken)) throw error;
    return say(`${error.message} Choose another with --ui-port N (0 picks a free one).`, 1);
  }
  process.stdout.write(
    `${file} is open after ${Math.round(monotonic() - began)} ms. Ctrl+C ends it.\n\n  Inspector  ${uiUrl}/#token=${token}\n`,
  );
  if (!read.values["no-open"])
    void import("./open-inspector.ts").then(({ openInspector }) =>
      openInspector({ uiUrl, token, say: (text) => void say(text, 0) }),
    );
  await whenAskedToStop();
  await control.stop();
  return 0;
}

function say(sentence: string, code: number): number {
  process.stderr.write(`${sentence}\n`);
  return code;
}
