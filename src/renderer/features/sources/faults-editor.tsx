/**
 * Faults that a source shows its clients: an error answer, a delay, a cut, a lost answer, a rate
 * limit; for the next requests or a share of them.
 */

import { CommitField } from "../../kit/commit-field.tsx";
import { Button, IconButton, SelectField } from "../../kit/controls.tsx";
import { durationText, parseDuration } from "../../kit/duration-text.ts";
import { ProblemText } from "../../kit/problem.tsx";
import { useAction } from "../../kit/use-action.ts";
import type { Change } from "../../stores/save-queue.ts";
import { offerUndo } from "../../stores/undo.ts";
import { useSaves } from "../../stores/use-saves.ts";
import { call } from "../../transport/transport.ts";
import {
  defaultPerSecond,
  faultDoing,
  faultWith,
  faultWords,
  hasRetryAfter,
  newFault,
  type Fault,
} from "./fault-words.ts";

type FieldsProps = {
  fault: Fault;
  number: number;
  onChange: (change: Change<Fault>) => Promise<unknown>;
  /** For what has no place for a sentence of its own. */
  onSet: (change: Change<Fault>) => Promise<boolean>;
};

export function FaultsEditor({ source }: { source: { id: string; faults: Fault[] } }) {
  const { problem, attempt } = useAction();
  const {
    value: faults,
    save,
    put,
  } = useSaves(
    source.faults,
    async (next) => (await call("sources.update", { id: source.id, faults: next })).faults,
  );
  const set = (change: Change<Fault[]>): Promise<boolean> => attempt(() => save(change));
  const at =
    (place: number, change: Change<Fault>): Change<Fault[]> =>
    (all) =>
      all.map((each, other) => (other === place ? change(each) : each));
  return (
    <section className="section faults" aria-labelledby="faults-title">
      <div className="section-head">
        <h3 id="faults-title">Faults</h3>
        <span className="muted clip">returned to clients, to test their retries</span>
        <span className="grow" />
        {faults.length === 0 ? null : (
          <Button
            small
            look="quiet"
            title="Restart the request counts"
            onClick={() => attempt(() => put((all) => all))}
          >
            Rearm
          </Button>
        )}
        <Button small icon="add" onClick={() => set((all) => [...all, newFault])}>
          Add a fault
        </Button>
      </div>
      <ProblemText error={problem} />
      {faults.length === 0 ? (
        <p className="muted">No faults: every request is accepted.</p>
      ) : (
        <ol className="fault-list">
          {faults.map((fault, place) => (
            // oxlint-disable-next-line react/no-array-index-key -- a fault has nothing but its place
            <li key={place} aria-label={faultWords(fault)}>
              <FaultFields
                fault={fault}
                number={place + 1}
                onChange={(change) => save(at(place, change))}
                onSet={(change) => set(at(place, change))}
              />
              <IconButton
                icon="close"
                small
                label={`Remove fault ${place + 1}`}
                onClick={() =>
                  attempt(async () => {
                    await save((all) => all.toSpliced(place, 1));
                    offerUndo(`Removed fault ${place + 1}`);
                  })
                }
              />
            </li>
          ))}
        </ol>
      )}
      {faults.length > 1 ? (
        <p className="quiet">Delays add up. Of the other faults, the first active one applies.</p>
      ) : null}
    </section>
  );
}

const actions = [
  "answer",
  "delay",
  "cut",
  { value: "lose-answer", label: "lose the answer" },
  { value: "delay-answer", label: "delay the answer" },
  { value: "limit", label: "limit the rate" },
] as const;

const statuses = ["500", "503", "429"] as const;

