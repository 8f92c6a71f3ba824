/** A destination that does not exist yet: its steps, and the button that makes it. */

import { useState } from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
import { DraftForm } from "../../kit/draft-form.tsx";
import { OthersMenu, type Other } from "../../kit/list-pane.tsx";
import { useAction } from "../../kit/use-action.ts";
import { usePlace } from "../../stores/place.ts";
import { call } from "../../transport/transport.ts";
import { changesOf, newDraft, problemsOf } from "./destination-draft.ts";
import { DestinationSteps } from "./destination-steps.tsx";
import { newDestination, useDrafts } from "./drafts.ts";

export function NewDestination({ sources, others }: { sources: AnswerOf<"sources.list">["items"]; others: readonly Other[] }) {
  const draft = useDrafts((store) => store.drafts[newDestination]) ?? newDraft(sources.map(({ id }) => id));
  const { keep, drop } = useDrafts.getState();
  const go = usePlace((place) => place.go);
  const [showsAll, setShowsAll] = useState(false);
  const { problem, isBusy, run, clear } = useAction();
  const problems = problemsOf(draft);

  const create = async (): Promise<void> => {
    setShowsAll(true);
    if (problems.isWrong) throw new Error("Something above is not right yet; it says what.");
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
        save={draft.enabled ? "Make and enable it" : "Make it, disabled"}
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
