/**
 * The program: as a line of text, and as steps on a track that are edited in place. Every change is
 * saved at once.
 */

import { useState } from "react";
import type { AnswerOf, InputOf } from "../../../contract/contract.ts";
import { limitOf } from "../../../domain/program.ts";
import { CommitField } from "../../kit/commit-field.tsx";
import { Button, Choice } from "../../kit/controls.tsx";
import { focusAdded } from "../../kit/focus.ts";
import { Icon } from "../../kit/icon.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { useAction } from "../../kit/use-action.ts";
import { useLive } from "../../stores/live-data.ts";
import { offerUndo, recordEdit, saveAtOnce } from "../../stores/undo.ts";
import { useSaves } from "../../stores/use-saves.ts";
import { call } from "../../transport/transport.ts";
import { ProgramStepRow } from "./program-step.tsx";
import { keepExtras, parseProgram, printProgram, type ProgramStep } from "./program-text.ts";
import { progressOf } from "./step-outcomes.ts";

/** Enough to count what the steps behind a share or a match have served in all but long runs. */
const countedRequests = 100;

export function ProgramEditor({ endpoint }: { endpoint: AnswerOf<"endpoints.get"> }) {
  const { id, after, position, perMessage = false } = endpoint;
  const program = useProgram(endpoint);
  const { steps } = program;
  const letsPass =
    perMessage || steps.some((step) => step.match !== undefined || step.chance !== undefined);
  const recent =
    useLive("endpoints.requests", letsPass ? { id, limit: countedRequests } : null).answer?.items ??
    [];
  const progress = progressOf(
    { steps, after, position, perMessage },
    recent.slice(0, position.received),
    position.received <= recent.length,
  );
  const { problem, attempt } = useAction();
  const [dragged, setDragged] = useState<number | null>(null);
  const [opened, setOpened] = useState<ReadonlySet<number>>(new Set());

  /** For changes without a field of their own: errors appear above the steps. */
  const change = (next: readonly ProgramStep[]): void => void attempt(() => program.change(next));
  const move = (from: number, to: number): void => {
    if (to < 0 || to >= steps.length || from === to) return;
    const step = steps[from];
    if (step === undefined) return;
    change(steps.toSpliced(from, 1).toSpliced(to, 0, step));
    setOpened(new Set());
  };

  return (
    <section className="section program" aria-labelledby="program-title">
      <div className="section-head">
        <h3 id="program-title">Program</h3>
        <span className="grow" />
        <CommitField
          label="Program as text"
          shown="hidden"
          name="text-form"
          small
          mono
          text={printProgram(steps)}
          check={(text) => parseProgram(text).problem}
          onCommit={(text) => program.change(keepExtras(parseProgram(text).steps ?? [], steps))}
        />
      </div>
      <ProblemText error={problem} />
      <div className="cols quiet" aria-hidden="true">
        <span>step</span>
        <span>requests</span>
        <span>served</span>
      </div>
      <ol className="prog">
        {steps.map((step, place) => (
          <ProgramStepRow
            // oxlint-disable-next-line react/no-array-index-key -- a step has nothing but its place
            key={place}
            step={step}
            place={place}
            isLast={place === steps.length - 1}
            isNext={position.step === place}
            repeats={after === "repeat-last" && place === steps.length - 1}
            times={limitOf(steps, place, after)}
            progress={progress[place] ?? { served: null, of: null }}
            isOpen={opened.has(place)}
            onOpen={() =>
              setOpened(
                new Set(
                  opened.has(place)
                    ? [...opened].filter((each) => each !== place)
                    : [...opened, place],
                ),
              )
            }
            onChange={(next) => program.change(steps.with(place, next))}
            onMove={(by) => move(place, place + by)}
            onDuplicate={() => change(steps.toSpliced(place, 0, step))}
            onRemove={() => {
              change(steps.toSpliced(place, 1));
              offerUndo(`Removed step ${place + 1}`);
              setOpened(new Set());
            }}
            canRemove={steps.length > 1}
            onDragStart={() => setDragged(place)}
            onDragEnd={() => setDragged(null)}
            isTarget={dragged !== null && dragged !== place}
            onDrop={() => {
              if (dragged !== null) move(dragged, place);
              setDragged(null);
            }}
          />
        ))}
        <li className="add">
          <span />
          <span className="node">
            <b className="no plus">
              <Icon name="add" small />
            </b>
          </span>
          <Button
            look="quiet"
            small
            onClick={({ currentTarget }) => {
              focusAdded(currentTarget);
              change([...steps, { do: "answer", status: 200 }]);
            }}
          >
            Add a step
          </Button>
        </li>
      </ol>
      <AfterLastStep endpoint={endpoint} steps={steps} onChange={(next) => program.change(next)} />
    </section>
  );
}

