/** One computed trait: what is computed from which events, the values it gives, and where they are sent. */

import { useState, type ReactNode } from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
import { aggregates, type Computation } from "../../../domain/rules.ts";
import { Button, SelectField } from "../../kit/controls.tsx";
import { DeleteMenu } from "../../kit/delete-menu.tsx";
import { DraftForm } from "../../kit/draft-form.tsx";
import { OthersMenu, type Other } from "../../kit/list-pane.tsx";
import { NameField } from "../../kit/name-field.tsx";
import { Step } from "../../kit/numbered-step.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { useAction } from "../../kit/use-action.ts";
import { clockTime, count } from "../../kit/words.ts";
import { useLive } from "../../stores/live-data.ts";
import { hashOf, usePlace } from "../../stores/place.ts";
import { call } from "../../transport/transport.ts";
import { Until } from "../details/until.tsx";
import { valueText } from "../profiles/profile-words.ts";
import { keyOf } from "./audience-draft.ts";
import {
  aggregateWords,
  emptyTrait,
  isTraitChanged,
  missingInComputation,
  newTrait,
  traitChanges,
  traitDraftOf,
  useTraitDrafts,
  withAggregate,
  type ComputedTrait,
  type TraitDraft,
} from "./computed-trait-draft.ts";
import { EventFields } from "./condition-fields.tsx";
import { SuggestedField } from "./suggested-field.tsx";
import { DestinationsField, SyncField } from "./sync-fields.tsx";
import { useRested } from "./use-rested.ts";
import { useSeenNames } from "./use-seen-names.ts";

type PaneProps = {
  /** Null: it is being made. */
  trait: ComputedTrait | null;
  named: readonly { id: string; name: string; key: string }[];
  destinations: AnswerOf<"destinations.list">["items"];
  others: readonly Other[];
};

export function ComputedTraitPane({ trait, named, destinations, others }: PaneProps) {
  const id = trait?.id ?? newTrait;
  const kept = useTraitDrafts((store) => store.drafts[id]);
  const { keep, drop } = useTraitDrafts.getState();
  const enabledIds = destinations.filter(({ enabled }) => enabled).map((destination) => destination.id);
  const draft = kept ?? (trait === null ? emptyTrait(enabledIds) : traitDraftOf(trait));
  const go = usePlace((place) => place.go);
  const { problem, isBusy, run, clear } = useAction();
  const [showsAll, setShowsAll] = useState(false);
  const { key, problem: wrongName } = keyOf(draft.name, trait?.id ?? null, named);
  const missing = missingInComputation(draft.computation);

  const change = (changes: Partial<TraitDraft>): void => {
    clear();
    const next = { ...draft, ...changes };
    if (trait === null || isTraitChanged(next, trait)) keep(id, next);
    else drop(id);
  };
  const save = async (): Promise<void> => {
    setShowsAll(true);
    const wrong = wrongName ?? missing;
    if (wrong !== null) throw new Error(wrong);
    const saved =
      trait === null
        ? await call("computedTraits.create", traitChanges(draft))
        : await call("computedTraits.update", { id, ...traitChanges(draft) });
    drop(id);
    if (trait === null) go({ view: "audiences", path: ["traits", saved.id] });
  };

  const title = trait?.name ?? "New computed trait";
  return (
    <section className="pane editor" aria-label={trait === null ? title : `Computed trait ${title}`}>
      <header className="pane-title">
        <h2 className="clip isolate">{title}</h2>
        <OthersMenu label="Another audience or trait" others={others} />
        <span className="grow" />
        {trait === null ? null : (
          <DeleteMenu
            name={title}
            onDelete={async () => {
              await call("computedTraits.delete", { id });
              drop(id);
              go({ view: "audiences" });
            }}
          >
            Nothing is sent: receivers keep the values they were told. Its source goes with it; its messages stay on record.
          </DeleteMenu>
        )}
      </header>
      <DraftForm
        problem={problem}
        hasBar={trait === null || kept !== undefined || problem !== null}
        save={trait === null ? "Make it and send its values" : "Save"}
        isBusy={isBusy}
        onSave={() => run(save)}
        onDiscard={() => {
          clear();
          drop(id);
          if (trait === null) go({ view: "audiences" });
        }}
      >
        <ol className="numbered audience-steps">
          <Step number={1} title="What is computed" isDone={missing === null && wrongName === null}>
            <NameField
              name={draft.name}
              error={showsAll || draft.name !== "" ? wrongName : null}
              hint={
                key === "" ? undefined : (
                  <>
                    Receivers get the trait <code>{key}</code>.
                  </>
                )
              }
              onChange={(name) => change({ name })}
            />
            <ComputationFields computation={draft.computation} onChange={(computation) => change({ computation })} />
          </Step>
          <Step number={2} title="The values it gives" isDone={missing === null}>
            <Values computation={missing === null ? draft.computation : null} missing={missing} traitKey={key} />
          </Step>
          <Step number={3} title="What will be sent" isDone={draft.destinationIds.length > 0}>
            <DestinationsField
              destinations={destinations}
              chosen={draft.destinationIds}
              onChange={(destinationIds) => change({ destinationIds })}
            />
            <SyncField sync={draft.sync} onChange={(sync) => change({ sync })} />
          </Step>
          {trait === null ? null : <TraitSync trait={trait} />}
        </ol>
      </DraftForm>
    </section>
  );
}

