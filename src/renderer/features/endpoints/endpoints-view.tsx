/**
 * Test endpoints: the list and its presets, one endpoint's addresses and program, and what it
 * received.
 */

import { stepBehaviours } from "../../../domain/configuration.ts";
import { Button } from "../../kit/controls.tsx";
import { EmptyState } from "../../kit/empty-state.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { useAction } from "../../kit/use-action.ts";
import { count } from "../../kit/words.ts";
import { useLive, useOnce } from "../../stores/live-data.ts";
import { openOf, usePlace } from "../../stores/place.ts";
import { Collection, type Entry } from "../collection/collection.tsx";
import { createEndpoint, EndpointEditor, type Preset } from "./endpoint-editor.tsx";
import { printProgram } from "./program-text.ts";
import { ReceivedRequests } from "./received-requests.tsx";
import "./endpoints.css";
import "./program.css";
import "./received.css";
import "./track.css";

export function EndpointsView() {
  const { answer, error } = useLive("endpoints.list", {});
  const presets = useOnce("endpoints.presets", {}).answer?.items ?? [];
  const openId = usePlace((place) => place.path[0]);
  const { problem, run } = useAction();
  const create = (preset: Preset | null = null): void =>
    run(`create ${preset?.name ?? "an empty one"}`, () => createEndpoint(preset));
  const add = { label: "New test endpoint", run: () => create() };
  if (answer === undefined) return <ProblemText error={error} />;

  const current = openOf(answer.items, openId);
  const entries = answer.items.map(({ id, name, position, steps }): Entry => ({
    path: [id],
    label: name,
    aside: <span title="requests since the last rewind">{count(position.received)}</span>,
    detail: <code>{printProgram(steps)}</code>,
  }));
  return (
    <Collection
      view="endpoints"
      title="Test endpoints"
      entries={entries}
      current={current && [current.id]}
      add={add}
      menu={[
        "line",
        { label: add.label, icon: "add", onSelect: add.run },
        ...presets.map((preset) => ({
          label: `New: ${preset.title}`,
          onSelect: () => create(preset),
        })),
      ]}
      footer={<Presets presets={presets} onCreate={create} />}
      empty={
        current !== undefined ? null : (
          <EmptyState
            label="No test endpoint"
            title={
              openId === undefined ? "Create the first test endpoint" : "Test endpoint not found"
            }
            action={{
              label: "Create one: 503 ×3 → 200",
              run: () => create(presets.find((preset) => preset.name === "503-three-times")),
            }}
            more={
              <>
                <Button onClick={() => create()}>Create one that always answers 200</Button>
                <span className="muted">or use a preset from the list</span>
              </>
            }
            error={problem}
          >
            A test endpoint is a receiver inside Hookyard that answers as you program it: 503 three
            times, then 200; no response for more than five seconds; a reset; a bad certificate.
            Point a webhook at it, or any other program, and see every byte that arrives.
          </EmptyState>
        )
      }
      editor={
        current && (
          <EndpointEditor key={current.id} endpoint={current} problem={problem} onRun={run} />
        )
      }
      evidence={
        current && {
          label: "Received requests",
          content: <ReceivedRequests key={current.id} endpoint={current} />,
        }
      }
    />
  );
}

/** What is wrong with an endpoint, by its first step. */
function groupOf({ steps, host }: Preset): string {
  const does = steps[0]?.do ?? "answer";
  if (host !== undefined) return "certificates";
  if (does === "forward") return "in front of a receiver";
  if (stepBehaviours[does].lasts || (steps[0]?.delayMs ?? 0) > 0) return "slow";
  return ["answer", "redirect"].includes(does) ? "answers" : "broken connections";
}

function Presets({
  presets,
  onCreate,
}: {
  presets: readonly Preset[];
  onCreate: (preset: Preset) => void;
}) {
  return (
    <section className="presets" aria-labelledby="presets-title">
      <h3 id="presets-title">New from a preset</h3>
      {[...Map.groupBy(presets, groupOf)].map(([group, own]) => (
        <div key={group} className="preset-group" role="group" aria-label={group}>
          <span className="quiet">{group}</span>
          {own.map((preset) => (
            <button
              key={preset.name}
              type="button"
              className="preset"
              title={`${preset.title}: ${printProgram(preset.steps)}`}
              onClick={() => onCreate(preset)}
            >
              {preset.name.replaceAll("-", " ").replace(/ certificate$/, "")}
            </button>
          ))}
        </div>
      ))}
    </section>
  );
}
