/** The steps of setting up a destination, in the order a user knows, on one page. */

import type { AnswerOf } from "../../../contract/contract.ts";
import { CheckField, Choice } from "../../kit/controls.tsx";
import { NameField } from "../../kit/name-field.tsx";
import { Step } from "../../kit/numbered-step.tsx";
import { useOnce } from "../../stores/live-data.ts";
import type { DestinationDraft, DraftProblems } from "./destination-draft.ts";
import { HeaderFields } from "./header-fields.tsx";
import { RetryProfileField } from "./retry-profile-field.tsx";
import { SecretField } from "./secret-field.tsx";
import { WebhookFields } from "./webhook-fields.tsx";

type DestinationStepsProps = {
  draft: DestinationDraft;
  problems: DraftProblems;
  /** Also what has not been typed in yet. */
  showsAll: boolean;
  sources: AnswerOf<"sources.list">["items"];
  /** Null-like for one that does not exist yet. */
  destinationId?: string;
  hasSharedSecret: boolean;
  onChange: (changes: Partial<DestinationDraft>) => void;
};

export function DestinationSteps(props: DestinationStepsProps) {
  const { draft, problems, showsAll, sources, destinationId, hasSharedSecret, onChange } = props;
  const entry = useOnce("catalog.list", {}).answer?.items[0];
  const isNew = destinationId === undefined;
  return (
    <ol className="numbered">
      <Step number={1} title="Destination" isDone={problems.name === null}>
        <p className="muted">
          <b className="strong">{entry?.title ?? "Webhooks"}</b>, from the catalog. {entry?.description} In the integrations object its name
          is <code>{entry?.name ?? "Webhooks"}</code>.
        </p>
        <NameField name={draft.name} error={problems.name} onChange={(name) => onChange({ name })} />
      </Step>
      <Step number={2} title="Sources" isDone={draft.sourceIds.length > 0}>
        <SourcesField sources={sources} chosen={draft.sourceIds} onChange={(sourceIds) => onChange({ sourceIds })} />
      </Step>
      <Step number={3} title="Webhook URLs" note="one to five" isDone={problems.webhooks.every(({ url }) => url === null)}>
        <WebhookFields
          webhooks={draft.webhooks}
          problems={problems.webhooks}
          showsAll={showsAll}
          onChange={(webhooks) => onChange({ webhooks })}
        />
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
        <HeaderFields webhooks={draft.webhooks} problems={problems.webhooks} onChange={(webhooks) => onChange({ webhooks })} />
      </Step>
      <Step
        number={5}
        title="Shared secret"
        note="optional"
        isDone={draft.sharedSecret === undefined ? hasSharedSecret : draft.sharedSecret !== null && draft.sharedSecret !== ""}
      >
        <SecretField
          destinationId={destinationId ?? null}
          hasSharedSecret={hasSharedSecret}
          value={draft.sharedSecret}
          onChange={(sharedSecret) => onChange({ sharedSecret })}
        />
      </Step>
      <Step number={6} title="Retries and payload" isDone>
        <RetryProfileField value={draft.retryProfile} onChange={(retryProfile) => onChange({ retryProfile })} />
        <div className="payload-field">
          <span className="muted">Payload</span>
          <Choice
            label="Payload"
            value={draft.payload}
            options={[
              { value: "documented", label: "documented" },
              { value: "full", label: "full" },
            ]}
            onChange={(payload) => onChange({ payload })}
          />
          <p className="quiet">
            {draft.payload === "documented" ? (
              "The members that the documentation lists, for each type its own."
            ) : (
              <>
                Adds <code>receivedAt</code>, <code>sentAt</code>, <code>originalTimestamp</code>, <code>integrations</code>,{" "}
                <code>channel</code>.
              </>
            )}
          </p>
        </div>
      </Step>
      {isNew ? (
        <Step number={7} title="Enable" isDone={draft.enabled}>
          <CheckField
            role="switch"
            label="Send what comes from now on"
            checked={draft.enabled}
            onChange={(event) => onChange({ enabled: event.currentTarget.checked })}
          />
        </Step>
      ) : null}
    </ol>
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
          Make one
        </a>
        ; what is typed here stays.
      </p>
    );
  }
  return (
    <>
      <div className="source-checks" role="group" aria-label="Sources">
        {sources.map(({ id, name, kind }) => (
          <CheckField
            key={id}
            label={
              <span className="source-check">
                <span className="isolate clip">{name}</span> <span className="quiet">{kind}</span>
              </span>
            }
            checked={chosen.includes(id)}
            onChange={(event) => onChange(event.currentTarget.checked ? [...chosen, id] : chosen.filter((each) => each !== id))}
          />
        ))}
      </div>
      {chosen.length === 0 ? <p className="quiet">Connected to none, it gets no messages.</p> : null}
    </>
  );
}
