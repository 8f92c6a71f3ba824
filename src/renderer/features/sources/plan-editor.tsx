/**
 * The tracking plan of a source: where it is given, what is done with messages that differ from it,
 * and its rules.
 */

import { type ComponentProps, useState } from "react";
import type { AnswerOf, InputOf } from "../../../contract/contract.ts";
import { FieldNote } from "../../kit/commit-field.tsx";
import { Button, Choice } from "../../kit/controls.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { saveFile } from "../../kit/save-file.ts";
import { useAction } from "../../kit/use-action.ts";
import { count } from "../../kit/words.ts";
import { useLive } from "../../stores/live-data.ts";
import { useKept } from "../../stores/drafts.ts";
import { offerUndo, recordSaved, saveAtOnce } from "../../stores/undo.ts";
import { callUnmasked } from "../../transport/transport.ts";
import { filterHref } from "../details/places.ts";

type Source = AnswerOf<"sources.get">;
type Plan = NonNullable<Source["plan"]>;
type PlanChange = InputOf<"sources.update">["plan"];
type Actions = Pick<Plan, "onViolation" | "unplannedEvents" | "unplannedProperties">;
type Rules = NonNullable<AnswerOf<"sources.plan">["plan"]>["rules"];

const example = `{
  "Order Completed": {
    "type": "object",
    "properties": { "total": { "type": "number" } },
    "required": ["total"]
  },
  "identify": { "properties": { "email": { "format": "email" } } }
}`;

export function PlanEditor({
  source: { id, name, plan },
  onUpdate,
}: {
  source: Source;
  onUpdate: (plan: PlanChange) => Promise<unknown>;
}) {
  const [isGiving, setIsGiving] = useKept(`gives a plan to ${id}`, false);
  const { problem, run, attempt } = useAction();
  return (
    <section className="section plan" aria-labelledby="plan-title">
      <div className="section-head">
        <h3 id="plan-title">Tracking plan</h3>
        {plan === null ? null : (
          <span className="muted clip isolate">
            {plan.name === null ? "" : `${plan.name}, `}
            {rulesWords(plan.rules)}
          </span>
        )}
        <span className="grow" />
        {plan === null ? null : (
          <>
            <Button
              small
              look="quiet"
              onClick={() => run(`export ${id}`, () => exportPlan(id, name))}
            >
              Export
            </Button>
            <Button
              small
              look="quiet"
              onClick={() => run(`remove ${id}`, () => removePlan(id, onUpdate))}
            >
              Remove
            </Button>
          </>
        )}
        {isGiving ? null : (
          <Button small icon="add" onClick={() => setIsGiving(true)}>
            {plan === null ? "Add a plan" : "Replace"}
          </Button>
        )}
      </div>
      <ProblemText error={problem} />
      {isGiving ? (
        <PlanForm
          sourceId={id}
          onGive={async (schemas) => {
            await onUpdate({ schemas });
            setIsGiving(false);
          }}
          onCancel={() => setIsGiving(false)}
        />
      ) : null}
      {plan !== null ? (
        <>
          <PlanActions
            plan={plan}
            onSet={(change) => attempt(() => saveAtOnce<Actions>(plan, change, onUpdate))}
          />
          <p className="plan-links">
            <a
              className="link"
              href={filterHref({ values: { source: [name], plan: ["violations"] }, text: "" })}
            >
              Messages that violate it
            </a>
          </p>
          <RuleList id={id} />
        </>
      ) : isGiving ? null : (
        <p className="muted">No plan: messages are not checked against schemas.</p>
      )}
    </section>
  );
}

const rulesWords = (n: number): string => `${count(n)} ${n === 1 ? "rule" : "rules"}`;

type SavedPlan = NonNullable<AnswerOf<"sources.plan">["plan"]>;

/** As it is given. */
const schemasOf = ({ name, rules }: SavedPlan) => ({
  name,
  rules: rules.map((rule) => ({ ...rule, type: rule.type.toUpperCase() })),
});

async function removePlan(
  id: string,
  onUpdate: (plan: PlanChange) => Promise<unknown>,
): Promise<void> {
  const { plan } = await callUnmasked("sources.plan", { id });
  if (plan === null) return;
  const { name: _, rules: __, ...settings } = plan;
  await recordSaved(() => onUpdate(null), {
    undo: () => onUpdate({ ...settings, schemas: schemasOf(plan) }),
    redo: () => onUpdate(null),
  });
  offerUndo("Removed the tracking plan");
}

async function exportPlan(id: string, name: string): Promise<void> {
  const { plan } = await callUnmasked("sources.plan", { id });
  const { rules } = plan === null ? { rules: [] } : schemasOf(plan);
  const text = JSON.stringify({ name: plan?.name ?? name, rules }, null, 2);
  saveFile(`${name} tracking plan.json`, `${text}\n`, "application/json");
}