function FaultFields({ fault, number, onChange, onSet }: FieldsProps) {
  const status = String(fault.status ?? 500);
  const options = (statuses as readonly string[]).includes(status)
    ? statuses
    : [...statuses, status];
  return (
    <div className="fault-fields">
      <SelectField
        aria-label={`What fault ${number} does`}
        value={fault.do}
        options={actions}
        onChange={(does) => onSet((before) => faultDoing(before, does))}
      />
      {fault.do === "answer" ? (
        <>
          <SelectField
            aria-label={`Status of fault ${number}`}
            value={status}
            options={options}
            onChange={(next) => onSet((before) => faultWith(before, "status", Number(next)))}
          />
        </>
      ) : null}
      {fault.do === "limit" ? (
        <>
          <span className="muted">429 above</span>
          <NumberField
            label={`Requests a second of fault ${number}`}
            unit="a second"
            value={fault.perSecond ?? defaultPerSecond}
            onCommit={(value) => onChange((before) => faultWith(before, "perSecond", value ?? 0))}
          />
        </>
      ) : null}
      {hasRetryAfter(fault) ? (
        <>
          <span className="muted">Retry-After</span>
          <NumberField
            label={`Retry-After of fault ${number}`}
            unit="s"
            placeholder={fault.do === "limit" ? "1" : "none"}
            value={fault.retryAfter}
            onCommit={(value) => onChange((before) => faultWith(before, "retryAfter", value))}
          />
        </>
      ) : null}
      <span className="muted">
        {fault.do === "delay" || fault.do === "delay-answer" ? "by" : "after"}
      </span>
      <CommitField
        label={`Delay of fault ${number}`}
        shown="hidden"
        small
        name="fault-number"
        placeholder="no delay"
        text={fault.delayMs === undefined ? "" : durationText(fault.delayMs)}
        check={(text) =>
          text.trim() === "" || parseDuration(text) !== null
            ? null
            : "Enter a time such as 800 ms or 2 s."
        }
        onCommit={(text) => onChange((before) => faultWith(before, "delayMs", parseDuration(text)))}
      />
      <span className="muted">for</span>
      <WhenFields fault={fault} number={number} onChange={onChange} onSet={onSet} />
    </div>
  );
}

const whens = [
  { value: "every", label: "every request" },
  { value: "next", label: "the next" },
  { value: "share", label: "a share of" },
] as const;

function WhenFields({ fault, number, onChange, onSet }: FieldsProps) {
  const when = fault.chance !== undefined ? "share" : fault.times === undefined ? "every" : "next";
  return (
    <>
      <SelectField
        aria-label={`When fault ${number} applies`}
        value={when}
        options={whens}
        onChange={(next) =>
          onSet(({ times: _, chance: __, ...plain }) =>
            next === "every"
              ? plain
              : next === "next"
                ? { ...plain, times: 3 }
                : { ...plain, chance: 0.1 },
          )
        }
      />
      {when === "next" ? (
        <NumberField
          label={`Requests of fault ${number}`}
          unit="requests"
          value={fault.times}
          least={1}
          onCommit={(value) => onChange((before) => faultWith(before, "times", value ?? 1))}
        />
      ) : null}
      {when === "share" ? (
        <NumberField
          label={`Share of fault ${number}`}
          unit="%"
          value={Number(((fault.chance ?? 0) * 100).toPrecision(12))}
          most={100}
          onCommit={(value) =>
            onChange((before) => faultWith(before, "chance", (value ?? 0) / 100))
          }
        />
      ) : null}
    </>
  );
}

function NumberField({
  label,
  unit,
  value,
  placeholder,
  least = 0,
  most = 1_000_000,
  onCommit,
}: {
  label: string;
  unit: string;
  value: number | undefined;
  /** With one, the field may be empty. */
  placeholder?: string;
  least?: number;
  most?: number;
  onCommit: (value: number | null) => Promise<unknown>;
}) {
  return (
    <CommitField
      label={label}
      shown="hidden"
      small
      name="fault-number"
      unit={unit}
      inputMode="decimal"
      placeholder={placeholder}
      text={value === undefined ? "" : String(value)}
      check={(text) => {
        if (text.trim() === "") return placeholder === undefined ? "Enter a number." : null;
        const number = Number(text);
        return number >= least && number <= most
          ? null
          : `Enter a number from ${least} to ${most}.`;
      }}
      onCommit={(text) => onCommit(text.trim() === "" ? null : Number(text))}
    />
  );
}
