/**
 * The fields of one condition, as a sentence: on a trait, on an event, on a property of an event.
 */

import { useEffect, useId, useState } from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
import {
  operators,
  type EventCondition,
  type Operand,
  type Operator,
  type PropertyCondition,
  type TraitCondition,
} from "../../../domain/rules.ts";
import { Button, IconButton, SelectField } from "../../kit/controls.tsx";
import { useLive } from "../../stores/live-data.ts";
import { offerUndo } from "../../stores/undo.ts";
import { newProperty, operandOf, operandText, operatorWords, withOperator } from "./rule-draft.ts";

const operatorOptions = operators.map((value) => ({ value, label: operatorWords[value] }));

export function TraitFields({
  condition,
  onChange,
}: {
  condition: TraitCondition;
  onChange: (next: TraitCondition) => void;
}) {
  const { traits } = useSeenNames();
  return (
    <>
      <span className="rule-word">trait</span>
      <SuggestedField
        label="Trait"
        value={condition.trait}
        suggestions={traits}
        onChange={(trait) => onChange({ ...condition, trait })}
      />
      <Comparison condition={condition} onChange={onChange} />
    </>
  );
}

export function EventFields({
  condition,
  hasCount = true,
  onChange,
}: {
  condition: EventCondition;
  /** A computed trait takes all of them. */
  hasCount?: boolean;
  onChange: (next: EventCondition) => void;
}) {
  const { events } = useSeenNames();
  const { event, atLeast = 1, withinDays, where = [] } = condition;
  const properties = events.find((seen) => seen.event === event)?.properties ?? [];
  const set = (changes: {
    [Key in keyof EventCondition]?: EventCondition[Key] | undefined;
  }): void => {
    const next = { ...condition, ...changes };
    onChange(
      Object.fromEntries(
        Object.entries(next).filter(([, value]) => value !== undefined),
      ) as EventCondition,
    );
  };
  const setWhere = (next: PropertyCondition[]): void =>
    set({ where: next.length === 0 ? undefined : next });
  return (
    <>
      <span className="rule-word">{hasCount ? "did" : "of"}</span>
      <SuggestedField
        label="Event"
        value={event}
        suggestions={events.map((seen) => seen.event)}
        onChange={(name) => set({ event: name })}
      />
      {hasCount ? (
        <>
          <span className="rule-word">at least</span>
          <NumberField
            label="How often"
            value={atLeast}
            min={1}
            max={1_000_000}
            isWhole
            onChange={(n) => set({ atLeast: n ?? 1 })}
          />
          <span className="rule-word">{atLeast === 1 ? "time," : "times,"}</span>
        </>
      ) : null}
      <span className="rule-together">
        <span className="rule-word">within</span>
        <NumberField
          label="Within days; empty for no limit"
          value={withinDays ?? null}
          min={0.001}
          max={36_500}
          placeholder="∞"
          onChange={(n) => set({ withinDays: n ?? undefined })}
        />
        <span className="rule-word">days</span>
      </span>
      {where.length === 0 ? null : (
        <ul className="rule-where" aria-label={`Properties of ${event}`}>
          {where.map((property, place) => (
            // oxlint-disable-next-line react/no-array-index-key -- conditions have nothing but their place
            <li key={place} className="rule-fields">
              <span className="rule-word">{place === 0 ? "with" : "and"}</span>
              <SuggestedField
                label="Property"
                value={property.property}
                suggestions={properties}
                onChange={(name) => setWhere(where.with(place, { ...property, property: name }))}
              />
              <Comparison
                condition={property}
                onChange={(next) => setWhere(where.with(place, next))}
              />
              <IconButton
                small
                icon="close"
                label="Remove this property"
                onClick={() => {
                  setWhere(where.toSpliced(place, 1));
                  offerUndo("Removed a property");
                }}
              />
            </li>
          ))}
        </ul>
      )}
      <Button small look="quiet" icon="add" onClick={() => setWhere([...where, newProperty()])}>
        property
      </Button>
    </>
  );
}

type Compared = { op: Operator; value?: Operand };

