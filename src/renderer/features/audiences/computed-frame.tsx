/** The frame of an audience and of a computed trait: heading, name, destinations, saving; what differs is put into its steps. */

import type { ReactNode } from "react";
import { DeleteMenu } from "../../kit/delete-menu.tsx";
import { DraftForm } from "../../kit/draft-form.tsx";
import { OthersMenu } from "../../kit/list-pane.tsx";
import { NameField } from "../../kit/name-field.tsx";
import { Step } from "../../kit/numbered-step.tsx";
import type { CommonDraft } from "./computed-kind.ts";
import { DestinationsField, SyncField } from "./sync-fields.tsx";
import type { Editing } from "./use-computed-draft.ts";

type FrameProps = {
  /** What it is: `Audience`. */
  noun: string;
  editing: Editing<CommonDraft>;
  /** What the button says that makes it. */
  make: string;
  /** What is said beside the button that saves it. */
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
            Nothing is sent: receivers keep what they were told. Its source goes with it; its messages stay on record.
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
