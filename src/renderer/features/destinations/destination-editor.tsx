/**
 * A destination, or one that does not exist yet: the same steps, saved together; the switch of one
 * that exists at once.
 */

import { useState } from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
import { DeleteMenu } from "../../kit/confirm-dialog.tsx";
import { CheckField } from "../../kit/controls.tsx";
import { DraftForm } from "../../kit/draft-form.tsx";
import { Tabs } from "../../kit/tabs.tsx";
import type { Action } from "../../kit/use-action.ts";
import { differing, type Made, newId } from "../../stores/drafts.ts";
import { usePlace } from "../../stores/place.ts";
import { saveAtOnce } from "../../stores/undo.ts";
import { useDraft } from "../../stores/use-draft.ts";
import { call } from "../../transport/transport.ts";
import { EditorPane } from "../collection/collection.tsx";
import {
  changesOf,
  type Destination,
  type DestinationDraft,
  isSame,
  problemsOf,
  useDrafts,
} from "./destination-draft.ts";
import { DestinationSteps } from "./destination-steps.tsx";
import { MappingPreview } from "./mapping-preview.tsx";
import { useIsNarrow } from "./use-mapping-preview.ts";

type EditorProps = {
  /** Null: a new one. */
  destination: Destination | null;
  /** Of what is saved, or with what a new one begins. */
  before: DestinationDraft;
  sources: AnswerOf<"sources.list">["items"];
};

const leaveTo = (path: string[]): void => usePlace.getState().go({ view: "destinations", path });

export function DestinationEditor({ destination, before, sources }: EditorProps) {
  const [showsAll, setShowsAll] = useState(false);
  const [tab, setTab] = useState<"steps" | "preview">("steps");

  const save = async (draft: DestinationDraft): Promise<Made | void> => {
    const { isWrong } = problemsOf(draft);
    setShowsAll(isWrong);
    if (isWrong) throw new Error("Correct the errors above first.");
    if (destination === null) {
      const made = await call("destinations.create", {
        kind: draft.kind,
        ...changesOf(draft),
        enabled: draft.enabled,
      });
      return { id: made.id, open: () => leaveTo([made.id]) };
    }
    const changes = differing(changesOf(draft), changesOf(before));
    await call("destinations.update", { id: destination.id, ...changes });
  };
  const { draft, hasDraft, change, form, drop, attempt } = useDraft(useDrafts, {
    id: destination?.id ?? newId,
    before,
    lists: { sourceIds: sources.map(({ id }) => id) },
    isSame,
    save,
    leave: () => leaveTo([]),
  });

  const isNarrow = useIsNarrow();
  const steps = (
    <DestinationSteps
      draft={draft}
      problems={problemsOf(draft)}
      showsAll={showsAll}
      sources={sources}
      destinationId={destination?.id}
      saved={hasDraft || destination === null ? undefined : destination}
      hasSharedSecret={destination?.hasSharedSecret ?? false}
      onChange={change}
    />
  );
  return (
    <EditorPane
      label={destination === null ? "New destination" : `Destination ${destination.name}`}
      title={destination?.name ?? "New destination"}
      others="Another destination"
      tools={
        destination === null ? null : (
          <DestinationTools destination={destination} onAttempt={attempt} onDeleted={drop} />
        )
      }
    >
      <DraftForm
        {...form}
        save={destination !== null ? "Save" : draft.enabled ? "Create" : "Create disabled"}
        note={
          destination === null
            ? undefined
            : destination.kind === "webhooks"
              ? "webhooks, headers and secret are read at the start of each round"
              : "mappings are read when a message is routed, the secret at the start of each round"
        }
      >
        {draft.kind === "webhooks-actions" && isNarrow ? (
          <Tabs
            label="Destination"
            tab={tab}
            tabs={[
              { value: "steps", label: "Setup" },
              { value: "preview", label: "Preview" },
            ]}
            onChange={setTab}
          >
            {tab === "steps" ? (
              steps
            ) : (
              <MappingPreview draft={draft} destinationId={destination?.id} />
            )}
          </Tabs>
        ) : (
          steps
        )}
      </DraftForm>
    </EditorPane>
  );
}

type ToolsProps = { destination: Destination; onAttempt: Action["attempt"]; onDeleted: () => void };

function DestinationTools({
  destination: { id, name, enabled },
  onAttempt,
  onDeleted,
}: ToolsProps) {
  return (
    <>
      <CheckField
        role="switch"
        label={enabled ? "enabled" : "disabled"}
        title="A disabled destination gets no new messages, and its deliveries are paused while their retry window keeps running"
        checked={enabled}
        onChange={(event) => {
          const next = event.currentTarget.checked;
          return onAttempt(() =>
            saveAtOnce({ enabled }, { enabled: next }, (changes) =>
              call("destinations.update", { id, ...changes }),
            ),
          );
        }}
      />
      <DeleteMenu
        name={name}
        onDelete={async () => {
          await call("destinations.delete", { id });
          onDeleted();
          leaveTo([]);
        }}
      >
        Its queued and waiting deliveries are cancelled. Its deliveries and attempts stay on record;
        its shared secret is permanently deleted.
      </DeleteMenu>
    </>
  );
}