function PlanForm({
  sourceId,
  onGive,
  onCancel,
}: {
  sourceId: string;
  onGive: (schemas: NonNullable<NonNullable<PlanChange>["schemas"]>) => Promise<unknown>;
  onCancel: () => void;
}) {
  const [text, setText] = useKept(`plan of ${sourceId}`, "");
  const [wrong, setWrong] = useState<string | null>(null);
  const { problem, isBusy, run } = useAction();
  const give = (): void => {
    const schemas = parsed(text);
    setWrong(typeof schemas === "string" ? schemas : null);
    if (typeof schemas !== "string") run("give", () => onGive(schemas));
  };
  const error = wrong ?? problem?.message ?? null;
  return (
    <form
      className="plan-form"
      aria-label="Plan"
      onSubmit={(event) => {
        event.preventDefault();
        give();
      }}
    >
      <span className={`field area mono ${error === null ? "" : "wrong"}`}>
        <textarea
          autoFocus
          aria-label="Plan as JSON"
          aria-describedby="plan-note"
          aria-invalid={error !== null || undefined}
          rows={10}
          spellCheck={false}
          placeholder={example}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
      </span>
      <FieldNote
        id="plan-note"
        error={error}
        hint="A plan of the hosted service as its API returns it, or a JSON Schema of the properties of each event."
      />
      <div className="plan-buttons">
        <Button type="submit" look="primary" isBusy={isBusy}>
          Use this plan
        </Button>
        <label className="btn">
          Open a file
          <input
            className="sr"
            type="file"
            accept=".json,application/json"
            onChange={(event) => {
              const [file] = event.currentTarget.files ?? [];
              if (file !== undefined) void file.text().then(setText);
            }}
          />
        </label>
        <Button onClick={onCancel}>Cancel</Button>
      </div>
    </form>
  );
}

/** Returns a sentence for what is no JSON. */
function parsed(text: string): Record<string, unknown> | unknown[] | string {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) return value as Record<string, unknown>;
    return "A plan is a JSON object or a list of rules.";
  } catch (error) {
    return text.trim() === "" ? "Paste a plan, or open a file." : (error as Error).message;
  }
}

const actions = {
  record: "Messages that violate the plan are delivered as they are, and marked.",
  "drop-properties": "Properties and traits that violate the plan are not delivered.",
  block: "Messages that violate the plan are kept and not delivered.",
};

function PlanActions({
  plan,
  onSet,
}: {
  plan: Plan;
  onSet: (change: Partial<Actions>) => Promise<boolean>;
}) {
  return (
    <div className="pairs source-pairs">
      <PlanChoice
        name="Violations"
        value={plan.onViolation}
        options={["record", { value: "drop-properties", label: "drop properties" }, "block"]}
        onChange={(onViolation) => onSet({ onViolation })}
        note={actions[plan.onViolation]}
      />
      <PlanChoice
        name="Other events"
        label="Events that are not in the plan"
        value={plan.unplannedEvents}
        options={["allow", "record", "block"]}
        onChange={(unplannedEvents) => onSet({ unplannedEvents })}
      />
      <PlanChoice
        name="Other properties"
        label="Properties that are not in the plan"
        value={plan.unplannedProperties}
        options={["allow", "record", "drop"]}
        onChange={(unplannedProperties) => onSet({ unplannedProperties })}
      />
    </div>
  );
}

function PlanChoice<Value extends string>({
  name,
  label = name,
  note,
  ...choice
}: Pick<ComponentProps<typeof Choice<Value>>, "value" | "options" | "onChange"> & {
  name: string;
  label?: string;
  note?: string;
}) {
  return (
    <>
      <span className="pair-name">{name}</span>
      <div className="explained">
        <Choice label={label} {...choice} />
        {note === undefined ? null : <p className="quiet">{note}</p>}
      </div>
    </>
  );
}

/** More rules are not drawn; the export has all of them. */
const maxShown = 200;

function RuleList({ id }: { id: string }) {
  const rules: Rules = useLive("sources.plan", { id }).answer?.plan?.rules ?? [];
  return (
    <ul className="plan-rules" aria-label="Rules of the plan">
      {rules.slice(0, maxShown).map((rule) => (
        <li key={`${rule.type} ${rule.key} ${rule.version}`}>
          <span className="badge">{rule.type}</span>
          <span className="clip isolate">{rule.key ?? "all"}</span>
          {rule.version === 1 ? null : <span className="quiet">version {rule.version}</span>}
        </li>
      ))}
      {rules.length > maxShown ? (
        <li className="quiet">and {count(rules.length - maxShown)} more</li>
      ) : null}
    </ul>
  );
}
