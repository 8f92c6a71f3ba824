/**
 * One computed trait: what is computed from which events, the values it gives, and where they are
 * sent.
 */

import type { ReactNode } from "react";
import { aggregates, type Computation } from "../../../domain/rules.ts";
import { SelectField } from "../../kit/controls.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { count } from "../../kit/words.ts";
import { useLive } from "../../stores/live-data.ts";
import { hrefTo } from "../../stores/place.ts";
import { call } from "../../transport/transport.ts";
import { valueText } from "../profiles/profile-words.ts";
import { SyncStep } from "./audience-sync.tsx";
import { aggregateWords, type ComputedTrait, traitKind, withAggregate } from "./computed-draft.ts";
import { ComputedFrame, type PaneProps, useComputedDraft } from "./computed-frame.tsx";
import { EventFields, SuggestedField, useSeenNames } from "./condition-fields.tsx";
import { useDebounced } from "../../kit/use-debounced.ts";

export function ComputedTraitPane(props: PaneProps<ComputedTrait>) {
  const { saved: trait } = props;
  const editing = useComputedDraft(traitKind, props);
  const { draft, key, missing, change } = editing;
  return (
    <ComputedFrame
      noun="Computed trait"
      editing={editing}
      make="Create and send values"
      first={{
        title: "Computation",
        content: (
          <ComputationFields
            computation={draft.computation}
            onChange={(computation) => change({ computation })}
          />
        ),
      }}
      preview={{
        title: "Values",
        isDone: true,
        content: (
          <Values
            computation={missing === null ? draft.computation : null}
            missing={missing}
            traitKey={key}
          />
        ),
      }}
    >
      {trait === null ? null : (
        <SyncStep
          synced={trait}
          isDone
          sent={{
            users: trait.users,
            words: `${trait.users === 1 ? "user has" : "users have"} a value, as last sent`,
          }}
          words={{ entered: "sent", left: "removed" }}
          onSync={() => call("computedTraits.sync", { id: trait.id })}
          onCancel={() => call("computedTraits.cancelSync", { id: trait.id })}
        />
      )}
    </ComputedFrame>
  );
}

const aggregateOptions = aggregates.map((value) => ({ value, label: aggregateWords[value] }));

function ComputationFields({
  computation,
  onChange,
}: {
  computation: Computation;
  onChange: (computation: Computation) => void;
}) {
  const { events } = useSeenNames();
  const { aggregate, event, property = "", ...conditions } = computation;
  const properties = events.find((seen) => seen.event === event)?.properties ?? [];
  return (
    <div className="rule-editor computation" role="group" aria-label="Computation">
      <div className="rule-fields">
        <SelectField
          aria-label="Aggregate"
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
          onChange={({ atLeast: _, ...next }) =>
            onChange({ aggregate, ...next, ...(aggregate === "count" ? {} : { property }) })
          }
        />
      </div>
    </div>
  );
}

function Values({
  computation,
  missing,
  traitKey,
}: {
  computation: Computation | null;
  missing: string | null;
  traitKey: string;
}) {
  const { value: debounced, isOld } = useDebounced(computation);
  const { answer, error } = useLive(
    "computedTraits.preview",
    debounced === null ? null : { computation: debounced, sample: 8 },
  );
  let said: ReactNode = <span className="quiet">{missing ?? "…"}</span>;
  if (missing === null && answer !== undefined) {
    said = (
      <>
        <b>{count(answer.count)}</b>{" "}
        <span className="muted">
          of {count(answer.profiles)} known {answer.profiles === 1 ? "user has" : "users have"} a
          value
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
        <ul className="sample" aria-label="Sample">
          {answer.sample.map(({ userId, profileId, value }) => (
            <li key={userId}>
              <code className="clip isolate">{userId}</code>
              <code className="clip isolate">
                {traitKey}: {valueText(value)}
              </code>
              <a
                className="link quiet"
                href={hrefTo("profiles", profileId)}
                aria-label={`profile of ${userId}`}
              >
                profile
              </a>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
