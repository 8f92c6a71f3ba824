/** Runs the action of a button: once at a time, with the sentence of its error. */

import { useEffect, useState } from "react";
import { create, type StoreApi, type UseBoundStore } from "zustand";
import { isNoConnection } from "../transport/call-error.ts";

export type Action = {
  /** Until the next one begins. */
  problem: Error | null;
  isBusy: boolean;
  /**
   * Starts the action. Does nothing while the one with the same name runs: give each action a name
   * of its own, with the id of its thing, so that only a second press of the same button is ignored.
   */
  run(name: string, action: () => Promise<unknown>): void;
  /**
   * A value that was chosen, or a press of which each counts: none is left out. Resolves to whether
   * it succeeded.
   */
  attempt(action: () => Promise<unknown>): Promise<boolean>;
  clear(): void;
};

/** How often the connection came back. */
export const useReturns = create<{ count: number }>()(() => ({ count: 0 }));

export function useAction(): Action {
  const [useStore] = useState(actionStore);
  // What said that Hookyard does not respond is no longer true.
  useEffect(
    () =>
      useReturns.subscribe(() => {
        const { problem, clear } = useStore.getState();
        if (isNoConnection(problem)) clear();
      }),
    [useStore],
  );
  return useStore();
}

export function actionStore(): UseBoundStore<StoreApi<Action>> {
  const underWay = new Set<string>();
  return create<Action>()((set) => {
    const outcome = async (action: () => Promise<unknown>): Promise<boolean> => {
      set({ problem: null });
      try {
        await action();
        return true;
      } catch (raised) {
        set({ problem: errorOf(raised) });
        return false;
      }
    };
    const guarded = async (name: string, action: () => Promise<unknown>): Promise<void> => {
      if (underWay.has(name)) return;
      underWay.add(name);
      set({ isBusy: true });
      await outcome(action);
      underWay.delete(name);
      set({ isBusy: underWay.size > 0 });
    };
    return {
      problem: null,
      isBusy: false,
      run: (name, action) => void guarded(name, action),
      attempt: outcome,
      clear: () => set({ problem: null }),
    };
  });
}

/** Whatever was thrown, as what has a sentence. */
export const errorOf = (raised: unknown): Error =>
  raised instanceof Error ? raised : new Error(String(raised));
