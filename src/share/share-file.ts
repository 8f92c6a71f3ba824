/**
 * Collects a share file over the contract, writes it compressed or as a page that stands alone, and
 * opens one. The control API, `hookyard share`, `hookyard run --share` and `hookyard NAME.hookyard`
 * use it.
 */

import { closeSync, existsSync, openSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { createGzip, gunzipSync } from "node:zlib";
import type { Api } from "../api/api.ts";
import type { AnswerOf, CallName, HandlersOf, InputOf } from "../contract/contract.ts";
import { messageSummary, type MessageSummaryAnswer } from "../contract/messages.ts";
import { readShare, sharedCalls, type ShareHead } from "../contract/share.ts";
import { damaged, maxShareBytes, maxSharedMessages, tooLarge } from "../contract/share-limits.ts";
import { isProblem, problem, type Problem } from "../domain/problem.ts";
import type { Pipeline } from "../engine/pipeline.ts";
import { nextTurn, wallClockNow } from "../engine/real-time.ts";
import { sharePage } from "./share-page.ts";
import { countedAndPlaced } from "./never-started.ts";
import { createOthers, perTurn } from "./others.ts";
import { cleaner, redactedPaths, secretsOf, type Cleaner } from "./without-secrets.ts";

/** Fewer messages when they are large. */
const charactersPerTurn = 200_000;

export type ShareOptions = {
  api: Pick<Api, "call">;
  pipeline: Pick<Pipeline, "configuration" | "clients">;
  version: string;
  savedAt: string;
  secrets: boolean;
  redact: readonly string[];
  /** In the language of the filter. */
  filter: string;
  /** Only these messages; all that match when left out. */
  ids?: readonly string[];
  /** After each few messages. Returns false to cancel. */
  onProgress?: (done: number, total: number) => boolean;
};

const cancelled = problem(
  409,
  "share_cancelled",
  "The share file was cancelled. Nothing was written.",
);

/**
 * The lines of a share file, the newest message first; a `Problem` when the filter is wrong. What
 * would make the file too large to be opened is left out, the oldest messages first.
 */
export async function collectShare(options: ShareOptions): Promise<string[] | Problem> {
  const { pipeline, version, savedAt, secrets, redact } = options;
  const { configuration, clients } = pipeline;
  const paths = redactedPaths(redact);
  if (isProblem(paths)) return paths;
  const call = async <Name extends CallName>(
    name: Name,
    input: InputOf<Name>,
  ): Promise<AnswerOf<Name>> => {
    const { status, body } = await options.api.call(name, input);
    if (status >= 400) throw new Refused(status, body as { code: string; message: string });
    return body as AnswerOf<Name>;
  };
  const answers: Record<string, unknown> = {};
  const lines: string[] = [];
  let length = 0;
  let lengthOfTurn = 0;
  let clean: Cleaner;
  try {
    for (const name of sharedCalls) answers[name] = await call(name, {});
    const { ingestUrl } = answers["about.get"] as AnswerOf<"about.get">;
    const count = ingestUrl === "" ? countedAndPlaced(answers) : () => undefined;
    clean = cleaner({
      secrets: secrets
        ? null
        : secretsOf({
            sources: configuration.sources(),
            destinations: configuration.destinations(),
            clients: clients.list(),
            endpoints: (answers["endpoints.list"] as AnswerOf<"endpoints.list">).items,
            dataDir: (answers["about.get"] as AnswerOf<"about.get">).dataDir,
          }),
      paths,
    });
    const rawOf = async (id: string): Promise<unknown> =>
      (await unlessGone(call("messages.get", { id })))?.raw;
    const othersOf = paths.length === 0 ? () => [] : createOthers(clean, rawOf);
    for await (const { row, details, total } of messagesOf(options, call)) {
      const read = await unlessGone(withAllBytes(details, call));
      if (read === null) continue;
      const both = clean
        .message(row, read, await othersOf(read))
        .map((each) => JSON.stringify(each));
      length += both.reduce((sum, line) => sum + line.length, 0);
      if (lines.length === 2 * maxSharedMessages || length > maxShareBytes / 4) break;
      lines.push(...both);
      count(read);
      if (lines.length % (2 * perTurn) !== 0 && length - lengthOfTurn < charactersPerTurn) continue;
      lengthOfTurn = length;
      const goesOn =
        options.onProgress?.(lines.length / 2, Math.min(total, maxSharedMessages)) ?? true;
      if (!goesOn) return cancelled;
      await nextTurn();
    }
  } catch (error) {
    if (error instanceof Refused) return problem(error.status, error.code, error.message);
    throw error;
  }
  const head: ShareHead = {
    hookyard: "share",
    format: 1,
    version,
    savedAt,
    messages: lines.length / 2,
    secrets,
    redacted: [...redact],
  };
  (answers["about.get"] as AnswerOf<"about.get">).dataDir = null;
  // Nothing goes on in a record.
  Object.assign(answers["clock.get"] as object, { mode: "paused", speed: 1, advance: null });
  const stats = answers["stats.get"] as AnswerOf<"stats.get">;
  stats.messages.total = head.messages;
  delete stats.dataBytes;
  delete stats.dataId;
  const known = Object.fromEntries(
    Object.entries(answers).map(([name, answer]) => [name, clean.answer(name, answer)]),
  );
  return [JSON.stringify(head), JSON.stringify(known), ...lines];
}

export const messagesIn = (lines: readonly string[]): number => (lines.length - 2) / 2;

class Refused extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, { code, message }: { code: string; message: string }) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

