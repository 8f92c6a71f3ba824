/** The draft of one thing, for its editor: its edits can be undone, and it is saved as one. */

import { useAction } from "../kit/use-action.ts";
import {
  changeDraft,
  type Made,
  newId,
  putDraft,
  type Saved,
  saveDraft,
  shownDraft,
  type UseDrafts,
} from "./drafts.ts";
import { offerUndo, recordEdit } from "./undo.ts";

type DraftOptions<Draft> = Saved<Draft> & {
  id: string;
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
  store.saved.set(id, { before, lists, isSame });
  const change = (from: Draft, to: Draft): void => changeDraft(useDrafts, id, from, to);
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
      putDraft(useDrafts, id, next);
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
