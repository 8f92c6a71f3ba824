/**
 * The filters of a destination, each saved at once, and what they would do with its last messages.
 */

import { useRef, useState } from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
import { CodeView } from "../../kit/code-view.tsx";
import { CommitField } from "../../kit/commit-field.tsx";
import { Button, CheckField, IconButton, SelectField } from "../../kit/controls.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { useAction } from "../../kit/use-action.ts";
import { count, some } from "../../kit/words.ts";
import { useLive } from "../../stores/live-data.ts";
import type { Change } from "../../stores/save-queue.ts";
import { offerUndo } from "../../stores/undo.ts";
import { useSaves } from "../../stores/use-saves.ts";
import { call } from "../../transport/transport.ts";
import { messageHref } from "../details/places.ts";
import type { Destination } from "./destination-draft.ts";
import { type FilterKey, filterKeys } from "./filter-keys.ts";
import { filterActions } from "../../../domain/configuration.ts";
import { parseFilterCondition } from "../../../domain/filter-condition.ts";
import { masked, unmasked } from "../../transport/secrets.ts";

type Filter = Destination["filters"][number];
type Previewed = AnswerOf<"destinations.previewFilters">["items"][number];

export function DestinationFilters({ destination }: { destination: Destination }) {
  const { id } = destination;
  const { problem, run, attempt } = useAction();
  const { value: filters, save } = useSaves(
    destination.filters,
    async (next) => (await call("destinations.update", { id, filters: next })).filters,
  );
  const keys = useRef<readonly FilterKey[]>([]);
  keys.current = filterKeys(
    keys.current,
    filters.map(({ name }) => name),
  );
  const add = (): void => void attempt(() => save((all) => [...all, newFilter(all)]));
  return (
    <div className="pane-body">
      <section className="section filters" aria-labelledby="filters-title">
        <div className="section-head">
          <h3 id="filters-title">Filters</h3>
          <span className="muted clip">applied in this order, before the payload is made</span>
          <span className="grow" />
          <Button small icon="add" onClick={add}>
            Add a filter
          </Button>
        </div>
        <ProblemText error={problem} />
        {filters.length === 0 ? (
          <p className="muted">No filters: every routed message is delivered unchanged.</p>
        ) : (
          <ol className="filter-list" aria-label="Filters">
            {filters.map((filter, place) => (
              <FilterFields
                key={keys.current[place]?.key}
                filter={filter}
                onSave={(change) =>
                  save((all) => all.map((each, at) => (at === place ? change(each) : each)))
                }
                onRemove={() =>
                  run(`remove ${filter.name}`, async () => {
                    await save((all) => all.toSpliced(place, 1));
                    offerUndo(`Removed ${filter.name}`);
                  })
                }
              />
            ))}
          </ol>
        )}
      </section>
      {filters.some(({ enabled }) => enabled) ? <Preview id={id} /> : null}
    </div>
  );
}

function newFilter(all: readonly Filter[]): Filter {
  const names = new Set(all.map(({ name }) => name));
  let number = all.length + 1;
  while (names.has(`Filter ${number}`)) number += 1;
  return { name: `Filter ${number}`, enabled: false, if: "", action: "drop" };
}

const actionWords: Record<Filter["action"], string> = {
  drop: "drop the message",
  sample: "let a share through",
  "allow-properties": "keep only members",
  "drop-properties": "remove members",
};

type FieldsProps = {
  filter: Filter;
  onSave: (change: Change<Filter>) => Promise<unknown>;
  onRemove: () => void;
};

