/** Reads the messages of an export and hands the file to the browser; one at a time, with its progress, and it can be cancelled. */

import { create } from "zustand";
import type { AnswerOf } from "../../../contract/contract.ts";
import { errorOf } from "../../kit/error-of.ts";
import { CallError, call } from "../../transport/transport.ts";
import { fileNameOf, harOf, ndjsonOf, type ExportKind } from "./export.ts";
import type { ListFilter } from "./list-filter.ts";

type Progress = { done: number; total: number };

type ExportStore = {
  progress: Progress | null;
  error: Error | null;
  exportOne(kind: ExportKind, id: string): Promise<void>;
  /** The newest that match. */
  exportMatching(kind: ExportKind, filter: ListFilter): Promise<void>;
  cancel(): void;
};

/** The whole file is held in the page while it is made. */
export const mostExported = 1000;

/** As many as a browser has connections for, and one to spare. */
const atOnce = 5;

const page = 200;

export const useExport = create<ExportStore>()((set, get) => {
  const run = async (kind: ExportKind, idsOf: () => Promise<string[]>): Promise<void> => {
    if (get().progress !== null) return;
    set({ progress: { done: 0, total: 0 }, error: null });
    try {
      const ids = await idsOf();
      const messages = await read(ids);
      if (messages !== null) await hand(kind, messages);
      set({ progress: null });
    } catch (error) {
      set({ progress: null, error: errorOf(error) });
    }
  };

  /** Null: cancelled. A message that was removed meanwhile is left out. */
  const read = async (ids: readonly string[]): Promise<AnswerOf<"messages.get">[] | null> => {
    const messages: AnswerOf<"messages.get">[] = [];
    for (let from = 0; from < ids.length; from += atOnce) {
      if (get().progress === null) return null;
      set({ progress: { done: from, total: ids.length } });
      const answers = await Promise.all(ids.slice(from, from + atOnce).map((id) => call("messages.get", { id }).catch(goneIsNull)));
      messages.push(...answers.filter((answer) => answer !== null));
    }
    return get().progress === null ? null : messages;
  };

  return {
    progress: null,
    error: null,
    exportOne: (kind, id) => run(kind, async () => [id]),
    exportMatching: (kind, filter) => run(kind, () => newestMatching(filter)),
    cancel: () => set({ progress: null, error: null }),
  };
});

/** The ids of the newest messages that match, as many as are exported. */
export async function newestMatching(filter: ListFilter): Promise<string[]> {
  const ids: string[] = [];
  let cursor: string | null = null;
  do {
    const { items, nextCursor }: AnswerOf<"messages.list"> = await call("messages.list", {
      ...filter,
      limit: page,
      ...(cursor === null ? {} : { cursor }),
    });
    ids.push(...items.map(({ id }) => id));
    cursor = nextCursor;
  } while (cursor !== null && ids.length < mostExported);
  return ids.slice(0, mostExported);
}

function goneIsNull(error: unknown): null {
  if (error instanceof CallError && error.status === 404) return null;
  throw error;
}

async function hand(kind: ExportKind, messages: readonly AnswerOf<"messages.get">[]): Promise<void> {
  const [{ now }, { version }] = await Promise.all([call("clock.get", {}), call("about.get", {})]);
  const text = kind === "ndjson" ? ndjsonOf(messages) : harOf(messages, version);
  const url = URL.createObjectURL(new Blob([text], { type: kind === "ndjson" ? "application/x-ndjson" : "application/json" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = fileNameOf(kind, now);
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(url), 0);
}
