/**
 * Scenario files that the user has opened, recorded or written here; they stay in this browser
 * until they are saved elsewhere.
 */

import { create } from "zustand";
import { keptList } from "../../stores/kept-list.ts";
import { goOnceAnswered } from "../../stores/place.ts";
import { unmasked } from "../../transport/secrets.ts";
import { call } from "../../transport/transport.ts";

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

function ownOf(value: unknown): OwnScenario | null {
  const { id, text, notes } = (value ?? {}) as Partial<OwnScenario>;
  return typeof id === "string" &&
    typeof text === "string" &&
    Array.isArray(notes) &&
    notes.every((note) => typeof note === "string")
    ? { id, text, notes }
    : null;
}

/**
 * Never one that a deleted scenario had: runs are known by it. Browsers have `randomUUID` for HTTPS
 * and this machine only.
 */
const newOwnId = (): string =>
  `own-${[...window.crypto.getRandomValues(new Uint32Array(2))].map((part) => part.toString(36)).join("")}`;

const noRoom = new Error(
  "The browser’s storage is full, so this scenario was not stored. Save it as a file before you leave this page.",
);

export const useOwnScenarios = create<OwnScenarios>()((set) => {
  const list = keptList("hookyard.scenarios", ownOf, (items, isFull) =>
    set({ items, error: isFull ? noRoom : null }),
  );
  return {
    items: list.read(),
    error: null,
    add(text, notes = []) {
      const id = newOwnId();
      list.change((items) => [...items, unmasked({ id, text, notes })]);
      return id;
    },
    change: (id, text) =>
      list.change((items) =>
        items.map((item) => (item.id === id ? unmasked({ ...item, text }) : item)),
      ),
    remove: (id) => list.change((items) => items.filter((item) => item.id !== id)),
  };
});

/** Makes a scenario of messages of the list, keeps it with the user's own and opens it. */
export function recordScenario(idsOf: () => Promise<readonly string[]>): Promise<void> {
  const record = async (): Promise<string> => {
    const messageIds = [...(await idsOf())];
    if (messageIds.length === 0) throw new Error("There are no messages to record.");
    const { text, notes } = await call("scenarios.record", { messageIds });
    return useOwnScenarios.getState().add(text, notes);
  };
  return goOnceAnswered(record(), (id) => ({ view: "scenarios", path: ["own", id] }));
}
