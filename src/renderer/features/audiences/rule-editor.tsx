/**
 * A rule as groups of conditions: each a sentence, joined by all or any, nested as deep as the rule
 * language goes.
 */

import { maxRuleDepth, type Rule } from "../../../domain/rules.ts";
import { Button, Choice, IconButton } from "../../kit/controls.tsx";
import { offerUndo } from "../../stores/undo.ts";
import { EventFields, TraitFields } from "./condition-fields.tsx";
import {
  asGroup,
  isGroup,
  joined,
  joinOf,
  newEvent,
  newGroup,
  newTrait,
  partsOf,
  type Group,
} from "./rule-draft.ts";

export function RuleEditor({ rule, onChange }: { rule: Rule; onChange: (rule: Rule) => void }) {
  return (
    <div className="rule-editor" role="group" aria-label="Rule">
      <GroupEditor group={asGroup(rule)} depth={1} number="" onChange={onChange} />
    </div>
  );
}

const joinOptions = ["all", "any"] as const;

function GroupEditor({
  group,
  depth,
  number,
  onChange,
}: {
  group: Group;
  depth: number;
  /** `2.1`: the first part of the second part; empty for the rule itself. */
  number: string;
  onChange: (group: Rule) => void;
}) {
  const join = joinOf(group);
  const parts = partsOf(group);
  const set = (next: Rule[]): void => onChange(joined(join, next));
  const inGroup = number === "" ? "" : ` in group ${number}`;
  return (
    <div className="rule-group">
      <p className="rule-join">
        <Choice
          small
          label={`Join${inGroup}`}
          value={join}
          options={joinOptions}
          onChange={(next) => onChange(joined(next, parts))}
        />
        <span className="muted">of these hold</span>
      </p>
      <ul className="rule-parts">
        {parts.map((part, place) => (
          // oxlint-disable-next-line react/no-array-index-key -- parts have nothing but their place
          <li key={place}>
            <PartEditor
              part={part}
              depth={depth}
              number={number === "" ? String(place + 1) : `${number}.${place + 1}`}
              onChange={(next) => set(parts.with(place, next))}
              onRemove={() => {
                set(parts.toSpliced(place, 1));
                offerUndo(isGroup(part) ? "Removed a group" : "Removed a condition");
              }}
            />
          </li>
        ))}
      </ul>
      <p className="rule-add">
        {(["trait", "event", "group"] as const).map((kind) =>
          kind === "group" && depth >= maxRuleDepth - 1 ? null : (
            <Button
              key={kind}
              small
              icon="add"
              aria-label={`${kind}${inGroup}`}
              onClick={() => set([...parts, newParts[kind]()])}
            >
              {kind}
            </Button>
          ),
        )}
      </p>
    </div>
  );
}

const newParts = { trait: newTrait, event: newEvent, group: newGroup };

type PartProps = {
  part: Rule;
  depth: number;
  number: string;
  onChange: (part: Rule) => void;
  onRemove: () => void;
};

function PartEditor({ part, depth, number, onChange, onRemove }: PartProps) {
  const isDenied = "not" in part;
  const inner = isDenied ? part.not : part;
  const name = `${isGroup(inner) ? "group" : "condition"} ${number}`;
  const change = (next: Rule): void => onChange(isDenied ? { not: next } : next);
  return (
    <div className="rule-part">
      <button
        type="button"
        className="rule-not"
        aria-pressed={isDenied}
        aria-label={`not: ${name}`}
        title={isDenied ? "This must not hold" : "Negate: this must not hold"}
        onClick={() => onChange(isDenied ? inner : { not: inner })}
      >
        not
      </button>
      {"not" in inner || isGroup(inner) ? (
        <GroupEditor group={asGroup(inner)} depth={depth + 1} number={number} onChange={change} />
      ) : (
        <div className="rule-fields">
          {"trait" in inner ? (
            <TraitFields condition={inner} onChange={change} />
          ) : (
            <EventFields condition={inner} onChange={change} />
          )}
        </div>
      )}
      <IconButton small icon="close" label={`Remove ${name}`} onClick={onRemove} />
    </div>
  );
}
