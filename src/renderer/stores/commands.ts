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
  /** It is found by this too, such as its id. */
  also?: string;
  /** False once the page has changed, and what it acts on is no longer there. */
  isThere?: () => boolean;
  /** What it rejects with is shown. */
  run: () => unknown;
};

/** What they act on: something open or selected, the view, or anything. They come in this order. */
type CommandGroup = { commands: readonly Command[]; of: "thing" | "view" | "all" };

type CommandStore = {
  /** By their titles. */
  groups: ReadonlyMap<string, CommandGroup>;
  isOpen: boolean;
  open(): void;
  close(): void;
  offer(title: string, group: CommandGroup): void;
  withdraw(title: string): void;
};

export const useCommands = create<CommandStore>()((set, get) => ({
  groups: new Map(),
  isOpen: false,
  open: () => set({ isOpen: true }),
  close: () => set({ isOpen: false }),
  offer: (title, group) => set({ groups: new Map(get().groups).set(title, group) }),
  withdraw(title) {
    const groups = new Map(get().groups);
    groups.delete(title);
    set({ groups });
  },
}));

/** Offered again only when their words change. */
export function useOffer(
  title: string,
  commands: readonly Command[],
  of: CommandGroup["of"] = "view",
): void {
  const latest = useRef(commands);
  latest.current = commands;
  const words = JSON.stringify(commands);
  useEffect(() => {
    if (latest.current.length === 0) return undefined;
    const offered = latest.current.map((command, place) => ({
      ...command,
      run: () => latest.current[place]?.run(),
    }));
    useCommands.getState().offer(title, { commands: offered, of });
    return () => useCommands.getState().withdraw(title);
  }, [title, words, of]);
}

type OverlayName = "shortcuts" | "composer" | "demo" | "share";

type OverlayStore = { shown: OverlayName | null; show(name: OverlayName): void; hide(): void };

/** What lies over the whole page, one at a time. */
export const useOverlay = create<OverlayStore>()((set) => ({
  shown: null,
  show: (shown) => set({ shown }),
  hide: () => set({ shown: null }),
}));
