/**
 * The rows of the list as React sees them: one window of rows per filter, fed by the stream of
 * changes.
 */

import { useEffect, useReducer, useRef, useState } from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
import { pageTime } from "../../kit/paced-reader.ts";
import { useFeed } from "../../stores/live-data.ts";
import { call } from "../../transport/transport.ts";
import type { ListFilter } from "./filter-text.ts";
import { createMessageRows, type MessageRows } from "./message-rows.ts";

type MessageRowsInput = { filter: ListFilter; matchesLater: boolean; isTimed: boolean };

/** A whole page, also where large messages make the API answer in several. */
async function readPage({
  limit,
  ...input
}: ListFilter & { limit: number; cursor?: string }): Promise<AnswerOf<"messages.list">> {
  const first = await call("messages.list", { ...input, limit });
  if (first.nextCursor === null || first.items.length >= limit) return first;
  const rest = await readPage({
    ...input,
    limit: limit - first.items.length,
    cursor: first.nextCursor,
  });
  return { ...first, items: [...first.items, ...rest.items], nextCursor: rest.nextCursor };
}

/** Null: ask nothing. The rows of the filter before stay until those of the new one are there. */
export function useMessageRows(
  input: MessageRowsInput | null,
  total: number | undefined,
): MessageRows | null {
  const [shown, setShown] = useState<MessageRows | null>(null);
  const [, rerender] = useReducer((n: number) => n + 1, 0);
  const key = input === null ? null : JSON.stringify(input.filter);

  const latestTotal = useRef(total);
  latestTotal.current = total;
  useEffect(() => {
    if (total !== undefined) shown?.totalIs(total);
  }, [shown, total]);

  useEffect(() => {
    if (input === null) return undefined;
    const { filter, matchesLater, isTimed } = input;
    const rows = createMessageRows({
      read: (page) => readPage({ ...filter, ...page }),
      readUnfiltered: readPage,
      isFiltered: Object.keys(filter).length > 0,
      matchesLater,
      ...pageTime,
      onChange() {
        if (rows.loaded() || rows.error() !== null) setShown(rows);
        rerender();
      },
    });
    if (latestTotal.current !== undefined) rows.totalIs(latestTotal.current);
    const unsubscribe = useFeed.subscribe(({ changes, missed }, before) => {
      const hasMoved = isTimed && changes.some(({ area }) => area === "clock");
      if (missed !== before.missed || (changes !== before.changes && hasMoved)) rows.readAgain();
      if (changes !== before.changes) rows.applyChanges(changes);
    });
    return () => {
      unsubscribe();
      rows.stop();
    };
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- the key stands for the input
  }, [key]);

  return shown;
}
