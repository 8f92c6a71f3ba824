/** When changes are sent, and where to: shared by audiences and computed traits. */

import type { AnswerOf } from "../../../contract/contract.ts";
import { dayMs, type Sync } from "../../../domain/rules.ts";
import { CheckField, Choice, SelectField } from "../../kit/controls.tsx";
import { NumberField } from "./number-field.tsx";

const units = { minutes: 60_000, hours: 3_600_000, days: dayMs } as const;
type Unit = keyof typeof units;
const unitNames = ["minutes", "hours", "days"] as const;

const sentences = {
  "each-event": "A change is sent as soon as a message, or the clock alone, brings it about.",
  manual: "Changes are sent when you say so.",
  period: "Changes are sent on a period of the clock.",
};

export function SyncField({ sync, onChange }: { sync: Sync; onChange: (sync: Sync) => void }) {
  const kind = typeof sync === "string" ? sync : "period";
  const everyMs = typeof sync === "string" ? units.hours : sync.everyMs;
  const unit: Unit = unitNames.findLast((name) => everyMs % units[name] === 0) ?? "minutes";
  return (
    <div className="sync-field">
      <Choice
        label="When changes are sent"
        value={kind}
        options={[
          { value: "each-event", label: "after each event" },
          { value: "period", label: "every so often" },
          { value: "manual", label: "by hand" },
        ]}
        onChange={(next) => onChange(next === "period" ? { everyMs: units.hours } : next)}
      />
      {kind === "period" ? (
        <span className="sync-every">
          <span className="muted">every</span>
          <NumberField
            label="Every"
            value={everyMs / units[unit]}
            min={1000 / units[unit]}
            max={(366 * dayMs) / units[unit]}
            onChange={(n) => onChange({ everyMs: Math.max(1000, Math.round((n ?? 1) * units[unit])) })}
          />
          <SelectField
            aria-label="Unit"
            value={unit}
            options={unitNames.map((value) => ({ value, label: value }))}
            onChange={(next) => onChange({ everyMs: Math.max(1, Math.round(everyMs / units[unit])) * units[next] })}
          />
        </span>
      ) : null}
      <p className="quiet">{sentences[kind]}</p>
    </div>
  );
}

export function DestinationsField({
  destinations,
  chosen,
  onChange,
}: {
  destinations: AnswerOf<"destinations.list">["items"];
  chosen: readonly string[];
  onChange: (ids: string[]) => void;
}) {
  if (destinations.length === 0) {
    return (
      <p className="muted">
        There is no destination yet.{" "}
        <a className="link" href="#/destinations">
          Set one up
        </a>
        ; what is typed here stays.
      </p>
    );
  }
  return (
    <>
      <div className="source-checks" role="group" aria-label="Destinations">
        {destinations.map(({ id, name, enabled }) => (
          <CheckField
            key={id}
            label={
              <span className="source-check">
                <span className="isolate clip">{name}</span> {enabled ? null : <span className="quiet">disabled</span>}
              </span>
            }
            checked={chosen.includes(id)}
            onChange={(event) => onChange(event.currentTarget.checked ? [...chosen, id] : chosen.filter((each) => each !== id))}
          />
        ))}
      </div>
      {chosen.length === 0 ? <p className="quiet">Without a destination nobody is told.</p> : null}
    </>
  );
}
