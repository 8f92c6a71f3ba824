/**
 * A value whose changes are shown at once, and saved one after the other: two requests may arrive
 * in either order. Each change builds on the one before, though its answer has not come yet, and
 * without it when it is refused.
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

type Waiting<Value> = { change: Change<Value> };

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
  /** What has not been answered yet, and what the first of them changes. */
  let waiting: readonly Waiting<Value>[] = [];
  let base = first;
  let queue: Promise<unknown> = Promise.resolve();

  return create<SaveQueue<Value>>()((set) => {
    const show = (): void =>
      set({
        pending:
          waiting.length === 0
            ? answered
            : { value: waiting.reduce((value, { change }) => change(value), base) },
      });
    const settle = (): void => {
      if (waiting.length > 0 || (answered !== null && replaced.has(JSON.stringify(saved)))) return;
      answered = null;
      replaced.clear();
      set({ pending: null });
    };
    const send = async (next: Waiting<Value>): Promise<void> => {
      const before = [saved, ...(answered === null ? [] : [answered.value])];
      try {
        const value = await store(next.change(base));
        for (const old of before) replaced.add(JSON.stringify(old));
        replaced.delete(JSON.stringify(value));
        answered = { value };
        base = value;
      } finally {
        waiting = waiting.filter((each) => each !== next);
        show();
        settle();
      }
    };
    return {
      pending: null,
      arrived(now) {
        saved = now;
        settle();
      },
      async put(change) {
        if (waiting.length === 0) base = (answered ?? { value: saved }).value;
        const next = { change };
        waiting = [...waiting, next];
        show();
        const sent = queue.then(() => send(next));
        queue = sent.catch(() => undefined);
        await sent;
      },
    };
  });
}
