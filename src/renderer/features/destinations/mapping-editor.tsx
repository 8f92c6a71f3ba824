/** The mappings of a destination: the list, and the open one in four steps. */

import { useId } from "react";
import { batchKeys, mappingMethods } from "../../../domain/configuration.ts";
import { FieldNote } from "../../kit/commit-field.tsx";
import { Button, CheckField, Choice, IconButton, TextField } from "../../kit/controls.tsx";
import { NameField, Step } from "../../kit/draft-form.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { useAction } from "../../kit/use-action.ts";
import { count, some } from "../../kit/words.ts";
import { usePlace } from "../../stores/place.ts";
import { offerUndo } from "../../stores/undo.ts";
import type { DestinationDraft } from "./destination-draft.ts";
import {
  type MappingDraft,
  type MappingProblems,
  maxMappings,
  newMapping,
  readText,
  triggerWarnings,
} from "./mapping-draft.ts";
import { DataFields, MappedHeaders } from "./mapping-fields.tsx";
import { useMappingPreview, useOpenMapping } from "./use-mapping-preview.ts";
import { EndpointMenu } from "./webhook-fields.tsx";

type MappingsProps = {
  draft: DestinationDraft;
  destinationId: string | undefined;
  problems: readonly MappingProblems[];
  showsAll: boolean;
  onChange: (mappings: MappingDraft[]) => void;
};

export function MappingsEditor(props: MappingsProps) {
  const { draft, problems, onChange } = props;
  const { mappings } = draft;
  const open = useOpenMapping(draft);
  const mapping = mappings[open];
  const wrong = problems[open];
  return (
    <>
      <ol className="mapping-list" aria-label="Mappings">
        {mappings.map((each, place) => (
          <MappingEntry
            // oxlint-disable-next-line react/no-array-index-key -- a name that is being typed has nothing but its place
            key={place}
            {...props}
            mapping={each}
            place={place}
            isOpen={place === open}
          />
        ))}
      </ol>
      {mappings.length < maxMappings ? (
        <Button
          small
          icon="add"
          onClick={() => {
            onChange([...mappings, newMapping(mappings)]);
            openMapping(mappings.length);
          }}
        >
          Add a mapping
        </Button>
      ) : (
        <p className="quiet">A destination has at most {maxMappings} mappings.</p>
      )}
      {mapping === undefined || wrong === undefined ? null : (
        <OpenMapping
          key={open}
          {...props}
          mapping={mapping}
          place={open}
          wrong={wrong}
          onMapping={(changes) => onChange(mappings.with(open, { ...mapping, ...changes }))}
        />
      )}
    </>
  );
}

const openMapping = (place: number): void =>
  usePlace.getState().change({ query: { mapping: String(place + 1), message: null } });

type EntryProps = MappingsProps & { mapping: MappingDraft; place: number; isOpen: boolean };

function MappingEntry({ mapping, place, isOpen, onChange, ...props }: EntryProps) {
  const { preview } = useMappingPreview(props, place);
  const { mappings } = props.draft;
  const { name, trigger, enabled } = mapping;
  const isWrong = props.problems[place]?.isWrong === true && props.showsAll;
  return (
    <li className={isOpen ? "mapping-entry open" : "mapping-entry"}>
      <button type="button" aria-current={isOpen || undefined} onClick={() => openMapping(place)}>
        <span className="strong clip isolate">{name || "no name"}</span>
        <code className="clip isolate muted">{trigger.trim() || "all messages"}</code>
      </button>
      <span className="quiet" title={`Of the last ${some(preview?.looked ?? 100, "message")}`}>
        {isWrong ? "incomplete" : preview === undefined ? "" : count(preview.matching.length)}
      </span>
      <CheckField
        role="switch"
        aria-label={`Enable ${name}`}
        label={enabled ? "on" : "off"}
        checked={enabled}
        onChange={(event) =>
          onChange(mappings.with(place, { ...mapping, enabled: event.currentTarget.checked }))
        }
      />
      {mappings.length === 1 ? (
        <span />
      ) : (
        <IconButton
          small
          icon="close"
          label={`Remove ${name}`}
          onClick={() => {
            onChange(mappings.toSpliced(place, 1));
            offerUndo(`Removed ${name}`);
            openMapping(0);
          }}
        />
      )}
    </li>
  );
}

type OpenProps = MappingsProps & {
  mapping: MappingDraft;
  place: number;
  wrong: MappingProblems;
  onMapping: (changes: Partial<MappingDraft>) => void;
};