type Call = <Name extends CallName>(name: Name, input: InputOf<Name>) => Promise<AnswerOf<Name>>;

/** The rows with their details, and how many there are. */
async function* messagesOf({ filter, ids }: ShareOptions, call: Call) {
  if (ids !== undefined) {
    const chosen = await chosenOf(new Set(ids), filter, call);
    for (const id of chosen) {
      const details = await call("messages.get", { id });
      yield { row: rowOf(details), details, total: chosen.length };
    }
    return;
  }
  for await (const { items, total } of pagesOf(filter, call))
    for (const { id } of items) {
      const details = await unlessGone(call("messages.get", { id }));
      if (details !== null) yield { row: rowOf(details), details, total };
    }
}

async function* pagesOf(filter: string, call: Call) {
  for (let cursor: string | null | undefined = undefined; cursor !== null;) {
    const page: AnswerOf<"messages.list"> = await call("messages.list", {
      limit: 1000,
      ...(filter === "" ? {} : { filter }),
      ...(cursor === undefined ? {} : { cursor }),
    });
    yield page;
    cursor = page.nextCursor;
  }
}

/** Those that match, the newest first. */
async function chosenOf(ids: ReadonlySet<string>, filter: string, call: Call): Promise<string[]> {
  const chosen = [...ids].toSorted().toReversed();
  if (filter === "") return chosen;
  const matching: string[] = [];
  const oldest = chosen.at(-1) ?? "";
  for await (const { items } of pagesOf(filter, call)) {
    matching.push(...items.map(({ id }) => id).filter((id) => ids.has(id)));
    if (items.some(({ id }) => id <= oldest)) break;
  }
  return matching;
}

/** As it is now: it may have been listed a moment ago. */
function rowOf(details: AnswerOf<"messages.get">): MessageSummaryAnswer {
  const members = Object.keys(messageSummary.shape) as (keyof MessageSummaryAnswer)[];
  return Object.fromEntries(members.map((name) => [name, details[name]])) as MessageSummaryAnswer;
}

/** Null for what retention has removed since it was listed. */
async function unlessGone<Answer>(asked: Promise<Answer>): Promise<Answer | null> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof Refused && error.status === 404) return null;
    throw error;
  }
}

/** An answer of over 1 MB leaves them out. */
async function withAllBytes(message: AnswerOf<"messages.get">, call: Call) {
  for (const delivery of message.deliveries) {
    const { id } = delivery;
    if (delivery.payload === "" && delivery.payloadSize > 0)
      delivery.payload = (await call("deliveries.get", { id })).payload;
    for (const [place, attempt] of delivery.attempts.entries())
      if (attempt.leftOut)
        delivery.attempts[place] = await call("deliveries.attempt", { id, attempt: attempt.id });
  }
  return message;
}

/** So many characters are compressed before others have their turn. */
const perPart = 100_000;

function* partsOf(lines: readonly string[]): Generator<string> {
  let part = "";
  for (const [place, line] of lines.entries()) {
    part += place === 0 ? line : `\n${line}`;
    if (part.length < perPart) continue;
    yield part;
    part = "";
  }
  yield part;
}

/** The bytes of a `.hookyard` file, or of a page; `pages` is the directory of the inspector. */
export async function shareBytes(
  lines: readonly string[],
  as: "hookyard" | "html",
  pages: string,
): Promise<Uint8Array> {
  const data = await buffer(Readable.from(partsOf(lines)).pipe(createGzip()));
  return as === "hookyard" ? data : Buffer.from(sharePage(data, pages));
}

const noInspector =
  "There is no built inspector to put into a page: npm run build makes it. NAME.hookyard needs none.";

/** A clone has none before its first build. */
function hasInspector(pages: string | null): boolean {
  return pages !== null && existsSync(join(pages, "index.html"));
}

