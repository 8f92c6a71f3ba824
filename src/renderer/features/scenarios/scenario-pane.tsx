/**
 * One scenario: what it is, run it, what came of its last run step by step, and its file beside
 * that.
 */

import { useDeferredValue, useEffect, useState } from "react";
import type { ScenarioProblem, ScenarioRunAnswer } from "../../../contract/scenarios.ts";
import { DeleteMenu } from "../../kit/confirm-dialog.tsx";
import { Button, IconButton } from "../../kit/controls.tsx";
import { copyText } from "../../kit/copy.tsx";
import { Menu, type MenuItem } from "../../kit/floats.tsx";
import { StateGlyph } from "../../kit/glyph.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { useAction } from "../../kit/use-action.ts";
import { YamlCode } from "../../kit/yaml-code.tsx";
import { useOffer } from "../../stores/commands.ts";
import { useKeys } from "../../stores/keys.ts";
import { useOnce } from "../../stores/live-data.ts";
import { openStory } from "../../stores/story.ts";
import { call } from "../../transport/transport.ts";
import { saveFile } from "../../kit/save-file.ts";
import { Collection, type CollectionProps, EditorPane } from "../collection/collection.tsx";
import { Problems, ScenarioSteps } from "./scenario-steps.tsx";
import { fileNameIn, glyphs, reportWords } from "./scenario-words.ts";

export type Scenario = {
  /** Under which its runs are known. */
  file: string;
  name: string;
  description: string | null;
  text: string;
  notes: readonly string[];
  own: { change: (text: string) => void; remove: () => void } | null;
};

type ScenarioPaneProps = {
  /** The view around it: its editor and its evidence show the same scenario. */
  collection: Omit<CollectionProps, "editor" | "evidence">;
  scenario: Scenario;
  run: ScenarioRunAnswer | undefined;
  error: Error | null;
  /** Makes one of the user's own of it. */
  onCopy: (text: string) => void;
};

export function ScenarioPane({ collection, scenario, run, error, onCopy }: ScenarioPaneProps) {
  const { file, name, description, text, notes, own } = scenario;
  const { isRunning, start, stop, problem: refusal } = useRunning(scenario, run);
  const [pointed, setPointed] = useState<{ line: number } | null>(null);
  const checkedText = useDeferredValue(text);
  const checked = useOnce("scenarios.check", own === null ? null : { text: checkedText }).answer;
  const problems = checked?.problems ?? [];
  const report = run?.report;
  // What was pointed at in one run is elsewhere in the next.
  useEffect(() => setPointed(null), [run?.id]);
  const toLine = (line: number): void => setPointed({ line });

  const editor = (
    <EditorPane
      kind="scenario"
      label="Scenario"
      title={<span title={name.slice(0, 200)}>{name.slice(0, 200)}</span>}
      others="Another scenario"
      tools={
        <>
          {isRunning ? (
            <Button small icon="close" shortcut="r" onClick={stop}>
              Stop
            </Button>
          ) : (
            <Button small look="primary" icon="send" shortcut="r" onClick={start}>
              Run
            </Button>
          )}
          {/^\s+(?:- )?caption:/m.test(text) ? (
            <Button
              small
              icon="show"
              onClick={() => void openStory(own === null ? { file } : { text, file })}
            >
              Play as a story
            </Button>
          ) : null}
          <ScenarioMenu scenario={scenario} onCopy={onCopy} />
        </>
      }
    >
      <div className="pane-body" role="group" aria-label="Result" tabIndex={0}>
        <ProblemText error={refusal ?? error} />
        {description === null ? null : <p className="scenario-lead isolate">{description}</p>}
        {notes.map((note) => (
          <p key={note} className="scenario-note isolate">
            {note}
          </p>
        ))}
        <Result report={report} problems={problems} toLine={toLine} />
      </div>
    </EditorPane>
  );

  const fileProblems = own === null ? (report?.problems ?? []) : problems;
  const content = (
    <section className="pane" aria-label="File">
      <header className="pane-title">
        <h2>File</h2>
        <span className="muted clip">{own === null ? file : "yours, stored in this browser"}</span>
        <span className="grow" />
        {own === null ? (
          <Button small onClick={() => onCopy(text)}>
            Edit a copy
          </Button>
        ) : (
          <Button small icon="save" onClick={() => saveFile(fileNameIn(text), text)}>
            Save
          </Button>
        )}
        <IconButton
          icon="copy"
          small
          label="Copy the file"
          onClick={() => void copyText(text, "the scenario")}
        />
      </header>
      {own !== null && problems.length > 0 && report !== undefined ? (
        <Problems problems={problems} toLine={toLine} />
      ) : null}
      <YamlCode
        label="The scenario's file"
        text={text}
        wrong={new Set(fileProblems.map(({ line }) => line))}
        pointed={pointed}
        onChange={own?.change ?? null}
      />
    </section>
  );
  return <Collection {...collection} editor={editor} evidence={{ label: "File", content }} />;
}

