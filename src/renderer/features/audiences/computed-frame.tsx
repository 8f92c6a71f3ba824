/**
 * The frame of an audience and of a computed trait: heading, name, destinations, saving; what
 * differs is put into its steps.
 */

import { type ReactNode, useEffect, useRef, useState } from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
import { DeleteMenu } from "../../kit/confirm-dialog.tsx";
import { DraftForm, NameField, Step } from "../../kit/draft-form.tsx";
import { type Made, newId } from "../../stores/drafts.ts";
import { usePlace } from "../../stores/place.ts";
import { useDraft } from "../../stores/use-draft.ts";
import { EditorPane } from "../collection/collection.tsx";
import { DestinationsField, SyncField } from "./audience-sync.tsx";
import { type CommonDraft, type ComputedKind, keyOf, type Named } from "./computed-draft.ts";

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

export function ComputedFrame({
  noun,
  editing,
  make,
  note,
  first,
  preview,
  payload,
  children,
}: FrameProps) {
  const { name, destinations, draft, key, missing, wrongName, nameProblem, form, change, remove } =
    editing;
  const title = name ?? `New ${noun.toLowerCase()}`;
  return (
    <EditorPane
      label={name === null ? title : `${noun} ${title}`}
      title={title}
      others="Another audience"
      tools={
        name === null ? null : (
          <DeleteMenu name={title} onDelete={remove}>
            Nothing is sent: receivers keep the last values. Its source is deleted with it; its
            messages stay on record.
          </DeleteMenu>
        )
      }
    >
      <DraftForm
        {...form}
        save={name === null ? make : "Save"}
        note={name === null ? undefined : note}
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
    </EditorPane>
  );
}

export type PaneProps<Saved> = {
  /** Null: it is being made. */
  saved: Saved | null;
  named: readonly Named[];
  destinations: AnswerOf<"destinations.list">["items"];
};

type Editing<Draft extends CommonDraft> = ReturnType<typeof useComputedDraft<Named, Draft>>;

/**
 * What an audience and a computed trait have in common while they are made or changed: a draft that
 * stays, its key, saving and leaving it.
 */
export function useComputedDraft<Saved extends Named, Draft extends CommonDraft>(
  kind: ComputedKind<Saved, Draft>,
  { saved, named, destinations }: PaneProps<Saved>,
) {
  const id = saved?.id ?? newId;
  const [showsAll, setShowsAll] = useState(false);
  const leaveTo = (path: readonly string[]): void =>
    usePlace.getState().go({ view: "audiences", path: [...path] });

  // A long first sync is shown by the page of the new one, which is listed before it has ended.
  const awaited = useRef<(all: readonly Named[]) => void>(null);
  const listed = (made: string): Promise<Named> =>
    new Promise((resolve) => {
      awaited.current = (all) => {
        const found = all.find((each) => each.key === made);
        if (found !== undefined) resolve(found);
      };
    });
  useEffect(() => awaited.current?.(named), [named]);

  const before =
    saved === null
      ? kind.empty(destinations.filter(({ enabled }) => enabled).map((each) => each.id))
      : kind.draftOf(saved);
  const { draft, hasDraft, drop, change, form } = useDraft(kind.useDrafts, {
    id,
    before,
    lists: { destinationIds: destinations.map((each) => each.id) },
    isSame: (one, other) => JSON.stringify(one) === JSON.stringify(other),
    async save(sent): Promise<Made | void> {
      setShowsAll(true);
      const wrong = wrongName ?? missing;
      if (wrong !== null) throw new Error(wrong);
      if (saved !== null) return void (await kind.update(id, sent, before));
      const made: { id: string } = await Promise.race([kind.create(sent), listed(key)]);
      return { id: made.id, open: () => leaveTo([...kind.path, made.id]) };
    },
    leave: () => leaveTo([]),
  });
  const { key, problem: wrongName } = keyOf(draft.name, saved, named);
  const missing = kind.missingIn(draft);

  return {
    /** As it is saved; null: it is being made. */
    name: saved?.name ?? null,
    destinations,
    draft,
    key,
    missing,
    wrongName,
    /** Said of what has not been typed yet only once it was to be saved. */
    nameProblem: showsAll || draft.name !== "" ? wrongName : null,
    hasDraft,
    change,
    form,
    async remove(): Promise<void> {
      await kind.remove(id);
      drop();
      leaveTo([]);
    },
  };
}