const aggregateOptions = aggregates.map((value) => ({ value, label: aggregateWords[value] }));

function ComputationFields({ computation, onChange }: { computation: Computation; onChange: (computation: Computation) => void }) {
  const { events } = useSeenNames();
  const { aggregate, event, property = "", ...conditions } = computation;
  const properties = events.find((seen) => seen.event === event)?.properties ?? [];
  return (
    <div className="rule-editor computation" role="group" aria-label="Computation">
      <div className="rule-fields">
        <SelectField
          aria-label="What"
          value={aggregate}
          options={aggregateOptions}
          onChange={(next) => onChange(withAggregate(computation, next))}
        />
        {aggregate === "count" ? null : (
          <SuggestedField
            label="Property"
            value={property}
            suggestions={properties}
            onChange={(next) => onChange({ ...computation, property: next })}
          />
        )}
      </div>
      <div className="rule-fields">
        <EventFields
          hasCount={false}
          condition={{ event, ...conditions }}
          onChange={({ atLeast: _, ...next }) => onChange({ aggregate, ...next, ...(aggregate === "count" ? {} : { property }) })}
        />
      </div>
    </div>
  );
}

function Values({ computation, missing, traitKey }: { computation: Computation | null; missing: string | null; traitKey: string }) {
  const { value: rested, isOld } = useRested(computation);
  const { answer, error } = useLive("computedTraits.preview", rested === null ? null : { computation: rested, sample: 8 });
  let said: ReactNode = <span className="quiet">{missing ?? "…"}</span>;
  if (missing === null && answer !== undefined) {
    said = (
      <>
        <b>{count(answer.count)}</b>{" "}
        <span className="muted">
          of {count(answer.profiles)} known {answer.profiles === 1 ? "user has" : "users have"} a value
        </span>
      </>
    );
  }
  return (
    <>
      <p className="match-count" role="status" aria-busy={isOld}>
        {said}
      </p>
      <ProblemText error={missing === null ? error : null} />
      {missing !== null || answer === undefined || answer.sample.length === 0 ? null : (
        <ul className="sample" aria-label="Some of them">
          {answer.sample.map(({ userId, profileId, value }) => (
            <li key={userId}>
              <code className="clip isolate">{userId}</code>
              <code className="clip isolate">
                {traitKey}: {valueText(value)}
              </code>
              <a className="link quiet" href={hashOf({ view: "profiles", path: [profileId], query: {} })}>
                profile
              </a>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function TraitSync({ trait: { id, users, lastSync, nextSyncAt, syncing } }: { trait: ComputedTrait }) {
  const { problem, run } = useAction();
  return (
    <Step number={4} title="Send" isDone={syncing === null}>
      <p className="match-count" role="status">
        <b>{count(users)}</b> <span className="muted">{users === 1 ? "user has" : "users have"} a value that receivers were told</span>
      </p>
      <ProblemText error={problem} />
      <Button icon="send" disabled={syncing !== null} onClick={() => run(() => call("computedTraits.sync", { id }))}>
        Sync now
      </Button>
      <p className="quiet">
        {lastSync === null ? (
          "No sync has ended yet."
        ) : (
          <>
            Last sync <span className="due">{clockTime(Date.parse(lastSync.at))}</span>: {count(lastSync.entered)} sent,{" "}
            {count(lastSync.left)} went away.
          </>
        )}
        {nextSyncAt === null ? null : (
          <>
            {" "}
            The next one <Until at={Date.parse(nextSyncAt)} />.
          </>
        )}
      </p>
    </Step>
  );
}
