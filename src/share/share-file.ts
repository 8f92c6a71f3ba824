/**
 * Collects a share file over the contract, writes it compressed or as a page that stands alone, and
 * opens one. `hookyard share`, `hookyard run --share` and `hookyard NAME.hookyard` use it.
 */

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import type { Api } from "../api/api.ts";
import type { AnswerOf } from "../contract/contract.ts";
import { embeddedShareId, readShare, sharedCalls, type ShareHead } from "../contract/share.ts";
import { isProblem, problem, type Problem } from "../domain/problem.ts";
import type { Pipeline } from "../engine/pipeline.ts";
import { cleaner, secretTexts } from "./without-secrets.ts";

/** More would not be a file that somebody opens in a second. */
const maxMessages = 10_000;

/** A compressed file can claim to be far larger than it is. */
const maxBytes = 1_000_000_000;

export type ShareOptions = {
  api: Pick<Api, "call">;
  pipeline: Pick<Pipeline, "configuration" | "clients">;
  version: string;
  savedAt: string;
  secrets: boolean;
  redact: readonly string[];
  /** In the language of the filter. */
  filter: string;
};

/** The lines of a share file, the newest message first; a `Problem` when the filter is wrong. */
export async function collectShare(options: ShareOptions): Promise<string | Problem> {
  const { api, pipeline, version, savedAt, secrets, redact, filter } = options;
  const { configuration, clients } = pipeline;
  const known = secrets
    ? []
    : secretTexts({
        sources: configuration.sources(),
        destinations: configuration.destinations(),
        clients: clients.list(),
        tokens: [],
      });
  const clean = secrets && redact.length === 0 ? (value: unknown) => value : cleaner(known, redact);
  const answers: Record<string, unknown> = {};
  for (const name of sharedCalls) answers[name] = (await api.call(name, {})).body;
  (answers["about.get"] as AnswerOf<"about.get">).dataDir = null;
  // Nothing goes on in a record.
  Object.assign(answers["clock.get"] as object, { mode: "paused", speed: 1, advance: null });
  const lines: string[] = [];
  let cursor: string | undefined;
  while (lines.length < 2 * maxMessages) {
    const { status, body } = await api.call("messages.list", {
      limit: 1000,
      ...(filter === "" ? {} : { filter }),
      ...(cursor === undefined ? {} : { cursor }),
    });
    if (status >= 400) return problem(status, "invalid", (body as { message: string }).message);
    const { items, nextCursor } = body as AnswerOf<"messages.list">;
    for (const item of items.slice(0, maxMessages - lines.length / 2)) {
      const details = await api.call("messages.get", { id: item.id });
      lines.push(JSON.stringify(clean(item)), JSON.stringify(clean(details.body)));
    }
    if (nextCursor === null) break;
    cursor = nextCursor;
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
  const stats = answers["stats.get"] as AnswerOf<"stats.get">;
  stats.messages.total = head.messages;
  return [JSON.stringify(head), JSON.stringify(clean(answers)), ...lines].join("\n");
}

export const compressed = (lines: string): Uint8Array => gzipSync(lines);

/** What `readShare` answers from, or why the file cannot be opened. */
export function openShare(file: Uint8Array): ReturnType<typeof readShare> {
  if (file[0] !== 0x1f || file[1] !== 0x8b) return readShare("");
  try {
    return readShare(gunzipSync(file, { maxOutputLength: maxBytes }).toString("utf8"));
  } catch {
    return problem(
      400,
      "share_damaged",
      "This share file is damaged: it cannot be decompressed. Ask for it again, as it was sent.",
    );
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

/**
 * The inspector and the share file in one page that needs no Hookyard and no network. Its policy
 * allows its one script by its digest; the data is base64, so that nothing in it can be markup.
 */
export function sharePage(lines: string, root: string): string {
  const directory = join(root, "out", "renderer");
  const index = readFileSync(join(directory, "index.html"), "utf8");
  const read = (pattern: RegExp): string => {
    const name = pattern.exec(index)?.[1];
    if (name === undefined) throw new Error("the inspector's page has no script or no style");
    return readFileSync(join(directory, name), "utf8");
  };
  const script = read(/<script[^>]* src="\.\/([^"]+)"/).replaceAll(/<\/(script)/gi, "<\\/$1");
  const style = read(/<link rel="stylesheet"[^>]* href="\.\/([^"]+)"/).replaceAll("</", "<\\/");
  const digest = createHash("sha256").update(script).digest("base64");
  const policy = `default-src 'none'; script-src 'sha256-${digest}'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'`;
  const data = Buffer.from(compressed(lines)).toString("base64");
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Hookyard, shared</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<div id="root"></div>
<script type="application/gzip" id="${embeddedShareId}">${data}</script>
<script type="module">${script}</script>
</body>
</html>
`;
}
