/** What an audience and a computed trait have in common while they are made or changed: a draft that stays, its key, saving and leaving it. */

import { useState } from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
import type { Other } from "../../kit/list-pane.tsx";
import { useAction } from "../../kit/use-action.ts";
import { usePlace } from "../../stores/place.ts";
import { keyOf, newId, type CommonDraft, type ComputedKind, type Named } from "./computed-kind.ts";

export type PaneProps<Saved> = {
  /** Null: it is being made. */
  saved: Saved | null;
  named: readonly Named[];
  destinations: AnswerOf<"destinations.list">["items"];
  others: readonly Other[];
};

export type Editing<Draft extends CommonDraft> = ReturnType<typeof useComputedDraft<Named, Draft>>;

export function useComputedDraft<Saved extends Named, Draft extends CommonDraft>(
  kind: ComputedKind<Saved, Draft>,
  { saved, named, destinations, others }: PaneProps<Saved>,
) {
  const id = saved?.id ?? newId;
  const kept = kind.useDrafts((store) => store.drafts[id]);
  const { keep, drop } = kind.useDrafts.getState();
  const { problem, isBusy, run, clear } = useAction();
  const [showsAll, setShowsAll] = useState(false);

  const before = saved === null ? kind.empty(destinations.filter(({ enabled }) => enabled).map((each) => each.id)) : kind.draftOf(saved);
  const draft = kept ?? before;
  const { key, problem: wrongName } = keyOf(draft.name, saved?.id ?? null, named);
  const missing = kind.missingIn(draft);
  const leaveTo = (path: readonly string[]): void => {
    drop(id);
    usePlace.getState().go({ view: "audiences", path: [...path] });
  };
  const isSame = (next: Draft): boolean => JSON.stringify(kind.changesOf(next)) === JSON.stringify(kind.changesOf(before));

  return {
    /** As it is saved; null: it is being made. */
    name: saved?.name ?? null,
    destinations,
    others,
    draft,
    key,
    missing,
    wrongName,
    /** Said of what has not been typed yet only once it was to be saved. */
    nameProblem: showsAll || draft.name !== "" ? wrongName : null,
    hasDraft: kept !== undefined,
    problem,
    isBusy,
    change(changes: Partial<Draft>): void {
      clear();
      const next = { ...draft, ...changes };
      if (saved !== null && isSame(next)) drop(id);
      else keep(id, next);
    },
    save: (): void =>
      run(async () => {
        setShowsAll(true);
        const wrong = wrongName ?? missing;
        if (wrong !== null) throw new Error(wrong);
        if (saved === null) {
          const made = await kind.create(draft);
          leaveTo([...kind.path, made.id]);
        } else {
          await kind.update(id, draft);
          drop(id);
        }
      }),
    discard(): void {
      clear();
      if (saved === null) leaveTo([]);
      else drop(id);
    },
    async remove(): Promise<void> {
      await kind.remove(id);
      leaveTo([]);
    },
  };
}
