/** What a `forward` step does with a request on its way to a real receiver. */

import type { ReactNode } from "react";
import { holdOrders, losses, tamperings } from "../../../domain/configuration.ts";
import { checkWebhookUrl } from "../../../domain/webhook-rules.ts";
import { CommitField } from "../../kit/commit-field.tsx";
import { SelectField } from "../../kit/controls.tsx";
import { durationText, parseDuration } from "../../kit/duration-text.ts";
import { unmasked } from "../../transport/secrets.ts";
import type { ProgramStep } from "./program-text.ts";

type FieldsProps = {
  step: ProgramStep;
  number: number;
  onChange: (step: ProgramStep) => Promise<void>;
};

export function ReceiverField({ step, number, onChange }: FieldsProps) {
  return (
    <CommitField
      label={`Receiver of step ${number}`}
      shown="hidden"
      name="receiver-field"
      small
      mono
      placeholder="http://127.0.0.1:3000/"
      text={step.to ?? ""}
      check={(to) => checkWebhookUrl(unmasked(to))}
      onCommit={(to) => onChange({ ...step, to })}
    />
  );
}

/** Members that have no meaning without another one go with it. */
function withOne<Name extends keyof ProgramStep>(
  step: ProgramStep,
  name: Name,
  value: ProgramStep[Name] | null,
): ProgramStep {
  const { [name]: _, ...others } = step;
  const next = (value === null ? others : { ...others, [name]: value }) as ProgramStep;
  const without = (...names: (keyof ProgramStep)[]): ProgramStep =>
    Object.fromEntries(
      Object.entries(next).filter(([each]) => !names.includes(each as keyof ProgramStep)),
    ) as ProgramStep;
  if (name === "lose" && value === null) return without("loseAs");
  if (name === "lose" && value === "answer") return without("status", "headers", "body");
  if (name === "lose")
    return without(
      "status",
      "headers",
      "body",
      "delayAfterMs",
      "copies",
      "together",
      "tamper",
      "hold",
      "order",
      "forMs",
    );
  if (name === "loseAs" && value === "timeout") return without("delayAfterMs");
  if (name === "copies" && (value === null || value === 1)) return without("together");
  if (name === "hold" && value === null) return without("order", "forMs");
  if (name === "status" && value === null) return without("headers", "body");
  return next;
}

export function ForwardDetails({ step, number, onChange }: FieldsProps) {
  const set = <Name extends keyof ProgramStep>(
    name: Name,
    value: ProgramStep[Name] | null,
  ): Promise<void> => onChange(withOne(step, name, value));
  const isSent = step.lose !== "request";
  const isAnswered = step.lose === undefined;
  return (
    <>
      <OneOf
        label="Lose"
        number={number}
        value={step.lose}
        values={losses}
        none="nothing"
        onChange={(lose) => set("lose", lose)}
      />
      {step.lose === undefined ? null : (
        <OneOf
          label="Seen as"
          number={number}
          value={step.loseAs}
          values={["timeout"]}
          none="a reset"
          onChange={(loseAs) => set("loseAs", loseAs)}
        />
      )}
      {isSent && step.loseAs !== "timeout" ? (
        <CommitField
          label="Delay after"
          small
          text={step.delayAfterMs === undefined ? "" : durationText(step.delayAfterMs)}
          placeholder="none"
          hint="clock time"
          check={checkTime}
          onCommit={(text) => set("delayAfterMs", parseDuration(text))}
        />
      ) : null}
      {isSent ? <SentFields step={step} number={number} set={set} /> : null}
      {isAnswered ? (
        <CommitField
          label="Answer with"
          small
          text={step.status === undefined ? "" : String(step.status)}
          placeholder="the receiver’s"
          hint="a status"
          inputMode="numeric"
          check={(text) =>
            text.trim() === "" || /^[2-9]\d\d$/.test(text.trim())
              ? null
              : "Enter a status from 200 to 999."
          }
          onCommit={(text) => set("status", text.trim() === "" ? null : Number(text))}
        />
      ) : null}
    </>
  );
}

type Set = <Name extends keyof ProgramStep>(
  name: Name,
  value: ProgramStep[Name] | null,
) => Promise<void>;

function SentFields({ step, number, set }: { step: ProgramStep; number: number; set: Set }) {
  return (
    <>
      <WholeNumber
        label="Copies"
        least={1}
        most={10}
        value={step.copies}
        placeholder="1"
        onChange={(copies) => set("copies", copies)}
      />
      {(step.copies ?? 1) > 1 ? (
        <OneOf
          label="Sent"
          number={number}
          value={step.together === true ? "together" : undefined}
          values={["together"]}
          none="one after the other"
          onChange={(together) => set("together", together === null ? null : true)}
        />
      ) : null}
      <OneOf
        label="Tamper with"
        number={number}
        value={step.tamper}
        values={tamperings}
        none="nothing"
        onChange={(tamper) => set("tamper", tamper)}
      />
      <WholeNumber
        label="Hold"
        least={2}
        most={100}
        value={step.hold}
        placeholder="none"
        onChange={(hold) => set("hold", hold)}
      />
      {step.hold === undefined ? null : (
        <>
          <OneOf
            label="Order"
            number={number}
            value={step.order === "seeded" ? "seeded" : undefined}
            values={holdOrders.filter((order) => order !== "reverse")}
            none="reverse"
            onChange={(order) => set("order", order)}
          />
          <CommitField
            label="At most for"
            small
            text={step.forMs === undefined ? "" : durationText(step.forMs)}
            placeholder="2 s"
            hint="clock time"
            check={checkTime}
            onCommit={(text) => set("forMs", parseDuration(text))}
          />
        </>
      )}
    </>
  );
}

const checkTime = (text: string): string | null =>
  text.trim() === "" || parseDuration(text) !== null
    ? null
    : "Enter a time such as 4.8 s or 250 ms.";

type OneOfProps<Value extends string> = {
  label: string;
  number: number;
  value: Value | undefined;
  values: readonly Value[];
  /** What it is when it is left out. */
  none: string;
  onChange: (value: Value | null) => Promise<void>;
};

function OneOf<Value extends string>({
  label,
  number,
  value,
  values,
  none,
  onChange,
}: OneOfProps<Value>): ReactNode {
  const id = `step-${number}-${label.toLowerCase().replaceAll(" ", "-")}`;
  return (
    <div className="commit">
      <label className="labelled-name" htmlFor={id}>
        {label}
      </label>
      <SelectField
        id={id}
        value={value ?? ""}
        options={[{ value: "", label: none }, ...values]}
        onChange={(chosen) => onChange(values.find((each) => each === chosen) ?? null)}
      />
    </div>
  );
}

type WholeNumberProps = {
  label: string;
  least: number;
  most: number;
  value: number | undefined;
  placeholder: string;
  onChange: (value: number | null) => Promise<void>;
};

function WholeNumber({ label, least, most, value, placeholder, onChange }: WholeNumberProps) {
  const isRight = (text: string): boolean =>
    /^\d+$/.test(text) && Number(text) >= least && Number(text) <= most;
  return (
    <CommitField
      label={label}
      small
      text={value === undefined ? "" : String(value)}
      placeholder={placeholder}
      hint="requests"
      inputMode="numeric"
      check={(text) =>
        text.trim() === "" || isRight(text.trim())
          ? null
          : `Enter a number from ${least} to ${most}.`
      }
      onCommit={(text) => onChange(text.trim() === "" ? null : Number(text))}
    />
  );
}