function OpenMapping(props: OpenProps) {
  const { mapping, place, wrong, showsAll, onMapping } = props;
  const { preview, error } = useMappingPreview(props, place);
  const { trigger, data, batch } = mapping;
  const matches =
    preview === undefined || wrong.trigger !== null
      ? undefined
      : `${count(preview.matching.length)} of the last ${some(preview.looked, "message")}`;
  return (
    <div className="open-mapping" role="group" aria-label={`Mapping ${mapping.name}`}>
      <NameField
        label="Name of the mapping"
        name={mapping.name}
        error={wrong.name}
        onChange={(name) => onMapping({ name })}
      />
      <ProblemText error={error} />
      <ol className="numbered">
        <Step number={1} title="Trigger" note={matches} isDone={wrong.trigger === null}>
          <TriggerField
            trigger={trigger}
            error={wrong.trigger}
            onChange={(next) => onMapping({ trigger: next })}
          />
        </Step>
        <Step
          number={2}
          title="Request"
          isDone={wrong.url === null && wrong.headers.every((each) => each === null)}
        >
          <UrlField
            url={mapping.url}
            error={mapping.url === "" && !showsAll ? null : wrong.url}
            onChange={(url) => onMapping({ url })}
          />
          <Choice
            small
            label="Method"
            value={mapping.method}
            options={mappingMethods}
            onChange={(method) => onMapping({ method })}
          />
          <MappedHeaders
            pairs={mapping.headers}
            problems={wrong.headers}
            onChange={(headers) => onMapping({ headers })}
          />
        </Step>
        <Step number={3} title="Data" isDone={wrong.data.every((each) => each === null)}>
          <DataFields
            pairs={data}
            problems={wrong.data}
            body={preview?.shown?.request?.body}
            onChange={(next) => onMapping({ data: next })}
          />
        </Step>
        <Step number={4} title="Batch" isDone={batch.enabled && wrong.size === null}>
          <BatchFields
            batch={batch}
            error={wrong.size}
            onChange={(changes) => onMapping({ batch: { ...batch, ...changes } })}
          />
        </Step>
      </ol>
    </div>
  );
}

function TriggerField({
  trigger,
  error,
  onChange,
}: {
  trigger: string;
  error: string | null;
  onChange: (trigger: string) => void;
}) {
  const id = useId();
  const warnings = triggerWarnings(trigger);
  return (
    <>
      <TextField
        mono
        aria-label="Trigger"
        aria-describedby={`${id}-note`}
        aria-invalid={error !== null || undefined}
        placeholder="all messages"
        value={trigger}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
      <FieldNote
        id={`${id}-note`}
        error={error}
        hint={
          warnings.length > 0
            ? `Check this: ${warnings.join(" ")}`
            : trigger === ""
              ? 'For example type = "track" and event = "Order Completed".'
              : undefined
        }
      />
    </>
  );
}

function UrlField({
  url,
  error,
  onChange,
}: {
  url: string;
  error: string | null;
  onChange: (url: string) => void;
}) {
  const id = useId();
  const { problem, run } = useAction();
  const { as } = readText(url, "text");
  return (
    <>
      <div className="mapped-url">
        <TextField
          mono
          aria-label="URL"
          aria-describedby={`${id}-note`}
          aria-invalid={error !== null || undefined}
          placeholder="https://example.com/{{type}}"
          value={url}
          unit={as === "text" || as === null ? "" : as}
          onChange={(event) => onChange(event.currentTarget.value)}
        />
        <EndpointMenu label="Choose a test endpoint" run={run} onChoose={onChange} />
      </div>
      <FieldNote id={`${id}-note`} error={error} />
      <ProblemText error={problem} />
    </>
  );
}

type BatchProps = {
  batch: MappingDraft["batch"];
  error: string | null;
  onChange: (changes: Partial<MappingDraft["batch"]>) => void;
};

function BatchFields({ batch: { enabled, size, keys }, error, onChange }: BatchProps) {
  const id = useId();
  return (
    <>
      <CheckField
        role="switch"
        label="Collect messages into one request"
        checked={enabled}
        onChange={(event) => onChange({ enabled: event.currentTarget.checked })}
      />
      {enabled || error !== null ? (
        <>
          <div className="batch-fields">
            <label htmlFor={id}>up to</label>
            <TextField
              id={id}
              inputMode="numeric"
              aria-describedby={`${id}-note`}
              aria-invalid={error !== null || undefined}
              value={size}
              onChange={(event) => onChange({ size: event.currentTarget.value })}
            />
            <span className="muted">messages that agree in</span>
            {batchKeys.map((key) => (
              <CheckField
                key={key}
                label={key}
                checked={keys.includes(key)}
                onChange={(event) => {
                  const { checked } = event.currentTarget;
                  onChange({
                    keys: batchKeys.filter((each) =>
                      each === key ? checked : keys.includes(each),
                    ),
                  });
                }}
              />
            ))}
          </div>
          <FieldNote id={`${id}-note`} error={error} />
        </>
      ) : null}
    </>
  );
}