/** Starts the scenario and stops its run, also with `r` and from the palette. */
function useRunning({ file, name, text }: Scenario, run: ScenarioRunAnswer | undefined) {
  const { problem, run: press } = useAction();
  const start = (): void => press(`start ${file}`, () => call("scenarios.run", { text, file }));
  const stop = (): void =>
    run === undefined
      ? undefined
      : press(`stop ${run.id}`, () => call("scenarioRuns.delete", { id: run.id }));
  const isRunning = run?.report.state === "running";
  useKeys({ r: isRunning ? stop : start });
  useOffer(
    "Scenario",
    [
      {
        id: "scenario.run",
        label: `Run the scenario ${name.slice(0, 60)}`,
        icon: "scenarios",
        shortcut: "r",
        run: start,
      },
    ],
    "thing",
  );
  return { isRunning, start, stop, problem };
}

function ScenarioMenu({
  scenario: { name, text, own },
  onCopy,
}: Pick<ScenarioPaneProps, "scenario" | "onCopy">) {
  const label = "More: copy, save, duplicate, delete";
  const fileName = fileNameIn(text);
  const items: readonly MenuItem[] = [
    { label: "Copy the file", icon: "copy", onSelect: () => void copyText(text, "the scenario") },
    {
      label: "Save as a file",
      icon: "save",
      hint: fileName.slice(0, 30),
      onSelect: () => saveFile(fileName, text),
    },
    {
      label: own === null ? "Edit a copy" : "Duplicate",
      icon: "add",
      onSelect: () => onCopy(text),
    },
  ];
  if (own === null)
    return <Menu trigger={<IconButton icon="more" small label={label} />} items={items} />;
  return (
    <DeleteMenu
      name={name.slice(0, 60)}
      label={label}
      items={[...items, "line"]}
      onDelete={() => Promise.resolve(own.remove())}
    >
      It is stored in this browser only. Save it as a file first if you want to run it again.
    </DeleteMenu>
  );
}

type ResultProps = {
  report: ScenarioRunAnswer["report"] | undefined;
  problems: readonly ScenarioProblem[];
  toLine: (line: number) => void;
};

function Result({ report, problems, toLine }: ResultProps) {
  if (report === undefined) {
    return problems.length > 0 ? (
      <Problems problems={problems} toLine={toLine} />
    ) : (
      <p className="scenario-lead">
        Not run yet. A scenario runs in its own in-memory pipeline with its own clock: nothing
        appears in Live, and hours of retries take only as long as their requests.
      </p>
    );
  }
  return (
    <>
      <p
        className="scenario-result"
        role="status"
        aria-live={report.state === "running" ? "off" : "polite"}
      >
        <span className={`state ${glyphs[report.state]}`}>
          <StateGlyph state={glyphs[report.state]} />
          {report.state}
        </span>
        <span className="muted">{reportWords(report)}</span>
        <span className="grow" />
        <span className="quiet">seed {report.seed}</span>
      </p>
      <ScenarioSteps report={report} toLine={toLine} />
    </>
  );
}
