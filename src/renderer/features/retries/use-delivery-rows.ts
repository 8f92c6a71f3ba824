/** The rows of the Retries view as React sees them: one stretch of rows per state and destination. */

import { useEffect, useReducer, useState } from "react";
import type { DeliveryState } from "../../../domain/states.ts";
import { useFeed } from "../../stores/live-data.ts";
import { call } from "../../transport/transport.ts";
import { createDeliveryRows, type DeliveryRows } from "./delivery-rows.ts";

type RowFilter = { state: DeliveryState; destinationId: string | null };

/** Null: nothing has been read yet. */
export function useDeliveryRows({ state, destinationId }: RowFilter): DeliveryRows | null {
  const key = `${state} ${destinationId ?? ""}`;
  const [shown, setShown] = useState<{ key: string; rows: DeliveryRows } | null>(null);
  const [, drawAgain] = useReducer((n: number) => n + 1, 0);
  useEffect(() => {
    const isDue = state === "waiting";
    const filter = { state, ...(destinationId === null ? {} : { destinationId }) };
    const rows = createDeliveryRows({
      read: (page) => call("deliveries.list", { ...filter, order: isDue ? "due" : "newest", ...page }),
      cursorAfter: ({ id, nextAttemptAt }) => (isDue ? `${nextAttemptAt}/${id}` : id),
      later(ms, run) {
        const timer = window.setTimeout(run, ms);
        return () => window.clearTimeout(timer);
      },
      onChange() {
        setShown({ key, rows });
        drawAgain();
      },
    });
    const stopHearing = useFeed.subscribe(({ changes, missed }, before) => {
      const isTouched = changes !== before.changes && changes.some(({ area }) => area === "deliveries" || area === "messages");
      if (isTouched || missed !== before.missed) rows.change();
    });
    return () => {
      stopHearing();
      rows.stop();
    };
  }, [key, state, destinationId]);
  return shown?.key === key ? shown.rows : null;
}
