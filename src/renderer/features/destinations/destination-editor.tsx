/** A destination that exists: the same steps as when it was set up, saved together; its switch at once. */

import { useState } from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
import { DeleteMenu } from "../../kit/confirm-dialog.tsx";
import { CheckField } from "../../kit/controls.tsx";
import { DraftForm } from "../../kit/draft-form.tsx";
import { type Other, OthersMenu } from "../../kit/list-pane.tsx";
import { useAction } from "../../kit/use-action.ts";
import { usePlace } from "../../stores/place.ts";
import { call } from "../../transport/transport.ts";
import { changesOf, type Destination, draftOf, isChanged, newDestination, newDraft, problemsOf, useDrafts } from "./destination-draft.ts";
import { DestinationSteps } from "./destination-steps.tsx";

export function DestinationEditor({
  destination,
  sources,
  others,
  onCreate,
}: {
  destination: Destination;
  sources: AnswerOf<"sources.list">["items"];
  others: readonly Other[];
  onCreate: () => void;
}) {
  const { id, name, enabled } = destination;
  const kept = useDrafts((store) => store.drafts[id]);
  const { keep, drop } = useDrafts.getState();
  const go = usePlace((place) => place.go);
  const { problem, isBusy, run, attempt, clear } = useAction();
  const [showsAll, setShowsAll] = useState(false);
  const draft = kept ?? draftOf(destination);
  const problems = problemsOf(draft);

  const save = async (): Promise<void> => {
    setShowsAll(problems.isWrong);
    if (problems.isWrong) throw new Error("Correct the errors above first.");
    await call("destinations.update", { id, ...changesOf(draft) });
    drop(id);
  };

  return (
    <section className="pane editor" aria-label={`Destination ${name}`}>
      <header className="pane-title">
        <h2 className="clip isolate">{name}</h2>
        <OthersMenu label="Another destination" others={others} more={[{ label: "New destination", icon: "add", onSelect: onCreate }]} />
        <span className="grow" />
        <CheckField
          role="switch"
          label={enabled ? "enabled" : "disabled"}
          title="A disabled destination gets no new messages, and its deliveries are paused while their retry window keeps running"
          checked={enabled}
          onChange={(event) => {
            const next = event.currentTarget.checked;
            attempt(() => call("destinations.update", { id, enabled: next }));
          }}
        />
        <DeleteMenu
          name={name}
          onDelete={async () => {
            await call("destinations.delete", { id });
            drop(id);
            go({ view: "destinations" });
          }}
        >
          Its queued and waiting deliveries are cancelled. Its deliveries and attempts stay on record; its shared secret is permanently
          deleted.
        </DeleteMenu>
      </header>
      <DraftForm
        problem={problem}
        hasBar={kept !== undefined || problem !== null}
        save="Save"
        note="webhooks, headers and secret are read at the start of each round"
        isBusy={isBusy}
        onSave={() => run(save)}
        onDiscard={() => {
          clear();
          drop(id);
        }}
      >
        <DestinationSteps
          draft={draft}
          problems={problems}
          showsAll={showsAll}
          sources={sources}
          destinationId={id}
          saved={kept === undefined ? destination : undefined}
          hasSharedSecret={destination.hasSharedSecret}
          onChange={(changes) => {
            clear();
            const next = { ...draft, ...changes };
            if (isChanged(next, destination)) keep(id, next);
            else drop(id);
          }}
        />
      </DraftForm>
    </section>
  );
}

/** A destination that does not exist yet: its steps, and the button that makes it. */
export function NewDestination({ sources, others }: { sources: AnswerOf<"sources.list">["items"]; others: readonly Other[] }) {
  const draft = useDrafts((store) => store.drafts[newDestination]) ?? newDraft(sources.map(({ id }) => id));
  const { keep, drop } = useDrafts.getState();
  const go = usePlace((place) => place.go);
  const [showsAll, setShowsAll] = useState(false);
  const { problem, isBusy, run, clear } = useAction();
  const problems = problemsOf(draft);

  const create = async (): Promise<void> => {
    setShowsAll(true);
    if (problems.isWrong) throw new Error("Correct the errors above first.");
    const made = await call("destinations.create", { ...changesOf(draft), enabled: draft.enabled });
    drop(newDestination);
    go({ view: "destinations", path: [made.id] });
  };

  return (
    <section className="pane editor" aria-label="New destination">
      <header className="pane-title">
        <h2>New destination</h2>
        {others.length === 0 ? null : <OthersMenu label="Another destination" others={others} />}
        <span className="grow" />
      </header>
      <DraftForm
        problem={problem}
        save={draft.enabled ? "Create" : "Create disabled"}
        isBusy={isBusy}
        onSave={() => run(create)}
        onDiscard={() => {
          drop(newDestination);
          go({ view: "destinations" });
        }}
      >
        <DestinationSteps
          draft={draft}
          problems={problems}
          showsAll={showsAll}
          sources={sources}
          hasSharedSecret={false}
          onChange={(changes) => {
            clear();
            keep(newDestination, { ...draft, ...changes });
          }}
        />
      </DraftForm>
    </section>
  );
}
