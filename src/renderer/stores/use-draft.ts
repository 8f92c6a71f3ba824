/** The draft of one thing, for its editor: its edits can be undone, and it is saved as one. */

import { useRef } from "react";
import { useAction } from "../kit/use-action.ts";
import {
  changedAs,
  type IdLists,
  type Made,
  newId,
  saveDraft,
  shownDraft,
  type UseDrafts,
} from "./drafts.ts";
import { offerUndo, recordEdit } from "./undo.ts";

type DraftOptions<Draft> = {
  id: string;
  /** What is saved, or what a new one begins with. */
  before: Draft;
  lists: IdLists<Draft>;
  isSame: (one: Draft, other: Draft) => boolean;
  /** Throws when something is wrong with it. */
  save: (draft: Draft) => Promise<Made | void>;
  /** Leaves the new one. */
  leave: () => void;
};

/**
 * What is typed over what is saved, until it is saved or discarded; of a new one also when it
 * equals what it began with. What others change meanwhile stays, where it was not changed here too.
 */
export function useDraft<Draft extends object>(
  useDrafts: UseDrafts<Draft>,
  { id, before, lists, isSame, save, leave }: DraftOptions<Draft>,
) {
  const store = useDrafts();
  const { keep, drop } = store;
  const { problem, isBusy, run, attempt, clear } = useAction();
  const kept = store.drafts[id];
  const draft = shownDraft(store, id, before, lists);
  const isNew = id === newId;
  /** An edit is undone later: then as it is saved by then. */
  const saved = useRef({ before, lists });
  saved.current = { before, lists };
  const put = (next: Draft): void => {
    const now = saved.current;
    const shown = changedAs(now.before, next, now.before, now.lists);
    if (!isNew && isSame(shown, now.before)) drop(id);
    else keep(id, next, now.before);
  };
  const change = (from: Draft, to: Draft): void => {
    const now = saved.current;
    put(
      changedAs(from, to, shownDraft(useDrafts.getState(), id, now.before, now.lists), now.lists),
    );
  };
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
      put(next);
      recordEdit({ undo: () => change(next, draft), redo: () => change(draft, next) });
    },
    /** For its `DraftForm`. */
    form: {
      problem,
      isBusy,
      hasBar: isNew || kept !== undefined || problem !== null,
      onSave: (): void => run(`save ${id}`, () => saveDraft(useDrafts, id, draft, save)),
      onDiscard(): void {
        clear();
        drop(id);
        if (kept !== undefined) {
          const base = store.bases[id];
          recordEdit({ undo: () => keep(id, kept, base), redo: () => drop(id) });
          offerUndo("Discarded the changes");
        }
        if (isNew) leave();
      },
    },
  };
}