function AfterLastStep({
  endpoint: { id, after, perMessage = false },
  steps,
  onChange,
}: {
  endpoint: AnswerOf<"endpoints.get">;
  steps: readonly ProgramStep[];
  onChange: (steps: readonly ProgramStep[]) => Promise<void>;
}) {
  const seed = useLive("settings.get", {}).answer?.seed;
  const { problem, attempt } = useAction();
  const failures = failingShare(steps);
  const save = (changes: Omit<InputOf<"endpoints.update">, "id">): Promise<unknown> =>
    call("endpoints.update", { id, ...changes });
  return (
    <>
      <div className="after">
        <span className="muted">After the last step</span>
        <Choice
          small
          label="After the last step"
          value={after}
          options={[
            { value: "repeat-last", label: "repeat it" },
            { value: "start-over", label: "start over" },
          ]}
          onChange={(value) => attempt(() => saveAtOnce({ after }, { after: value }, save))}
        />
        <span className="muted">Counts</span>
        <Choice
          small
          label="Counts requests"
          value={perMessage ? "message" : "all"}
          options={[
            { value: "all", label: "all requests" },
            { value: "message", label: "each message" },
          ]}
          onChange={(value) =>
            attempt(() => saveAtOnce({ perMessage }, { perMessage: value === "message" }, save))
          }
        />
        <span className="grow" />
        <span
          className="muted"
          title="A first step that answers 503 to this share of the requests, drawn from the seed"
        >
          Random failures
        </span>
        <CommitField
          label="Random failures, per cent"
          shown="hidden"
          name="share-field"
          small
          unit="%"
          inputMode="decimal"
          text={String(failures)}
          check={checkShare}
          onCommit={(text) => onChange(withFailures(steps, Number(text)))}
        />
        <a
          className="muted link"
          href="#/settings/delivery"
          title="One seed for all random values, in Settings"
        >
          seed
        </a>
        <code>{seed}</code>
      </div>
      <ProblemText error={problem} />
    </>
  );
}

const checkShare = (text: string): string | null =>
  text.trim() !== "" && Number(text) >= 0 && Number(text) <= 100
    ? null
    : "Enter a percentage from 0 to 100.";

/** A first step that answers 503 to a share of whatever comes, without end. */
function isFailingShare(step: ProgramStep | undefined): step is ProgramStep & { chance: number } {
  return (
    step?.do === "answer" &&
    (step.status ?? 200) >= 500 &&
    step.chance !== undefined &&
    step.times === undefined &&
    step.match === undefined
  );
}

function failingShare(steps: readonly ProgramStep[]): number {
  const [first] = steps;
  return isFailingShare(first) ? Number((first.chance * 100).toPrecision(12)) : 0;
}

function withFailures(steps: readonly ProgramStep[], share: number): readonly ProgramStep[] {
  const [first, ...rest] = steps;
  const others = isFailingShare(first) ? rest : steps;
  if (share === 0) return others.length === 0 ? [{ do: "answer", status: 200 }] : others;
  const failing: ProgramStep = isFailingShare(first)
    ? { ...first, chance: share / 100 }
    : { do: "answer", status: 503, chance: share / 100 };
  return [failing, ...others];
}

type EditedProgram = {
  steps: readonly ProgramStep[];
  /** Rejects with what the API says. */
  change(steps: readonly ProgramStep[]): Promise<void>;
};

/** The program in the editor, where a change is shown at once and saved in order. */
function useProgram({ id, steps: saved }: AnswerOf<"endpoints.get">): EditedProgram {
  const { value: shown, put } = useSaves<readonly ProgramStep[]>(
    saved,
    async (steps) => (await call("endpoints.update", { id, steps: [...steps] })).steps,
  );
  return {
    steps: shown,
    change(steps) {
      const saving = put(() => steps);
      recordEdit({ undo: () => put(() => shown), redo: () => put(() => steps) });
      return saving;
    },
  };
}
