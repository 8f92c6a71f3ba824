/**
 * What the command palette offers: each part of the page adds its own while it is on the screen.
 */

import { useEffect, useRef } from "react";
import { create } from "zustand";
import type { IconName } from "../kit/icon.tsx";

export type Command = {
  id: string;
  label: string;
  icon: IconName;
  /** A view, or a key. */ hint?: string;
  shortcut?: string;
  run: () => void;
};

type CommandStore = {
  groups: ReadonlyMap<string, readonly Command[]>;
  isOpen: boolean;
  open(): void;
  close(): void;
  offer(group: string, commands: readonly Command[]): void;
  withdraw(group: string): void;
};

export const useCommands = create<CommandStore>()((set, get) => ({
  groups: new Map(),
  isOpen: false,
  open: () => set({ isOpen: true }),
  close: () => set({ isOpen: false }),
  offer: (group, commands) => set({ groups: new Map(get().groups).set(group, commands) }),
  withdraw(group) {
    const groups = new Map(get().groups);
    groups.delete(group);
    set({ groups });
  },
}));

/** Offered again only when their words change. */
export function useOffer(group: string, commands: readonly Command[]): void {
  const latest = useRef(commands);
  latest.current = commands;
  const words = JSON.stringify(commands);
  useEffect(() => {
    const offered = latest.current.map((command, place) => ({
      ...command,
      run: () => latest.current[place]?.run(),
    }));
    useCommands.getState().offer(group, offered);
    return () => useCommands.getState().withdraw(group);
  }, [group, words]);
}

type OverlayName = "shortcuts" | "composer" | "demo" | "share";

type OverlayStore = { shown: OverlayName | null; show(name: OverlayName): void; hide(): void };

/** What lies over the whole page, one at a time. */
export const useOverlay = create<OverlayStore>()((set) => ({
  shown: null,
  show: (shown) => set({ shown }),
  hide: () => set({ shown: null }),
}));
