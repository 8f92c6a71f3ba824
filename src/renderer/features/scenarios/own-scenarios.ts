/**
 * Scenario files that the user has opened, recorded or written here; they stay in this browser
 * until they are saved elsewhere.
 */

import { create } from "zustand";
import { usePlace } from "../../stores/place.ts";
import { call } from "../../transport/transport.ts";

const key = "hookyard.scenarios";

export type OwnScenario = {
  id: string;
  text: string;
  /** What could not be recorded as it was. */
  notes: readonly string[];
};

type OwnScenarios = {
  items: readonly OwnScenario[];
  /** What this browser refused to keep: there is no room for it. */
  error: Error | null;
  /** Returns its id. */
  add(text: string, notes?: readonly string[]): string;
  change(id: string, text: string): void;
  remove(id: string): void;
};

function isOwn(value: unknown): value is OwnScenario {
  const { id, text, notes } = (value ?? {}) as Partial<OwnScenario>;
  return (
    typeof id === "string" &&
    typeof text === "string" &&
    Array.isArray(notes) &&
    notes.every((note) => typeof note === "string")
  );
}

function stored(): OwnScenario[] {
  try {
    const value: unknown = JSON.parse(window.localStorage.getItem(key) ?? "[]");
    return Array.isArray(value) ? value.filter(isOwn) : [];
  } catch {
    return [];
  }
}

export const useOwnScenarios = create<OwnScenarios>()((set, get) => {
  const keep = (items: readonly OwnScenario[]): void => {
    try {
      window.localStorage.setItem(key, JSON.stringify(items));
      set({ items, error: null });
    } catch {
      set({
        items,
        error: new Error(
          "The browser’s storage is full, so this scenario was not stored. Save it as a file before you leave this page.",
        ),
      });
    }
  };
  return {
    items: stored(),
    error: null,
    add(text, notes = []) {
      const { items } = get();
      const last = items.reduce((most, { id }) => Math.max(most, Number(id.slice(4)) || 0), 0);
      const id = `own-${last + 1}`;
      keep([...items, { id, text, notes }]);
      return id;
    },
    change: (id, text) =>
      keep(get().items.map((item) => (item.id === id ? { ...item, text } : item))),
    remove: (id) => keep(get().items.filter((item) => item.id !== id)),
  };
});

/** Makes a scenario of messages of the list, keeps it with the user's own and opens it. */
export async function recordScenario(idsOf: () => Promise<readonly string[]>): Promise<void> {
  const messageIds = [...(await idsOf())];
  if (messageIds.length === 0) throw new Error("There are no messages to record.");
  const { text, notes } = await call("scenarios.record", { messageIds });
  const id = useOwnScenarios.getState().add(text, notes);
  usePlace.getState().go({ view: "scenarios", path: ["own", id] });
}