function FilterFields({ filter, onSave, onRemove }: FieldsProps) {
  const { name, enabled, if: condition, action } = filter;
  const { problem, attempt } = useAction();
  const set = (changes: Partial<Filter>): Promise<unknown> =>
    onSave((before) => ({ ...before, ...changes }));
  return (
    <li aria-label={name}>
      <div className="filter-head">
        <CheckField
          role="switch"
          label={<span className="sr">{`Enable ${name}`}</span>}
          checked={enabled}
          onChange={(event) => {
            const next = event.currentTarget.checked;
            return attempt(() => set({ enabled: next }));
          }}
        />
        <CommitField
          label={`Name of ${name}`}
          shown="hidden"
          small
          text={name}
          onCommit={(text) => set({ name: text })}
        />
        <SelectField
          aria-label={`What ${name} does`}
          value={action}
          options={filterActions.map((value) => ({ value, label: actionWords[value] }))}
          onChange={(next) => attempt(() => onSave((before) => filterDoing(before, next)))}
        />
        <IconButton small icon="close" label={`Remove ${name}`} onClick={onRemove} />
      </div>
      <ProblemText error={problem} />
      <CommitField
        label={`Condition of ${name}`}
        shown="hidden"
        mono
        placeholder={'all messages, or: type = "track" and event = "Order Completed"'}
        text={condition ?? ""}
        hint={warningsOf(condition ?? "")}
        onCommit={(text) => set({ if: text })}
      />
      {action === "sample" ? (
        <div className="filter-head">
          <CommitField
            label={`Share of ${name}`}
            shown="hidden"
            small
            unit="% of"
            inputMode="decimal"
            text={String(Number(((filter.share ?? 1) * 100).toPrecision(12)))}
            check={(text) =>
              text.trim() !== "" && Number(text) >= 0 && Number(text) <= 100
                ? null
                : "Enter a number from 0 to 100."
            }
            onCommit={(text) => set({ share: Number(text) / 100 })}
          />
          <SelectField
            aria-label={`What ${name} samples by`}
            value={filter.by ?? "random"}
            options={[
              { value: "random", label: "messages" },
              { value: "user", label: "users" },
            ]}
            onChange={(by) => attempt(() => set({ by }))}
          />
        </div>
      ) : action === "drop" ? null : (
        <CommitField
          label={`Members of ${name}`}
          shown="hidden"
          mono
          placeholder="properties.email, context.ip"
          text={(filter.properties ?? []).join(", ")}
          onCommit={(text) =>
            set({ properties: (text.match(listedPath) ?? []).flatMap((path) => path.trim() || []) })
          }
        />
      )}
    </li>
  );
}

/** A quoted name may have a comma: `properties["a, b"]`. */
const listedPath = /(?:"(?:[^"\\]|\\.)*"|[^,\n])+/g;

/** Of the saved condition. */
function warningsOf(text: string): string | undefined {
  const parsed = parseFilterCondition(unmasked(text));
  if (parsed.condition === null || parsed.warnings.length === 0) return undefined;
  return masked(`Check this: ${parsed.warnings.map(({ message }) => message).join(" ")}`);
}

/** What an action needs, and none that only another has. */
function filterDoing({ name, enabled, if: condition }: Filter, action: Filter["action"]): Filter {
  const common = { name, enabled, if: condition, action };
  if (action === "drop") return common;
  return action === "sample"
    ? { ...common, share: 0.5, by: "user" }
    : { ...common, properties: ["properties.email"] };
}

function Preview({ id }: { id: string }) {
  const { answer, error } = useLive("destinations.previewFilters", { id });
  const [open, setOpen] = useState<string | null>(null);
  return (
    <section className="section" aria-labelledby="preview-title">
      <div className="section-head">
        <h3 id="preview-title">Preview</h3>
        {answer === undefined ? null : (
          <span className="muted" role="status">
            Of the last {some(answer.items.length, "message")}, {count(answer.dropped)} would be
            dropped and {count(answer.changed)} changed.
          </span>
        )}
      </div>
      <ProblemText error={error} />
      <ul className="preview-list" aria-label="Messages in the preview">
        {answer?.items.map((item) => (
          <PreviewRow
            key={item.id}
            item={item}
            isOpen={open === item.id}
            onToggle={() => setOpen(open === item.id ? null : item.id)}
          />
        ))}
      </ul>
    </section>
  );
}

const resultLooks = { dropped: "failed", changed: "waiting", unchanged: "quiet" };

function PreviewRow({
  item: { id, type, event, userId, result, filters, before, after },
  isOpen,
  onToggle,
}: {
  item: Previewed;
  isOpen: boolean;
  onToggle: () => void;
}) {
  const what = [type ?? "message", event, userId].filter((part) => part !== null).join(" ");
  return (
    <li>
      <div className="preview-row">
        <button type="button" className="preview-toggle" aria-expanded={isOpen} onClick={onToggle}>
          <span className={`tone ${resultLooks[result]}`}>{result}</span>{" "}
          <bdi className="clip">{what.slice(0, 200)}</bdi>{" "}
          <span className="muted clip">{filters.join(", ")}</span>
        </button>
        <a className="link" href={messageHref(id)}>
          Open
        </a>
      </div>
      {isOpen ? (
        <div className="preview-bodies">
          <h4>Before</h4>
          {before === null ? (
            <p className="muted">Too large to be shown here.</p>
          ) : (
            <CodeView value={before} as="tree" label="Payload without filters" />
          )}
          {result === "changed" && after !== null ? (
            <>
              <h4>After</h4>
              <CodeView value={after} as="tree" label="Payload with filters" />
            </>
          ) : null}
        </div>
      ) : null}
    </li>
  );
}
