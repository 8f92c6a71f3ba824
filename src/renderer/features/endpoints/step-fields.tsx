/** What a step does, and the one or two values that say it exactly. */

import { type ReactElement, useState } from "react";
import { stepActions, stepBehaviours } from "../../../domain/configuration.ts";
import { messageTypes, type MessageType } from "../../../domain/states.ts";
import { CommitField } from "../../kit/commit-field.tsx";
import { SelectField } from "../../kit/controls.tsx";
import { durationText, parseDuration } from "../../kit/duration-text.ts";
import { ForwardDetails, ReceiverField } from "./forward-fields.tsx";
import { headerLines, parseHeaderLines, usualReceiver, type ProgramStep } from "./program-text.ts";
import {
  redirectStatuses,
  statusOf,
  statusWords,
  usualDripMs,
  usualStatuses,
} from "./step-outcomes.ts";

type FieldsProps = {
  step: ProgramStep;
  number: number;
  onChange: (step: ProgramStep) => Promise<void>;
};

export function StepActionFields({ step, number, onChange }: FieldsProps) {
  return (
    <>
      <span className="do-field">
        <SelectField
          aria-label={`What step ${number} does`}
          value={step.do}
          options={stepActions}
          onChange={(does) => onChange(doing(step, does))}
        />
      </span>
      <Values step={step} number={number} onChange={onChange} />
    </>
  );
}

/** The same step doing something else: what the new action has no use for is left out. */
function doing(
  { status, forMs, headers, body, times, match, chance, delayMs }: ProgramStep,
  does: ProgramStep["do"],
): ProgramStep {
  const step = {
    ...(times === undefined ? {} : { times }),
    ...(match === undefined ? {} : { match }),
    ...(chance === undefined ? {} : { chance }),
    ...(delayMs === undefined ? {} : { delayMs }),
    ...(does === "forward" ? { to: usualReceiver } : {}),
  };
  const { answers, lasts } = stepBehaviours[does];
  const fits =
    does === "redirect"
      ? status !== undefined && status >= 300 && status < 400
      : status !== undefined;
  return {
    ...step,
    do: does,
    ...(answers && fits ? { status } : {}),
    ...(answers && headers !== undefined ? { headers } : {}),
    ...((answers || does === "garbage") && body !== undefined ? { body } : {}),
    ...(lasts && forMs !== undefined ? { forMs } : {}),
  };
}

function Values({ step, number, onChange }: FieldsProps): ReactElement {
  switch (step.do) {
    case "answer":
    case "truncate":
    case "redirect":
      return <StatusField step={step} number={number} onChange={onChange} />;
    case "hang":
      return <LastingField step={step} number={number} onChange={onChange} placeholder="no end" />;
    case "drip":
      return (
        <>
          <StatusField step={step} number={number} onChange={onChange} />
          <LastingField
            step={step}
            number={number}
            onChange={onChange}
            placeholder={durationText(usualDripMs)}
          />
        </>
      );
    case "reset":
      return <span className="said muted clip">after the request is read</span>;
    case "close":
      return <span className="said muted clip">without a response</span>;
    case "garbage":
      return <span className="said muted clip">bytes that are not HTTP</span>;
    case "forward":
      return <ReceiverField step={step} number={number} onChange={onChange} />;
  }
}

function StatusField({ step, number, onChange }: FieldsProps) {
  const [isOther, setIsOther] = useState(false);
  const status = statusOf(step);
  const usual = step.do === "redirect" ? redirectStatuses : usualStatuses;
  if (isOther) {
    return (
      <CommitField
        label={`Status of step ${number}`}
        shown="hidden"
        name="status-number"
        small
        startsSelected
        inputMode="numeric"
        text={String(status)}
        check={(text) =>
          /^[2-9]\d\d$/.test(text.trim()) ? null : "Enter a status from 200 to 999."
        }
        onCommit={async (text) => {
          await onChange({ ...step, status: Number(text) });
          setIsOther(false);
        }}
      />
    );
  }
  const statuses = usual.includes(status) ? usual : [status, ...usual];
  return (
    <span className="status-field">
      <SelectField
        aria-label={`Status of step ${number}`}
        value={String(status)}
        options={[
          ...statuses.map((each) => ({ value: String(each), label: statusWords(each) })),
          { value: "other", label: "another status…" },
        ]}
        onChange={(value) => {
          if (value === "other") return setIsOther(true);
          return onChange({ ...step, status: Number(value) });
        }}
      />
    </span>
  );
}

