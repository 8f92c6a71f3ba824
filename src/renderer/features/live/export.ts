/**
 * Reads the messages of an export and hands the file to the browser, or replays messages, with its
 * progress. One at a time: the next one waits for its turn. Cancel ends those that wait as well.
 */

import { create } from "zustand";
import type { AnswerOf } from "../../../contract/contract.ts";
import {
  ingestHeadersWithoutCredentials,
  urlWithoutCredentials,
} from "../../../domain/credentials.ts";
import type { MenuItem } from "../../kit/floats.tsx";
import { errorOf, useReturns } from "../../kit/use-action.ts";
import { count } from "../../kit/words.ts";
import { call, callUnmasked } from "../../transport/transport.ts";
import { attemptWithoutCredentials, harOfAttempts } from "../details/copy-as.ts";
import { withAllBytes } from "../details/left-out.ts";
import type { ListFilter } from "./filter-text.ts";
import { CallError, isNoConnection } from "../../transport/call-error.ts";

type Progress = { does: "Exporting" | "Replaying"; done: number; total: number };

type ExportStore = {
  progress: Progress | null;
  /** How many begin after the one that runs. */
  waiting: number;
  error: Error | null;
  exportThese(kind: ExportKind, ids: readonly string[]): Promise<void>;
  /** The newest that match. */
  exportMatching(kind: ExportKind, filter: ListFilter): Promise<void>;
  /** In the order in which they came. */
  replayThese(ids: readonly string[]): Promise<void>;
  cancel(): void;
};

/** The page builds the whole file in memory. */
const maxExported = 1000;

/** It is gone, or cannot be replayed: that says nothing about the others. */
const refusesOne: ReadonlySet<number> = new Set([404, 409]);

/** As many as a browser has connections for, and one to spare. */
const atOnce = 5;

const page = 200;

export const useExport = create<ExportStore>()((set) => {
  useReturns.subscribe(() => {
    set(({ error }) => (isNoConnection(error) ? { error: null } : {}));
  });
  let last = Promise.resolve();
  let cancels = 0;

  /** Does the work once those before it have ended. It is cancelled when `isOver` says so. */
  const inTurn = (work: (isOver: () => boolean) => Promise<void>): Promise<void> => {
    const asked = cancels;
    const isOver = (): boolean => cancels !== asked;
    const turn = async (): Promise<void> => {
      if (isOver()) return;
      set(({ waiting }) => ({ waiting: waiting - 1 }));
      try {
        await work(isOver);
        if (!isOver()) set({ progress: null });
      } catch (error) {
        if (!isOver()) set({ progress: null, error: errorOf(error) });
      }
    };
    set(({ waiting }) => ({ waiting: waiting + 1 }));
    last = last.then(turn);
    return last;
  };

  const run = (kind: ExportKind, idsOf: () => Promise<string[]>): Promise<void> =>
    inTurn(async (isOver) => {
      set({ progress: { does: "Exporting", done: 0, total: 0 }, error: null });
      const messages = await read(await idsOf(), isOver);
      if (messages !== null) await hand(kind, messages);
    });

  /** Null: cancelled. A message that was removed meanwhile is left out. */
  const read = async (
    ids: readonly string[],
    isOver: () => boolean,
  ): Promise<AnswerOf<"messages.get">[] | null> => {
    const messages: AnswerOf<"messages.get">[] = [];
    for (let from = 0; from < ids.length; from += atOnce) {
      if (isOver()) return null;
      set({ progress: { does: "Exporting", done: from, total: ids.length } });
      const answers = await Promise.all(
        ids.slice(from, from + atOnce).map((id) =>
          callUnmasked("messages.get", { id })
            .then((message) => withAllBytes(message, callUnmasked))
            .catch(goneIsNull),
        ),
      );
      messages.push(...answers.filter((answer) => answer !== null));
    }
    return isOver() ? null : messages;
  };

  return {
    progress: null,
    waiting: 0,
    error: null,
    exportThese: (kind, ids) => run(kind, async () => [...ids]),
    exportMatching: (kind, filter) => run(kind, () => newestMatching(filter)),
    replayThese: (ids) =>
      inTurn(async (isOver) => {
        set({ error: null });
        let refusal: Error | null = null;
        let replayed = 0;
        for (const [done, id] of [...ids].sort().entries()) {
          if (isOver()) return;
          set({ progress: { does: "Replaying", done, total: ids.length } });
          try {
            await call("messages.replay", { id });
            replayed += 1;
          } catch (error) {
            if (ids.length === 1) throw error;
            if (!(error instanceof CallError && refusesOne.has(error.status)))
              throw new Error(
                `${count(replayed)} of ${count(ids.length)} messages were replayed. ${errorOf(error).message}`,
                { cause: error },
              );
            refusal ??= error;
          }
        }
        if (refusal !== null)
          throw new Error(
            `${count(replayed)} replayed, ${count(ids.length - replayed)} left out: ${refusal.message}`,
          );
      }),
    cancel() {
      cancels += 1;
      set({ progress: null, waiting: 0, error: null });
    },
  };
});

