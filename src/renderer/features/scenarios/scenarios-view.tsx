/**
 * Scenarios: those that come with Hookyard and the user's own, one of them with its last run and
 * its file. The place is `#/scenarios/<file>` or `#/scenarios/own/<id>`.
 */

import { type RefObject, useRef } from "react";
import type { ReadyScenario, ScenarioRunAnswer } from "../../../contract/scenarios.ts";
import { Button } from "../../kit/controls.tsx";
import { StateGlyph } from "../../kit/glyph.tsx";
import { EmptyState } from "../../kit/empty-state.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { useAction } from "../../kit/use-action.ts";
import { useOffer } from "../../stores/commands.ts";
import { useLive, useOnce } from "../../stores/live-data.ts";
import { usePlace } from "../../stores/place.ts";
import { masked, unmasked } from "../../transport/secrets.ts";
import { Collection, type Entry } from "../collection/collection.tsx";
import { type OwnScenario, useOwnScenarios } from "./own-scenarios.ts";
import { type Scenario, ScenarioPane } from "./scenario-pane.tsx";
import { glyphs, nameIn } from "./scenario-words.ts";
import "./scenarios.css";

/** What the control API takes. */
const longestFile = 1_000_000;

export function ScenariosView() {
  const { path, go } = usePlace();
  const { answer, error } = useOnce("scenarios.list", {});
  const runs = useLive("scenarioRuns.list", {}).answer?.items ?? [];
  const own = useOwnShown();
  const { problem, attempt } = useAction();
  const chooser = useRef<HTMLInputElement>(null);

  const chooseFile = (): void => chooser.current?.click();
  const openFiles = async (files: readonly File[]): Promise<void> => {
    for (const file of files) {
      if (file.size > longestFile)
        throw new Error(`${file.name} is larger than 1 MB, so it is not a scenario.`);
      addScenario(await file.text());
    }
  };
  useOffer("Scenarios", [
    {
      id: "scenarios.open",
      label: "Open a scenario file",
      icon: "scenarios",
      run: chooseFile,
    },
  ]);
  if (answer === undefined) return <ProblemText error={error} />;

  const ready = answer.items.map(fromReady);
  const all = [
    ...own.items.map((item) => fromOwn(item, own, () => go({ view: "scenarios" }))),
    ...ready,
  ];
  const openFile = path[0] === "own" ? path[1] : path[0];
  const current =
    all.find(({ file }) => file === openFile) ?? (openFile === undefined ? ready[0] : undefined);
  const runOf = (file: string): ScenarioRunAnswer | undefined =>
    runs.find(({ report }) => report.file === file);
  const collection = {
    view: "scenarios",
    title: "Scenarios",
    entries: all.map((scenario): Entry => ({
      path: placeOf(scenario),
      label: scenario.name.slice(0, 80),
      name: scenario.name.slice(0, 200),
      aside: <RunState run={runOf(scenario.file)} />,
      detail: scenario.own === null ? <code>{scenario.file}</code> : "yours",
      inMenu: scenario !== current,
    })),
    current: current && placeOf(current),
    add: { label: "New scenario", run: () => addScenario() },
    footer: (
      <ScenarioFiles
        chooser={chooser}
        onChoose={chooseFile}
        onFiles={(files) => attempt(() => openFiles(files))}
      />
    ),
  } as const;

  if (current === undefined) {
    return (
      <Collection
        {...collection}
        empty={
          <EmptyState
            label="No scenario"
            title={openFile === undefined ? "Write the first scenario" : "Scenario not found"}
            action={{ label: "Start with an example", run: () => addScenario() }}
            more={<Button onClick={chooseFile}>Open a file…</Button>}
            error={problem}
          >
            A scenario is a file of sources, destinations, test endpoints, messages to send, clock
            moves and expectations. It runs the whole pipeline in memory, hours in seconds, and
            reports what differs from the expectations.
          </EmptyState>
        }
        editor={null}
      />
    );
  }
  return (
    <ScenarioPane
      key={current.file}
      collection={collection}
      scenario={current}
      run={runOf(current.file)}
      error={problem ?? own.error}
      onCopy={addScenario}
    />
  );
}

/**
 * The user's own, without secrets while they are hidden. What is typed meanwhile is shown as it is
 * typed: a mask that takes its place would move the caret.
 */
function useOwnShown(): ReturnType<typeof useOwnScenarios.getState> {
  const own = useOwnScenarios();
  const typed = useRef(new Map<string, string>());
  return {
    ...own,
    items: own.items.map((item) => {
      const text = typed.current.get(item.id);
      return text !== undefined && unmasked(text) === item.text ? { ...item, text } : masked(item);
    }),
    change(id, text) {
      typed.current.set(id, text);
      own.change(id, text);
    },
  };
}

type FilesProps = {
  chooser: RefObject<HTMLInputElement | null>;
  onChoose: () => void;
  onFiles: (files: readonly File[]) => void;
};

function ScenarioFiles({ chooser, onChoose, onFiles }: FilesProps) {
  return (
    <section className="scenario-files">
      <Button small onClick={onChoose}>
        Open a file…
      </Button>
      <input
        ref={chooser}
        type="file"
        accept=".yaml,.yml,application/yaml"
        multiple
        hidden
        aria-label="A scenario file"
        onChange={({ currentTarget }) => {
          const files = [...(currentTarget.files ?? [])];
          currentTarget.value = "";
          onFiles(files);
        }}
      />
      <p className="quiet">
        To record one, filter Live to the messages, then choose a scenario in the export menu.{" "}
        <code>hookyard run FILE</code> runs the same files from the command line.
      </p>
    </section>
  );
}

function RunState({ run }: { run: ScenarioRunAnswer | undefined }) {
  if (run === undefined) return null;
  const { state } = run.report;
  return (
    <span className={`state ${glyphs[state]}`} title={state}>
      <StateGlyph state={glyphs[state]} />
      <span className="sr">{state}</span>
    </span>
  );
}

const placeOf = ({ own, file }: Scenario): string[] => (own === null ? [file] : ["own", file]);

function fromReady({ file, name, description, text }: ReadyScenario): Scenario {
  return { file, name, description, text, notes: [], own: null };
}

function fromOwn(
  { id, text, notes }: OwnScenario,
  store: { change(id: string, text: string): void; remove(id: string): void },
  leave: () => void,
): Scenario {
  return {
    file: id,
    name: nameIn(text),
    description: null,
    text,
    notes,
    own: {
      change: (changed) => store.change(id, changed),
      remove: () => {
        store.remove(id);
        leave();
      },
    },
  };
}

/** Keeps it with the user's own, and opens it. */
export function addScenario(text = newScenario): void {
  const id = useOwnScenarios.getState().add(text);
  usePlace.getState().go({ view: "scenarios", path: ["own", id] });
}

/** Where a new scenario begins: short, complete, and it passes. */
const newScenario = `name: A new scenario

endpoints:
  Receiver: [{ status: 503, times: 2 }, { status: 200 }]

destinations:
  Shop:
    webhooks: [{ endpoint: Receiver }]
    sharedSecret: s3cret

steps:
  - send: { type: track, event: Order Completed, userId: u_1042 }

  - name: The receiver recovers in the third round
    expect:
      - deliveries: { count: 1, state: delivered, within: 5m }
      - attempts: { of: { result: 503 }, count: 2 }
      - requests: { of: { endpoint: Receiver }, signature: valid }
`;