function LastingField({
  step,
  number,
  onChange,
  placeholder,
}: FieldsProps & { placeholder: string }) {
  return (
    <CommitField
      label={`How long step ${number} lasts, in clock time`}
      shown="hidden"
      name="time-field"
      small
      placeholder={placeholder}
      text={step.forMs === undefined ? "" : durationText(step.forMs)}
      check={(text) =>
        text.trim() === "" || parseDuration(text) !== null
          ? null
          : "Enter a time such as 5.1 s, 250 ms or 2 m."
      }
      onCommit={(text) => {
        const { forMs: _, ...others } = step;
        const ms = parseDuration(text);
        return onChange(ms === null ? others : { ...others, forMs: ms });
      }}
    />
  );
}

/**
 * The rest of a step: its delay, its share, the messages it is for, the headers and body of its
 * answer.
 */
export function StepDetails({ step, number, onChange }: FieldsProps) {
  const replaces = step.do === "forward" && step.status !== undefined;
  const hasHead = replaces || stepBehaviours[step.do].answers;
  return (
    <>
      {step.do === "forward" ? (
        <ForwardDetails step={step} number={number} onChange={onChange} />
      ) : null}
      <CommitField
        label={step.do === "forward" ? "Delay before" : "Delay"}
        small
        text={step.delayMs === undefined ? "" : durationText(step.delayMs)}
        placeholder="none"
        hint="clock time"
        check={(text) =>
          text.trim() === "" || parseDuration(text) !== null
            ? null
            : "Enter a time such as 4.8 s or 250 ms."
        }
        onCommit={(text) => onChange(without(step, "delayMs", parseDuration(text)))}
      />
      <CommitField
        label="Share"
        small
        unit="%"
        text={step.chance === undefined ? "" : String(Number((step.chance * 100).toPrecision(12)))}
        placeholder="all"
        hint="drawn from the seed"
        inputMode="decimal"
        check={(text) =>
          text.trim() === "" || (Number(text) >= 0 && Number(text) <= 100)
            ? null
            : "Enter a percentage from 0 to 100."
        }
        onCommit={(text) =>
          onChange(without(step, "chance", text.trim() === "" ? null : Number(text) / 100))
        }
      />
      <MatchFields step={step} number={number} onChange={onChange} />
      {hasHead ? (
        <CommitField
          label="Response headers"
          name="wide"
          mono
          rows={2}
          placeholder={
            step.do === "redirect" ? "Location: http://127.0.0.1:8080/elsewhere" : "Retry-After: 5"
          }
          text={headerLines(step.headers ?? {})}
          check={(text) => parseHeaderLines(text).problem}
          onCommit={(text) => {
            const { headers } = parseHeaderLines(text);
            return onChange(
              without(
                step,
                "headers",
                headers === null || Object.keys(headers).length === 0 ? null : headers,
              ),
            );
          }}
        />
      ) : null}
      {hasHead || step.do === "garbage" ? (
        <CommitField
          label={step.do === "garbage" ? "Bytes, as text" : "Response body"}
          name="wide"
          mono
          rows={3}
          placeholder='{"error":"maintenance"}'
          text={step.body ?? ""}
          onCommit={(text) => onChange(without(step, "body", text === "" ? null : text))}
        />
      ) : null}
    </>
  );
}

/** The messages that the step is for. */
function MatchFields({ step, number, onChange }: FieldsProps) {
  return (
    <>
      <div className="commit">
        <label className="labelled-name" htmlFor={`step-${number}-type`}>
          Only for type
        </label>
        <SelectField
          id={`step-${number}-type`}
          value={step.match?.type ?? ""}
          options={[{ value: "", label: "any" }, ...messageTypes]}
          onChange={(type) => onChange(matching(step, "type", type))}
        />
      </div>
      <CommitField
        label="Only for event"
        small
        text={step.match?.event ?? ""}
        placeholder="any"
        onCommit={(event) => onChange(matching(step, "event", event))}
      />
      <CommitField
        label="Only for user"
        small
        text={step.match?.userId ?? ""}
        placeholder="any"
        onCommit={(userId) => onChange(matching(step, "userId", userId))}
      />
    </>
  );
}

function without<Name extends "delayMs" | "chance" | "headers" | "body">(
  step: ProgramStep,
  name: Name,
  value: ProgramStep[Name] | null,
): ProgramStep {
  const { [name]: _, ...others } = step;
  return (value === null ? others : { ...others, [name]: value }) as ProgramStep;
}

function matching(
  step: ProgramStep,
  name: "type" | "event" | "userId",
  value: string,
): ProgramStep {
  const { match = {}, ...others } = step;
  const { [name]: _, ...kept } = match;
  const next = value === "" ? kept : { ...kept, [name]: value as MessageType };
  return Object.keys(next).length === 0 ? others : { ...others, match: next };
}
