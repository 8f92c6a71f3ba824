/** A list, or another value that is saved as one, whose parts are changed in fields of their own. */

import { useEffect, useState } from "react";
import { type Change, saveQueue } from "./save-queue.ts";
import { recordSaved } from "./undo.ts";

/** `store` resolves to the value as it was saved. It stays the same while this is shown. */
export function useSaves<Value>(saved: Value, store: (value: Value) => Promise<Value>) {
  const [useQueue] = useState(() => saveQueue(saved, store));
  const { pending, arrived, put } = useQueue();
  useEffect(() => arrived(saved), [arrived, saved]);
  return {
    /** With the changes that are being saved. */
    value: pending === null ? saved : pending.value,
    put,
    /** Can be undone once it is saved. */
    save(change: Change<Value>): Promise<void> {
      let [before, after] = [saved, saved];
      const first: Change<Value> = (now) => {
        [before, after] = [now, change(now)];
        return after;
      };
      return recordSaved(() => put(first), {
        undo: () => put(() => before),
        redo: () => put(() => after),
      });
    },
  };
}
