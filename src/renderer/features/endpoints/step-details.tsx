/** The rest of a step: its delay, its share, the messages it is for, the headers and body of its answer. */

import { messageTypes, type MessageType } from "../../../domain/states.ts";
import { CommitField } from "../../kit/commit-field.tsx";
import { SelectField } from "../../kit/controls.tsx";
import { durationText, parseDuration } from "../../kit/duration-text.ts";
import { headerLines, parseHeaderLines } from "./header-lines.ts";
import type { ProgramStep } from "./program-text.ts";

type Change = (step: ProgramStep) => Promise<void>;

export function StepDetails({ step, number, onChange }: { step: ProgramStep; number: number; onChange: Change }) {
  const hasHead = step.do === "answer" || step.do === "truncate" || step.do === "drip" || step.do === "redirect";
  return (
    <>
      <CommitField
        label="Delay"
        small
        text={step.delayMs === undefined ? "" : durationText(step.delayMs)}
        placeholder="none"
        hint="clock time"
        check={(text) => (text.trim() === "" || parseDuration(text) !== null ? null : "A time is written as 4.8 s or 250 ms.")}
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
        check={(text) => (text.trim() === "" || (Number(text) >= 0 && Number(text) <= 100) ? null : "A share is between 0 and 100 %.")}
        onCommit={(text) => onChange(without(step, "chance", text.trim() === "" ? null : Number(text) / 100))}
      />
      <div className="commit">
        <label className="labelled-name" htmlFor={`step-${number}-type`}>
          Only for type
        </label>
        <SelectField
          id={`step-${number}-type`}
          value={step.match?.type ?? ""}
          options={[{ value: "", label: "any" }, ...messageTypes.map((type) => ({ value: type, label: type }))]}
          onChange={(type) => void onChange(matching(step, "type", type)).catch(() => undefined)}
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
      {hasHead ? (
        <CommitField
          label="Headers of the answer"
          name="wide"
          mono
          rows={2}
          placeholder={step.do === "redirect" ? "Location: http://127.0.0.1:8080/elsewhere" : "Retry-After: 5"}
          text={headerLines(step.headers ?? {})}
          check={(text) => parseHeaderLines(text).problem}
          onCommit={(text) => {
            const { headers } = parseHeaderLines(text);
            return onChange(without(step, "headers", headers === null || Object.keys(headers).length === 0 ? null : headers));
          }}
        />
      ) : null}
      {hasHead || step.do === "garbage" ? (
        <CommitField
          label={step.do === "garbage" ? "Bytes, as text" : "Body of the answer"}
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

function without<Name extends "delayMs" | "chance" | "headers" | "body">(
  step: ProgramStep,
  name: Name,
  value: ProgramStep[Name] | null,
): ProgramStep {
  const { [name]: _, ...others } = step;
  return (value === null ? others : { ...others, [name]: value }) as ProgramStep;
}

function matching(step: ProgramStep, name: "type" | "event" | "userId", value: string): ProgramStep {
  const { match = {}, ...others } = step;
  const { [name]: _, ...kept } = match;
  const next = value === "" ? kept : { ...kept, [name]: value as MessageType };
  return Object.keys(next).length === 0 ? others : { ...others, match: next };
}
