/**
 * What is being typed for each thing of a kind; it stays while the user looks at something else.
 */

import { create, type StoreApi, type UseBoundStore } from "zustand";
import { useAction } from "../kit/use-action.ts";

type DraftStore<Draft> = {
  drafts: Readonly<Record<string, Draft>>;
  keep(id: string, draft: Draft): void;
  drop(id: string): void;
};

export type UseDrafts<Draft> = UseBoundStore<StoreApi<DraftStore<Draft>>>;

const all = new Set<UseDrafts<never>>();
let isAside = false;

/**
 * While another pipeline is shown, whose ids are the same. Returns a function that restores them.
 */
export function setDraftsAside(): () => void {
  const before = [...all].map((use) => [use, use.getState().drafts] as const);
  isAside = true;
  for (const [use] of before) use.setState({ drafts: {} });
  return () => {
    isAside = false;
    for (const [use, drafts] of before) use.setState({ drafts });
  };
}

/** They survive a reload of the page, and end with its tab. */
export function draftStore<Draft>(name: string): UseDrafts<Draft> {
  const key = `hookyard.drafts.${name}`;
  const use = create<DraftStore<Draft>>()((set, get) => {
    const store = (drafts: Readonly<Record<string, Draft>>): void => {
      set({ drafts });
      if (isAside) return;
      try {
        window.sessionStorage.setItem(key, JSON.stringify(drafts));
      } catch {
        // Without room they live as long as the page.
      }
    };
    return {
      drafts: stored<Draft>(key),
      keep: (id, draft) => store({ ...get().drafts, [id]: draft }),
      drop(id) {
        const { [id]: _, ...drafts } = get().drafts;
        store(drafts);
      },
    };
  });
  all.add(use as unknown as UseDrafts<never>);
  return use;
}

function stored<Draft>(key: string): Readonly<Record<string, Draft>> {
  try {
    const drafts: unknown = JSON.parse(window.sessionStorage.getItem(key) ?? "{}");
    return typeof drafts === "object" && drafts !== null ? (drafts as Record<string, Draft>) : {};
  } catch {
    return {};
  }
}

/** Of the one that does not exist yet. */
export const newId = "new";

type DraftOptions<Draft> = {
  id: string;
  /** What is saved, or what a new one begins with. */
  before: Draft;
  isSame: (draft: Draft) => boolean;
  /** Throws when something is wrong with it. Returns where to go then. */
  save: (draft: Draft) => Promise<(() => void) | void>;
  /** Leaves the new one. */
  leave: () => void;
};

/**
 * What is typed over what is saved, until it is saved or discarded; of a new one also when it
 * equals what it began with.
 */
export function useDraft<Draft>(
  useDrafts: UseDrafts<Draft>,
  { id, before, isSame, save, leave }: DraftOptions<Draft>,
) {
  const kept = useDrafts((store) => store.drafts[id]);
  const { keep, drop } = useDrafts.getState();
  const { problem, isBusy, run, attempt, clear } = useAction();
  const draft = kept ?? before;
  const isNew = id === newId;
  return {
    draft,
    isNew,
    hasDraft: kept !== undefined,
    drop: () => drop(id),
    /** For what is changed at once; the form shows why it could not be. */
    attempt,
    change(changes: Partial<Draft>): void {
      clear();
      const next = { ...draft, ...changes };
      if (!isNew && isSame(next)) drop(id);
      else keep(id, next);
    },
    /** For its `DraftForm`. */
    form: {
      problem,
      isBusy,
      hasBar: isNew || kept !== undefined || problem !== null,
      onSave: (): void =>
        run(async () => {
          const goOn = await save(draft);
          drop(id);
          goOn?.();
        }),
      onDiscard(): void {
        clear();
        drop(id);
        if (isNew) leave();
      },
    },
  };
}