/** The ids of the newest messages that match, as many as are exported. */
async function newestMatching(filter: ListFilter): Promise<string[]> {
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
  } while (cursor !== null && ids.length < maxExported);
  return ids.slice(0, maxExported);
}

function goneIsNull(error: unknown): null {
  if (error instanceof CallError && error.status === 404) return null;
  throw error;
}

async function hand(
  kind: ExportKind,
  messages: readonly AnswerOf<"messages.get">[],
): Promise<void> {
  const [{ now }, { version }] = await Promise.all([call("clock.get", {}), call("about.get", {})]);
  const text = kind === "ndjson" ? ndjsonOf(messages) : harOf(messages, version);
  const url = URL.createObjectURL(
    new Blob([text], { type: kind === "ndjson" ? "application/x-ndjson" : "application/json" }),
  );
  const link = document.createElement("a");
  link.href = url;
  link.download = fileNameOf(kind, now);
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(url), 0);
}

type ExportKind = "ndjson" | "har";
type Message = AnswerOf<"messages.get">;

/**
 * Each line is a message as `GET /api/messages/{id}` answers it, without credentials: what came,
 * what was decided, what was sent and answered.
 */
export function ndjsonOf(messages: readonly Message[]): string {
  return messages.map((message) => `${JSON.stringify(withoutCredentials(message))}\n`).join("");
}

/** Files are handed on to others. */
function withoutCredentials(message: Message): Message {
  const headers = ingestHeadersWithoutCredentials(message.request.headers);
  const deliveries = message.deliveries.map((delivery) => ({
    ...delivery,
    ...(delivery.url === undefined ? {} : { url: urlWithoutCredentials(delivery.url) }),
    attempts: delivery.attempts.map(attemptWithoutCredentials),
  }));
  return { ...message, request: { ...message.request, headers }, deliveries };
}

/** The attempts of all of them, in the order in which they were made. */
export function harOf(messages: readonly Message[], version: string): string {
  const attempts = messages.flatMap(({ deliveries }) =>
    deliveries.flatMap((delivery) => delivery.attempts),
  );
  attempts.sort((a, b) =>
    a.startedAt < b.startedAt ? -1 : a.startedAt > b.startedAt ? 1 : a.id < b.id ? -1 : 1,
  );
  return harOfAttempts(attempts, version);
}

/** `hookyard-2026-11-21T16-47-32.har`: no character that a file system refuses. */
export function fileNameOf(kind: ExportKind, at: string): string {
  return `hookyard-${at.slice(0, 19).replaceAll(":", "-")}.${kind}`;
}

/** Makes a scenario of messages; `which` tells one choice of them from another. */
export type OnRecord = (which: string, idsOf: () => Promise<readonly string[]>) => void;

type ExportOptions = {
  selected: readonly string[];
  filter: ListFilter | null;
  onRecord: OnRecord;
  /** Shares these, or those that match. */
  onShare: (ids: readonly string[] | null) => void;
};

/** The entries of the export menu. */
export function exportItems({ selected, filter, onRecord, onShare }: ExportOptions): MenuItem[] {
  const { exportThese, exportMatching } = useExport.getState();
  const which =
    filter !== null && Object.keys(filter).length === 0
      ? `The newest ${count(maxExported)} messages`
      : `Matching messages, up to ${count(maxExported)}`;
  const those =
    selected.length > 1
      ? `The ${count(selected.length)} selected messages`
      : "The selected message";
  const items = (["ndjson", "har"] as const).map((kind) => ({
    kind,
    as: kind === "har" ? "as HAR" : "as NDJSON",
  }));
  return [
    ...items.map(({ kind, as }) => ({
      label: `${those} ${as}`,
      icon: "save" as const,
      disabled: selected.length === 0,
      onSelect: () => void exportThese(kind, selected),
    })),
    "line",
    ...items.map(({ kind, as }) => ({
      label: `${which}, ${as}`,
      icon: "save" as const,
      disabled: filter === null,
      onSelect: () => void (filter === null ? null : exportMatching(kind, filter)),
    })),
    "line",
    {
      label: `A scenario of ${those.charAt(0).toLowerCase()}${those.slice(1)}`,
      icon: "scenarios",
      disabled: selected.length === 0,
      onSelect: () => onRecord(selected.join(" "), async () => selected),
    },
    {
      label: `A scenario of ${which.charAt(0).toLowerCase()}${which.slice(1)}`,
      icon: "scenarios",
      disabled: filter === null,
      onSelect: () =>
        filter === null
          ? undefined
          : onRecord(JSON.stringify(filter), () => newestMatching(filter)),
    },
    "line",
    {
      label: `${those} as a share file…`,
      icon: "forward",
      disabled: selected.length === 0,
      onSelect: () => onShare(selected),
    },
    {
      label: "Matching messages as a share file…",
      icon: "forward",
      disabled: filter === null,
      onSelect: () => onShare(null),
    },
  ];
}
