/** A destination that exists: the same steps as when it was set up, saved together; its switch at once. */

import { useState } from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
import { CheckField } from "../../kit/controls.tsx";
import { DeleteMenu } from "../../kit/delete-menu.tsx";
import { DraftForm } from "../../kit/draft-form.tsx";
import { OthersMenu, type Other } from "../../kit/list-pane.tsx";
import { useAction } from "../../kit/use-action.ts";
import { usePlace } from "../../stores/place.ts";
import { call } from "../../transport/transport.ts";
import { changesOf, draftOf, isChanged, problemsOf, type Destination } from "./destination-draft.ts";
import { DestinationSteps } from "./destination-steps.tsx";
import { useDrafts } from "./drafts.ts";

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
    if (problems.isWrong) throw new Error("Something above is not right yet; it says what.");
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
          title="A disabled destination gets no new messages and holds its deliveries while their window runs on"
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
          Its deliveries that are queued or waiting are cancelled. What it has sent stays on record, with its attempts; its shared secret is
          gone for good.
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
