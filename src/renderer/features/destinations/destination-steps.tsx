/** The steps of setting up a destination, in the order a user knows, on one page. */

import { useEffect, useId, useState } from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
import { audienceCalls } from "../../../domain/configuration.ts";
import { FieldNote } from "../../kit/commit-field.tsx";
import { Button, CheckField, CheckList, Choice, SelectField } from "../../kit/controls.tsx";
import { NameField, Step } from "../../kit/draft-form.tsx";
import { durationText } from "../../kit/duration-text.ts";
import { retriedWords, scheduleWords } from "../../kit/retry-words.ts";
import { useAction } from "../../kit/use-action.ts";
import { useLive, useOnce } from "../../stores/live-data.ts";
import { call } from "../../transport/transport.ts";
import { Findings } from "../settings/parity-section.tsx";
import {
  type Destination,
  type DestinationDraft,
  type DraftProblems,
  ofKind,
} from "./destination-draft.ts";
import { MappingsEditor } from "./mapping-editor.tsx";
import { HeaderFields, WebhookFields } from "./webhook-fields.tsx";

type DestinationStepsProps = {
  draft: DestinationDraft;
  problems: DraftProblems;
  /** Also what has not been typed in yet. */
  showsAll: boolean;
  sources: AnswerOf<"sources.list">["items"];
  /** Undefined: it does not exist yet. */
  destinationId: string | undefined;
  /** As it is, when nothing is unsaved: then faults can be put in front of its webhooks. */
  saved?: Destination | undefined;
  hasSharedSecret: boolean;
  onChange: (changes: Partial<DestinationDraft>) => void;
};

export function DestinationSteps(props: DestinationStepsProps) {
  const { draft, problems, showsAll, sources, destinationId, hasSharedSecret, onChange } = props;
  const isMapped = draft.kind === "webhooks-actions";
  const isNew = destinationId === undefined;
  return (
    <ol className="numbered">
      <KindStep {...props} />
      <Step number={2} title="Sources" isDone={draft.sourceIds.length > 0}>
        <SourcesField
          sources={sources}
          chosen={draft.sourceIds}
          onChange={(sourceIds) => onChange({ sourceIds })}
        />
      </Step>
      {isMapped ? (
        <Step
          number={3}
          title="Mappings"
          note="one to five"
          isDone={problems.mappings.every(({ isWrong }) => !isWrong)}
        >
          <MappingsEditor
            draft={draft}
            destinationId={destinationId}
            problems={problems.mappings}
            showsAll={showsAll}
            onChange={(mappings) => onChange({ mappings })}
          />
        </Step>
      ) : (
        <WebhookSteps {...props} />
      )}
      <Step
        number={isMapped ? 4 : 5}
        title="Shared secret"
        note="optional"
        isDone={
          draft.sharedSecret === undefined
            ? hasSharedSecret
            : draft.sharedSecret !== null && draft.sharedSecret !== ""
        }
      >
        <SecretField
          destinationId={destinationId ?? null}
          covers={isMapped ? "its data, of a batch of the first element" : "its body’s bytes"}
          hasSharedSecret={hasSharedSecret}
          value={draft.sharedSecret}
          isLost={draft.hasLostSecret === true}
          onChange={(sharedSecret) => onChange({ sharedSecret, hasLostSecret: false })}
        />
      </Step>
      <Step
        number={isMapped ? 5 : 6}
        title={isMapped ? "Retries and audiences" : "Retries, payload and audiences"}
        isDone
      >
        <RetryProfileField
          value={draft.retryProfile}
          onChange={(retryProfile) => onChange({ retryProfile })}
        />
        {isMapped ? null : (
          <PayloadField value={draft.payload} onChange={(payload) => onChange({ payload })} />
        )}
        <AudienceCallsField
          value={draft.audienceCalls}
          onChange={(value) => onChange({ audienceCalls: value })}
        />
      </Step>
      {isNew ? (
        <Step number={isMapped ? 6 : 7} title="Enable" isDone={draft.enabled}>
          <CheckField
            role="switch"
            label="Send new messages"
            checked={draft.enabled}
            onChange={(event) => onChange({ enabled: event.currentTarget.checked })}
          />
        </Step>
      ) : null}
    </ol>
  );
}