/** The calls of the control API that write one. */
export function createShareHandlers({
  api,
  pipeline,
  version,
  pages,
  onChange,
}: Pick<ShareOptions, "pipeline" | "version"> & {
  api: () => Pick<Api, "call">;
  /** The directory of the inspector's page; null: only `.hookyard` is written. */
  pages: string | null;
  /** `shares.progress` answers otherwise now. */
  onChange: () => void;
}): HandlersOf<"shares"> {
  let writing: { done: number; total: number; isCancelled: boolean } | null = null;
  return {
    "shares.progress": () => ({ writing }),
    "shares.cancel": () => {
      if (writing !== null) writing.isCancelled = true;
      return { writing };
    },
    "shares.write": async ({ as, filter, ids, redact, secrets }, caller) => {
      if (as === "html" && !hasInspector(pages)) return problem(400, "invalid", noInspector);
      if (writing !== null)
        return problem(409, "share_busy", "Another share file is being written. Wait until it is.");
      const current = { done: 0, total: ids?.length ?? 0, isCancelled: false };
      writing = current;
      try {
        const savedAt = new Date(wallClockNow()).toISOString();
        const lines = await collectShare({
          ...{ api: api(), pipeline, version, savedAt, secrets, redact, filter },
          ...(ids === undefined ? {} : { ids }),
          onProgress(done, total) {
            Object.assign(current, { done, total });
            onChange();
            return !current.isCancelled && caller?.aborted !== true;
          },
        });
        if (isProblem(lines)) return lines;
        const bytes = await shareBytes(lines, as, pages ?? "");
        if (current.isCancelled) return cancelled;
        return {
          name: `hookyard-${savedAt.slice(0, 19).replaceAll(":", "-")}.${as}`,
          messages: messagesIn(lines),
          size: bytes.length,
          base64: Buffer.from(bytes).toString("base64"),
        };
      } finally {
        writing = null;
        onChange();
      }
    },
  };
}

/** What `readShare` answers from, or why the file cannot be opened. */
export function openShare(file: Uint8Array): ReturnType<typeof readShare> {
  if (file[0] !== 0x1f || file[1] !== 0x8b) return readShare("");
  try {
    return readShare(gunzipSync(file, { maxOutputLength: maxShareBytes }).toString("utf8"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") return tooLarge;
    return damaged("it cannot be decompressed");
  }
}

/** The control API of a share file: it answers what was recorded, and refuses everything else. */
export function shareApi(file: Uint8Array): Api | Problem {
  const share = openShare(file);
  if (isProblem(share)) return share;
  return {
    call: async (name, input) => share.call(name, input),
    changes: { sequence: () => 0, since: () => [], subscribe: () => () => undefined },
    openApi: () => ({}),
    metrics: () => "",
    beside: () => undefined,
  };
}

type Written = { file: string; bytes: number; messages: number };

export const shareForm = (file: string): "hookyard" | "html" =>
  file.endsWith(".html") ? "html" : "hookyard";

type Place = { file: string; force: boolean };

export async function writeShare({
  lines,
  root,
  ...place
}: Place & { lines: readonly string[]; root: string }): Promise<Written | { wrong: string }> {
  const pages = join(root, "out", "renderer");
  const form = shareForm(place.file);
  if (form === "html" && !hasInspector(pages)) return { wrong: noInspector };
  const content = await shareBytes(lines, form, pages);
  return writeShareBytes({ ...place, content, messages: messagesIn(lines) });
}

/**
 * Only its owner can read it: it holds what users sent. It has its name once it is complete, and
 * what was there stays until then.
 */
export function writeShareBytes({
  file,
  force,
  content,
  messages,
}: Place & { content: Uint8Array; messages: number }): Written | { wrong: string } {
  const part = `${file}.part-${process.pid}`;
  const made = [part];
  try {
    writeFileSync(part, content, { mode: 0o600, flag: "wx" });
    // A rename replaces what is there: without force, an empty file that only this can have made.
    if (!force) {
      closeSync(openSync(file, "wx"));
      made.push(file);
    }
    renameSync(part, file);
  } catch (error) {
    for (const path of made) rmSync(path, { force: true });
    const { code, message } = error as NodeJS.ErrnoException;
    return {
      wrong:
        code === "EEXIST"
          ? `${file} already exists. --force replaces it.`
          : `${file} cannot be written: ${message}`,
    };
  }
  return { file, bytes: content.length, messages };
}

export function writtenText({ file, bytes, messages }: Written): string {
  const count = (n: number): string => n.toLocaleString("en");
  return `${file}: ${count(messages)} ${messages === 1 ? "message" : "messages"}, ${count(bytes)} bytes.`;
}
