/** The draft of one thing, for its editor: its edits can be undone, and it is saved as one. */

import { useRef } from "react";
import { useAction } from "../kit/use-action.ts";
import { newId, type UseDrafts } from "./drafts.ts";
import { offerUndo, recordEdit } from "./undo.ts";

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
  /** What is saved may have changed when an edit is taken back. */
  const latest = useRef(isSame);
  latest.current = isSame;
  const put = (next: Draft): void => {
    if (!isNew && latest.current(next)) drop(id);
    else keep(id, next);
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
      recordEdit({ undo: () => put(draft), redo: () => put(next) });
    },
    /** For its `DraftForm`. */
    form: {
      problem,
      isBusy,
      hasBar: isNew || kept !== undefined || problem !== null,
      onSave: (): void =>
        run(`save ${id}`, async () => {
          const goOn = await save(draft);
          drop(id);
          goOn?.();
        }),
      onDiscard(): void {
        clear();
        drop(id);
        if (kept !== undefined) {
          recordEdit({ undo: () => keep(id, kept), redo: () => drop(id) });
          offerUndo("Discarded the changes");
        }
        if (isNew) leave();
      },
    },
  };
}
