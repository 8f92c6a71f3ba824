/** What a step does, and the one or two values that say it exactly. */

import { useState } from "react";
import { stepActions } from "../../../domain/configuration.ts";
import { CommitField } from "../../kit/commit-field.tsx";
import { SelectField } from "../../kit/controls.tsx";
import { durationText, parseDuration } from "../../kit/duration-text.ts";
import type { ProgramStep } from "./program-text.ts";
import { redirectStatuses, statusOf, statusWords, usualDripMs, usualStatuses } from "./step-words.ts";

type FieldsProps = { step: ProgramStep; number: number; onChange: (step: ProgramStep) => Promise<void> };

export function StepActionFields({ step, number, onChange }: FieldsProps) {
  return (
    <>
      <span className="do-field">
        <SelectField
          aria-label={`What step ${number} does`}
          value={step.do}
          options={stepActions.map((each) => ({ value: each, label: each }))}
          onChange={(does) => void onChange(doing(step, does)).catch(() => undefined)}
        />
      </span>
      <Values step={step} number={number} onChange={onChange} />
    </>
  );
}

/** The same step doing something else: what the new action has no use for is left out. */
function doing({ status, forMs, headers, body, ...step }: ProgramStep, does: ProgramStep["do"]): ProgramStep {
  const answers = does === "answer" || does === "truncate" || does === "drip" || does === "redirect";
  const fits = does === "redirect" ? status !== undefined && status >= 300 && status < 400 : status !== undefined;
  return {
    ...step,
    do: does,
    ...(answers && fits ? { status } : {}),
    ...(answers && headers !== undefined ? { headers } : {}),
    ...((answers || does === "garbage") && body !== undefined ? { body } : {}),
    ...((does === "hang" || does === "drip") && forMs !== undefined ? { forMs } : {}),
  };
}

function Values({ step, number, onChange }: FieldsProps) {
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
          <LastingField step={step} number={number} onChange={onChange} placeholder={durationText(usualDripMs)} />
        </>
      );
    case "reset":
      return <span className="said muted clip">after the request is read</span>;
    case "close":
      return <span className="said muted clip">without an answer</span>;
    case "garbage":
      return <span className="said muted clip">bytes that are not HTTP</span>;
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
        check={(text) => (/^[2-9]\d\d$/.test(text.trim()) ? null : "A status is a whole number from 200 to 999.")}
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
          if (value === "other") setIsOther(true);
          else void onChange({ ...step, status: Number(value) }).catch(() => undefined);
        }}
      />
    </span>
  );
}

function LastingField({ step, number, onChange, placeholder }: FieldsProps & { placeholder: string }) {
  return (
    <CommitField
      label={`How long step ${number} lasts, in clock time`}
      shown="hidden"
      name="time-field"
      small
      placeholder={placeholder}
      text={step.forMs === undefined ? "" : durationText(step.forMs)}
      check={(text) => (text.trim() === "" || parseDuration(text) !== null ? null : "A time is written as 5.1 s, 250 ms or 2 m.")}
      onCommit={(text) => {
        const { forMs: _, ...others } = step;
        const ms = parseDuration(text);
        return onChange(ms === null ? others : { ...others, forMs: ms });
      }}
    />
  );
}