/** What it is, and its name. */
function KindStep({ draft, problems, destinationId, onChange }: DestinationStepsProps) {
  const catalog = useOnce("catalog.list", {}).answer?.items ?? [];
  const entry = catalog.find(({ kind }) => kind === draft.kind);
  return (
    <Step number={1} title="Destination" isDone={problems.name === null}>
      {destinationId === undefined && catalog.length > 0 ? (
        <Choice
          label="Kind of destination"
          value={draft.kind}
          options={catalog.map(({ kind, title }) => ({ value: kind, label: title }))}
          onChange={(kind) => onChange(ofKind(kind, draft))}
        />
      ) : null}
      <p className="muted">
        <b className="strong">{entry?.title ?? "Webhooks"}</b>, from the catalog.{" "}
        {entry?.description} In the integrations object its name is{" "}
        <code>{entry?.name ?? "Webhooks"}</code>.
      </p>
      <NameField name={draft.name} error={problems.name} onChange={(name) => onChange({ name })} />
    </Step>
  );
}

/** URLs and headers of the classic kind. */
function WebhookSteps({
  draft,
  problems,
  showsAll,
  destinationId,
  saved,
  onChange,
}: DestinationStepsProps) {
  return (
    <>
      <Step
        number={3}
        title="Webhook URLs"
        note="one to five"
        isDone={problems.webhooks.every(({ url }) => url === null)}
      >
        <WebhookFields
          webhooks={draft.webhooks}
          problems={problems.webhooks}
          showsAll={showsAll}
          saved={saved}
          onChange={(webhooks) => onChange({ webhooks })}
        />
        {destinationId === undefined ? null : <HostedNotes destinationId={destinationId} />}
      </Step>
      <Step
        number={4}
        title="Headers"
        note="optional, up to five for each webhook"
        isDone={
          draft.webhooks.some(({ headers }) => headers.length > 0) &&
          problems.webhooks.every(({ headers }) => headers.every((each) => each === null))
        }
      >
        <HeaderFields
          webhooks={draft.webhooks}
          problems={problems.webhooks}
          onChange={(webhooks) => onChange({ webhooks })}
        />
      </Step>
    </>
  );
}

/** What would not work at the hosted service, where everything else is like it. */
function HostedNotes({ destinationId }: { destinationId: string }) {
  const { answer } = useLive("settings.parity", {});
  const findings =
    answer?.parity === "hosted"
      ? answer.findings.filter((finding) => finding.destinationId === destinationId)
      : [];
  if (findings.length === 0) return null;
  return (
    <div className="hosted-notes">
      <p className="strong" id="hosted-notes">
        At the hosted service
      </p>
      <Findings findings={findings} labelledBy="hosted-notes" />
    </div>
  );
}

function SourcesField({
  sources,
  chosen,
  onChange,
}: {
  sources: AnswerOf<"sources.list">["items"];
  chosen: readonly string[];
  onChange: (sourceIds: string[]) => void;
}) {
  if (sources.length === 0) {
    return (
      <p className="muted">
        There is no source yet.{" "}
        <a className="link" href="#/sources">
          Create one
        </a>
        ; your input here is kept.
      </p>
    );
  }
  return (
    <>
      <CheckList
        label="Sources"
        items={sources}
        chosen={chosen}
        remark={({ kind }) => kind}
        onChange={onChange}
      />
      {chosen.length === 0 ? <p className="quiet">Without a source, it gets no messages.</p> : null}
    </>
  );
}

function AudienceCallsField({
  value,
  onChange,
}: {
  value: Destination["audienceCalls"];
  onChange: (value: Destination["audienceCalls"]) => void;
}) {
  return (
    <div className="payload-field">
      <span className="muted">Audiences as</span>
      <Choice label="Audiences as" value={value} options={audienceCalls} onChange={onChange} />
      <p className="quiet">
        {value === "track" ? null : (
          <>
            An <code>identify</code> with the value as a trait.{" "}
          </>
        )}
        {value === "identify" ? null : (
          <>
            <code>Audience Entered</code>, <code>Audience Exited</code>, <code>Trait Computed</code>
            .
          </>
        )}
      </p>
    </div>
  );
}

