/**
 * The requests that the ingest port refused, for the user who asks why nothing arrives. Equal ones
 * are one entry with a count. In memory, and in the store while Hookyard does not run: a flood of
 * refused requests writes nothing (docs/decisions/0025).
 */

import { adviceFor, recognise, type ClientLibrary } from "../../domain/client-libraries.ts";
import type { Source } from "../../domain/configuration.ts";
import { refusedRequestIds, type RefusedRequestId, type SourceId } from "../../domain/ids.ts";
import type { Problem } from "../../domain/problem.ts";
import type { Changes, RefusedRequest, RefusedRequests } from "../pipeline.ts";
import type { RefusedStore, StoredRefusal } from "../store-ports.ts";

/** As many mistakes as anybody reads. */
const maxEntries = 200;
/** With their longest texts, as many entries stay far below the 1 MB of an answer. */
const maxBytes = 128 * 1024;
/** What an entry takes beside its texts. */
const entryBytes = 200;

const maxPathLength = 200;
const maxMessageLength = 400;
const maxKeyLength = 60;
/** A body names its library in its first message, if it does. */
const maxBodySearched = 64 * 1024;

/** A request, or what arrived instead of one: then it has no method and no path. */
export type Refused = {
  problem: Problem;
  address: string | null;
  method?: string | undefined;
  url?: string | undefined;
  userAgent?: string | undefined;
  body?: Uint8Array | null;
  writeKey?: string | null;
  sourceId?: SourceId | null;
  /** The status of the answer, when it is not the problem's; null when there is no answer. */
  status?: number | null;
};

type RefusedOptions = {
  store: RefusedStore;
  now: () => number;
  changes: Changes;
  configuration: { sources(): Source[]; source(id: SourceId): Source | undefined };
  ingestUrl: () => string;
  report: (error: unknown) => void;
};

/** Stands in until there is a source. */
const exampleKey = "WRITE_KEY";

export function createRefusedRequests({
  store,
  now,
  changes,
  configuration,
  ingestUrl,
  report,
}: RefusedOptions): RefusedRequests & { note(refused: Refused): void; save(): void } {
  /** By what makes two equal; the one that was refused last is the last. */
  const entries = new Map<string, StoredRefusal>();
  let bytes = 0;
  let lastId = 0;
  let dropped = 0;
  let isSaved = true;
  for (const entry of store.refusedRequests()) {
    keep(entry);
    lastId = Math.max(lastId, entry.id);
  }

  function keep(entry: StoredRefusal): void {
    const key = equalityOf(entry);
    const before = entries.get(key);
    if (before !== undefined) {
      bytes -= sizeOf(before);
      entries.delete(key);
    }
    entries.set(key, entry);
    bytes += sizeOf(entry);
    for (const [oldKey, old] of entries) {
      if (entries.size <= maxEntries && bytes <= maxBytes) break;
      entries.delete(oldKey);
      bytes -= sizeOf(old);
      dropped += 1;
    }
  }

  function shown(entry: StoredRefusal): RefusedRequest {
    const source = entry.sourceId === null ? undefined : configuration.source(entry.sourceId);
    const any = source ?? configuration.sources().find(({ kind }) => kind !== "audience");
    const place = { ingestUrl: ingestUrl(), writeKey: any?.writeKey ?? exampleKey };
    return { ...entry, ...adviceFor(entry.code, entry.library.id, place) };
  }

  return {
    note({ problem: { code, message, status: problemStatus }, ...refused }) {
      const {
        address,
        method = null,
        url,
        body = null,
        writeKey = null,
        sourceId = null,
      } = refused;
      const text =
        body === null ? null : Buffer.from(body.subarray(0, maxBodySearched)).toString("utf8");
      const at = now();
      const path = url === undefined ? null : cut(url.replace(/\?.*/s, ""), maxPathLength);
      const library = recognise(refused.userAgent ?? null, text);
      const entry: StoredRefusal = {
        id: (lastId + 1) as RefusedRequestId,
        firstAt: at,
        lastAt: at,
        count: 1,
        address,
        method: method === null ? null : cut(method, maxKeyLength),
        path,
        library,
        status: refused.status === undefined ? problemStatus : refused.status,
        code,
        message: cut(message, maxMessageLength),
        writeKey: writeKey === null ? null : cut(writeKey, maxKeyLength),
        sourceId,
      };
      const before = entries.get(equalityOf(entry));
      if (before === undefined) lastId += 1;
      isSaved = false;
      keep(
        before === undefined
          ? entry
          : { ...entry, id: before.id, firstAt: before.firstAt, count: before.count + 1 },
      );
      changes.note("refused", refusedRequestIds.format(before?.id ?? entry.id), true);
    },
    list: () => ({ items: [...entries.values()].toReversed().map(shown), dropped }),
    clear() {
      const count = entries.size;
      entries.clear();
      bytes = 0;
      dropped = 0;
      store.saveRefusedRequests([]);
      isSaved = true;
      changes.note("refused", null);
      return count;
    },
    save() {
      if (isSaved) return;
      try {
        store.saveRefusedRequests([...entries.values()]);
      } catch (error) {
        report(error);
      }
    },
  };
}

/** The same path, the same reason, the same library. */
function equalityOf({ path, status, code, library }: StoredRefusal): string {
  return JSON.stringify([path, status, code, nameOf(library)]);
}

function nameOf({ name, version }: ClientLibrary): string {
  return version === null ? name : `${name} ${version}`;
}

function sizeOf({ path, message, writeKey, method, library }: StoredRefusal): number {
  const texts = [path, message, writeKey, method, nameOf(library)];
  return entryBytes + texts.reduce((sum, text) => sum + 2 * (text?.length ?? 0), 0);
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}
