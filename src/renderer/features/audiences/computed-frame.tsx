/** The frame of an audience and of a computed trait: heading, name, destinations, saving; what differs is put into its steps. */

import { type ReactNode, useState } from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
import { DeleteMenu } from "../../kit/confirm-dialog.tsx";
import { DraftForm, NameField, Step } from "../../kit/draft-form.tsx";
import { type Other, OthersMenu } from "../../kit/list-pane.tsx";
import { useAction } from "../../kit/use-action.ts";
import { usePlace } from "../../stores/place.ts";
import { DestinationsField, SyncField } from "./audience-sync.tsx";
import { type CommonDraft, type ComputedKind, keyOf, type Named, newId } from "./computed-draft.ts";

type FrameProps = {
  /** What it is: `Audience`. */
  noun: string;
  editing: Editing<CommonDraft>;
  /** What the button says that makes it. */
  make: string;
  /** The note beside the button that saves it. */
  note?: string;
  first: { title: string; content: ReactNode };
  preview: { title: string; isDone: boolean; content: ReactNode };
  /** What a receiver will see. */
  payload?: ReactNode;
  /** The steps that send. */
  children: ReactNode;
};

export function ComputedFrame({ noun, editing, make, note, first, preview, payload, children }: FrameProps) {
  const {
    name,
    destinations,
    others,
    draft,
    key,
    missing,
    wrongName,
    nameProblem,
    hasDraft,
    problem,
    isBusy,
    change,
    save,
    discard,
    remove,
  } = editing;
  const title = name ?? `New ${noun.toLowerCase()}`;
  return (
    <section className="pane editor" aria-label={name === null ? title : `${noun} ${title}`}>
      <header className="pane-title">
        <h2 className="clip isolate">{title}</h2>
        <OthersMenu label="Another audience" others={others} />
        <span className="grow" />
        {name === null ? null : (
          <DeleteMenu name={title} onDelete={remove}>
            Nothing is sent: receivers keep the last values. Its source is deleted with it; its messages stay on record.
          </DeleteMenu>
        )}
      </header>
      <DraftForm
        problem={problem}
        hasBar={name === null || hasDraft || problem !== null}
        save={name === null ? make : "Save"}
        isBusy={isBusy}
        note={name === null ? undefined : note}
        onSave={save}
        onDiscard={discard}
      >
        <ol className="numbered audience-steps">
          <Step number={1} title={first.title} isDone={missing === null && wrongName === null}>
            <NameField
              name={draft.name}
              error={nameProblem}
              hint={
                key === "" ? undefined : (
                  <>
                    Receivers get the trait <code>{key}</code>.
                  </>
                )
              }
              onChange={(text) => change({ name: text })}
            />
            {first.content}
          </Step>
          <Step number={2} title={preview.title} isDone={missing === null && preview.isDone}>
            {preview.content}
          </Step>
          <Step number={3} title="What will be sent" isDone={draft.destinationIds.length > 0}>
            {payload}
            <DestinationsField
              destinations={destinations}
              chosen={draft.destinationIds}
              onChange={(destinationIds) => change({ destinationIds })}
            />
            <SyncField sync={draft.sync} onChange={(sync) => change({ sync })} />
          </Step>
          {children}
        </ol>
      </DraftForm>
    </section>
  );
}

export type PaneProps<Saved> = {
  /** Null: it is being made. */
  saved: Saved | null;
  named: readonly Named[];
  destinations: AnswerOf<"destinations.list">["items"];
  others: readonly Other[];
};

type Editing<Draft extends CommonDraft> = ReturnType<typeof useComputedDraft<Named, Draft>>;

/** What an audience and a computed trait have in common while they are made or changed: a draft that stays, its key, saving and leaving it. */
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
