/**
 * A value whose changes are shown at once, and saved one after the other: two requests may arrive
 * in either order. Each change builds on the one before, though its answer has not come yet.
 */

import { create, type StoreApi, type UseBoundStore } from "zustand";

export type Change<Value> = (before: Value) => Value;

type SaveQueue<Value> = {
  /** What was changed, until it is saved and has come back, or is refused. */
  pending: { value: Value } | null;
  /** What the API says now. */
  arrived(saved: Value): void;
  /** Rejects with what the API says. */
  put(change: Change<Value>): Promise<void>;
};

/** `store` resolves to the value as it was saved. */
export function saveQueue<Value>(
  first: Value,
  store: (value: Value) => Promise<Value>,
): UseBoundStore<StoreApi<SaveQueue<Value>>> {
  let saved = first;
  /** The newest that was saved here and has not come back. */
  let answered: { value: Value } | null = null;
  /** Saved values that were replaced here: an answer that was under way may still bring one. */
  const replaced = new Set<string>();
  let saving = 0;
  let queue: Promise<unknown> = Promise.resolve();

  return create<SaveQueue<Value>>()((set, get) => {
    const settle = (): void => {
      if (saving > 0 || (answered !== null && replaced.has(JSON.stringify(saved)))) return;
      answered = null;
      replaced.clear();
      set({ pending: null });
    };
    const send = async (next: { value: Value }): Promise<void> => {
      const before = [saved, ...(answered === null ? [] : [answered.value])];
      const value = await store(next.value);
      for (const old of before) replaced.add(JSON.stringify(old));
      replaced.delete(JSON.stringify(value));
      answered = { value };
      if (get().pending === next) set({ pending: answered });
    };
    return {
      pending: null,
      arrived(now) {
        saved = now;
        settle();
      },
      async put(change) {
        const next = { value: change((get().pending ?? { value: saved }).value) };
        set({ pending: next });
        saving += 1;
        const sent = queue.then(() => send(next));
        queue = sent.catch(() => undefined);
        try {
          await sent;
        } catch (error) {
          if (get().pending === next) set({ pending: answered });
          throw error;
        } finally {
          saving -= 1;
          settle();
        }
      },
    };
  });
}