function Comparison<Condition extends Compared>({
  condition,
  onChange,
}: {
  condition: Condition;
  onChange: (next: Condition) => void;
}) {
  return (
    <>
      <SelectField
        aria-label="Comparison"
        value={condition.op}
        options={operatorOptions}
        onChange={(op) => onChange(withOperator(condition, op))}
      />
      {condition.op === "exists" ? (
        <SelectField
          aria-label="Existence"
          value={condition.value === false ? "no" : "yes"}
          options={["yes", "no"]}
          onChange={(value) => onChange({ ...condition, value: value === "yes" })}
        />
      ) : (
        <OperandField
          value={condition.value}
          onChange={(value) => onChange({ ...condition, value })}
        />
      )}
    </>
  );
}

/** Its kind stands beside it, because 50 and "50" are two values. */
function OperandField({
  value,
  onChange,
}: {
  value: Operand | undefined;
  onChange: (value: Operand) => void;
}) {
  return (
    <SuggestedField
      label="Value"
      value={operandText(value)}
      suggestions={[]}
      unit={
        typeof value === "string" || value === undefined
          ? "text"
          : typeof value === "number"
            ? "number"
            : "yes/no"
      }
      onChange={(text) => onChange(operandOf(text))}
    />
  );
}

const maxSuggestions = 100;

/**
 * A text field that grows with its text and suggests names that were seen. What is being typed is
 * kept as it was typed.
 */
export function SuggestedField({
  label,
  value,
  suggestions,
  unit,
  onChange,
}: {
  label: string;
  value: string;
  suggestions: readonly string[];
  unit?: string;
  onChange: (value: string) => void;
}) {
  const id = useId();
  const [typed, setTyped] = useState(value);
  // What is typed may mean the same as the value and be spelled otherwise: `50.` on the way to
  // `50.5`.
  const [said, setSaid] = useState(value);
  useEffect(() => {
    if (value === said) return;
    setSaid(value);
    setTyped(value);
  }, [value, said]);
  return (
    <span className="field small suggested">
      <input
        aria-label={label}
        placeholder={label.toLowerCase()}
        spellCheck={false}
        autoComplete="off"
        list={suggestions.length === 0 ? undefined : id}
        value={typed}
        onChange={(event) => {
          const text = event.currentTarget.value;
          setTyped(text);
          onChange(text);
        }}
        onBlur={() => setTyped(value)}
      />
      {unit === undefined ? null : <span className="unit">{unit}</span>}
      {suggestions.length === 0 ? null : (
        <datalist id={id}>
          {suggestions.slice(0, maxSuggestions).map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      )}
    </span>
  );
}

/** A number in a sentence. Invalid input is marked and not passed on. */
export function NumberField({
  label,
  value,
  min,
  max,
  isWhole = false,
  placeholder,
  onChange,
}: {
  label: string;
  value: number | null;
  min: number;
  max: number;
  isWhole?: boolean;
  /** With one, the field may be left empty. */
  placeholder?: string;
  onChange: (value: number | null) => void;
}) {
  const shown = value === null ? "" : String(value);
  const [typed, setTyped] = useState(shown);
  useEffect(() => setTyped(shown), [shown]);
  const isFine = (text: string): boolean => {
    if (text.trim() === "") return placeholder !== undefined;
    const number = Number(text);
    return (
      Number.isFinite(number) &&
      number >= min &&
      number <= max &&
      (!isWhole || Number.isInteger(number))
    );
  };
  return (
    <span className={isFine(typed) ? "field small amount" : "field small amount wrong"}>
      <input
        aria-label={label}
        aria-invalid={!isFine(typed) || undefined}
        title={
          isFine(typed)
            ? undefined
            : `${isWhole ? "A whole number" : "A number"} from ${Number(min.toPrecision(2))} to ${max}`
        }
        inputMode={isWhole ? "numeric" : "decimal"}
        placeholder={placeholder}
        value={typed}
        onChange={(event) => {
          const text = event.currentTarget.value;
          setTyped(text);
          if (isFine(text)) onChange(text.trim() === "" ? null : Number(text));
        }}
        onBlur={() => setTyped(shown)}
      />
    </span>
  );
}

const none: AnswerOf<"profiles.seen"> = { traits: [], events: [] };

/** Names that messages have brought, for suggestions. */
export function useSeenNames(): AnswerOf<"profiles.seen"> {
  return useLive("profiles.seen", {}).answer ?? none;
}
