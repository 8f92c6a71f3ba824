/**
 * The deliveries of the Retries view. The list comes in pages and is read anew while it changes; what a row shows beside
 * it is read for the rows on the screen only, and forgotten with them.
 */

import { useEffect, useRef, useState } from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
import type { DeliveryState, MessageType } from "../../../domain/states.ts";
import { useFeed } from "../../stores/live-data.ts";
import { call } from "../../transport/transport.ts";
import { roundMarks, type RoundMark } from "./lane-marks.ts";

export type DeliveryRow = AnswerOf<"deliveries.list">["items"][number];
type RowFilter = { state: DeliveryState; destinationId: string | null };
type DeliveryRows = { rows: DeliveryRow[]; total: number; error: Error | null; isReady: boolean };

const pageSize = 500;

/** The list is sorted here, by due time, so that all of it has to be here; more than this nobody looks through. */
export const mostRows = 2000;

/** Between two readings of a list that changes all the time. */
const pauseMs = 400;

const nothing: DeliveryRows = { rows: [], total: 0, error: null, isReady: false };

export function useDeliveryRows({ state, destinationId }: RowFilter): DeliveryRows {
  const [answer, setAnswer] = useState({ key: "", ...nothing });
  const key = `${state} ${destinationId ?? ""}`;
  useEffect(() => {
    let stopped = false;
    let running = false;
    let again = false;
    let timer = 0;
    const load = async (): Promise<void> => {
      running = true;
      try {
        const rows: DeliveryRow[] = [];
        let total = 0;
        let cursor: string | undefined;
        do {
          const page = await call("deliveries.list", {
            state,
            limit: pageSize,
            ...(destinationId === null ? {} : { destinationId }),
            ...(cursor === undefined ? {} : { cursor }),
          });
          rows.push(...page.items);
          total = page.total;
          cursor = page.nextCursor ?? undefined;
        } while (cursor !== undefined && rows.length < mostRows && !stopped);
        if (!stopped) setAnswer({ key, rows: inOrder(rows), total, error: null, isReady: true });
      } catch (error) {
        if (!stopped) setAnswer((before) => ({ ...before, key, error: error instanceof Error ? error : new Error(String(error)) }));
      }
      running = false;
      timer = window.setTimeout(() => {
        timer = 0;
        if (again && !stopped) start();
      }, pauseMs);
    };
    const start = (): void => {
      again = false;
      void load();
    };
    const change = (): void => {
      again = true;
      if (!running && timer === 0) start();
    };
    start();
    const unsubscribe = useFeed.subscribe(({ changes, connection }, before) => {
      const isBack = connection === "connected" && before.connection !== "connected";
      if (isBack || (changes !== before.changes && changes.some(({ area }) => area === "deliveries" || area === "messages"))) change();
    });
    return () => {
      stopped = true;
      window.clearTimeout(timer);
      unsubscribe();
    };
  }, [key, state, destinationId]);
  return answer.key === key ? answer : nothing;
}

/** By due time; what is not due stays as it came, the newest first. */
function inOrder(rows: DeliveryRow[]): DeliveryRow[] {
  return rows.sort((a, b) => (a.nextAttemptAt ?? "").localeCompare(b.nextAttemptAt ?? ""));
}

export type RowDetails = { type: MessageType | null; event: string | null; userId: string | null; marks: RoundMark[] };

/** At once, so that scrolling does not wait behind rows that have left. */
const mostReading = 4;

/** Of the rows on the screen, by the delivery's id; each is read again when its delivery has moved. */
export function useRowDetails(shown: readonly DeliveryRow[]): ReadonlyMap<string, RowDetails> {
  const [details, setDetails] = useState<ReadonlyMap<string, RowDetails>>(new Map());
  const read = useRef(new Map<string, { version: string; details: RowDetails | null }>());
  const wanted = useRef<readonly DeliveryRow[]>([]);
  const reading = useRef(0);
  wanted.current = shown;
  const version = (row: DeliveryRow): string => `${row.state} ${row.rounds}`;
  const key = shown.map((row) => `${row.id} ${version(row)}`).join();

  useEffect(() => {
    const known = read.current;
    const next = async (): Promise<void> => {
      const row = wanted.current.find((each) => known.get(each.id)?.version !== version(each));
      if (row === undefined || reading.current >= mostReading) return;
      reading.current += 1;
      const before = known.get(row.id)?.details ?? null;
      known.set(row.id, { version: version(row), details: before });
      try {
        known.set(row.id, { version: version(row), details: await readDetails(row) });
      } catch {
        // Gone with its message, or no answer: the row stays as it is until the list is read again.
      }
      reading.current -= 1;
      setDetails(new Map([...known].flatMap(([id, { details }]) => (details === null ? [] : [[id, details] as const]))));
      void next();
    };
    const ids = new Set(wanted.current.map(({ id }) => id));
    for (const id of known.keys()) if (!ids.has(id)) known.delete(id);
    for (let place = reading.current; place < mostReading; place++) void next();
  }, [key]);
  return details;
}

async function readDetails(row: DeliveryRow): Promise<RowDetails> {
  const { type, event, userId, deliveries } = await call("messages.get", { id: row.messageRowId });
  return { type, event, userId, marks: roundMarks(deliveries.find(({ id }) => id === row.id)?.attempts ?? []) };
}