function PayloadField({
  value,
  onChange,
}: {
  value: Destination["payload"];
  onChange: (payload: Destination["payload"]) => void;
}) {
  return (
    <div className="payload-field">
      <span className="muted">Payload</span>
      <Choice label="Payload" value={value} options={["documented", "full"]} onChange={onChange} />
      <p className="quiet">
        {value === "documented" ? (
          "The fields that the documentation lists for each type."
        ) : (
          <>
            Adds <code>receivedAt</code>, <code>sentAt</code>, <code>originalTimestamp</code>,{" "}
            <code>integrations</code>, <code>channel</code>.
          </>
        )}
      </p>
    </div>
  );
}

/** The retry profile of a destination, with its schedule in words. */
function RetryProfileField({
  value,
  onChange,
}: {
  value: string;
  onChange: (name: string) => void;
}) {
  const id = useId();
  const profiles = useLive("retryProfiles.list", {}).answer?.items ?? [];
  const profile = profiles.find(({ name }) => name === value);
  return (
    <div className="profile-field">
      <label className="muted" htmlFor={id}>
        Retry profile
      </label>
      <SelectField
        id={id}
        value={value}
        options={profiles.map(({ name, builtIn }) => ({
          value: name,
          label: builtIn ? name : `${name} (custom)`,
        }))}
        onChange={onChange}
      />
      {profile === undefined ? null : (
        <dl className="profile-words">
          <dt>schedule</dt>
          <dd>{scheduleWords(profile)}</dd>
          <dt>window</dt>
          <dd>at most {durationText(profile.windowMs)} after the first attempt</dd>
          <dt>retries</dt>
          <dd>{retriedWords(profile)}</dd>
          <dt>deadline</dt>
          <dd>the complete response within {durationText(profile.timeoutMs)}</dd>
        </dl>
      )}
      <a className="link muted" href="#/settings/retry-profiles">
        Create a retry profile
      </a>
    </div>
  );
}

/** The shared secret: hidden until it is asked for, and asked of the API only then. */
function SecretField({
  destinationId,
  covers,
  hasSharedSecret,
  value,
  isLost,
  onChange,
}: {
  destinationId: string | null;
  /** What is signed. */
  covers: string;
  hasSharedSecret: boolean;
  /** Undefined: as it is saved. */
  value: string | null | undefined;
  isLost: boolean;
  onChange: (value: string | null | undefined) => void;
}) {
  const id = useId();
  const [isShown, setIsShown] = useState(false);
  const [saved, setSaved] = useState<string | null>(null);
  const { problem, run } = useAction();
  const isUnchanged = value === undefined;
  const isSaved = isUnchanged && hasSharedSecret;

  // After a change or a discard, the shown secret is out of date.
  useEffect(() => {
    setSaved(null);
    if (isUnchanged) setIsShown(false);
  }, [isUnchanged, hasSharedSecret]);

  const show = async (): Promise<void> => {
    if (isSaved && destinationId !== null)
      setSaved((await call("destinations.secret", { id: destinationId })).sharedSecret);
    setIsShown(true);
  };
  const text = value === undefined ? (isShown ? (saved ?? "") : "") : (value ?? "");

  return (
    <>
      <div className="secret-field">
        <label className="sr" htmlFor={id}>
          Shared secret
        </label>
        <span className="field mono">
          <input
            id={id}
            type={isShown ? "text" : "password"}
            spellCheck={false}
            autoComplete="off"
            placeholder={
              isSaved ? "••••••••  set; type to replace" : "none: requests are not signed"
            }
            value={text}
            aria-describedby={`${id}-note`}
            onChange={(event) =>
              onChange(
                event.currentTarget.value === "" && !hasSharedSecret
                  ? null
                  : event.currentTarget.value,
              )
            }
          />
        </span>
        <Button
          icon="show"
          disabled={!isSaved && text === ""}
          onClick={() => (isShown ? setIsShown(false) : run("show", show))}
        >
          {isShown ? "Hide" : "Show"}
        </Button>
        {isSaved ? (
          <Button look="quiet" onClick={() => onChange(null)}>
            Remove
          </Button>
        ) : null}
      </div>
      <FieldNote
        id={`${id}-note`}
        error={
          problem?.message ??
          (isLost ? "The secret is not kept over a reload of the page. Type it again." : null)
        }
        hint={
          hasSharedSecret && value !== undefined && (value === null || value === "") ? (
            "After you save, requests no longer carry X-Signature."
          ) : (
            <>
              Each request then carries <code>X-Signature</code>: the HMAC-SHA1 of {covers}, keyed
              with this secret, in lower-case hex.
            </>
          )
        }
      />
    </>
  );
}
