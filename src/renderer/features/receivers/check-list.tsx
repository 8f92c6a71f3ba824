/** The checks by group, and what stands above them: the score, and how many ended in which way. */

import { useState } from "react";
import type { CheckLine, CheckState, ReceiverCheck } from "../../../contract/checks.ts";
import { Button } from "../../kit/controls.tsx";
import { Menu } from "../../kit/floats.tsx";
import { OutcomeGlyph, StateGlyph } from "../../kit/glyph.tsx";
import { Icon } from "../../kit/icon.tsx";
import { saveFile } from "../../kit/save-file.ts";
import { span } from "../../kit/words.ts";
import { callUnmasked } from "../../transport/transport.ts";
import { countOf, groupsOf, isOver, verdicts, type CheckGroup } from "./check-words.ts";

function CheckGlyph({ state }: { state: CheckState }) {
  if (state === "running") return <OutcomeGlyph outcome="under_way" />;
  return state === "coming" ? <OutcomeGlyph outcome="coming" /> : <StateGlyph state={state} />;
}

type Format = "html" | "json" | "junit";

/** A report comes in pieces, as one answer may not be too large. */
async function saveReport(id: string, as: Format): Promise<void> {
  let text = "";
  for (let from: number | null = 0; from !== null;) {
    const piece: { file: string; text: string; next: number | null } = await callUnmasked(
      "checks.report",
      {
        id,
        as,
        from,
      },
    );
    text += piece.text;
    from = piece.next;
    if (from === null)
      saveFile(
        piece.file,
        text,
        { html: "text/html", json: "application/json", junit: "application/xml" }[as],
      );
  }
}

export function ScoreLine({
  check,
  onExport,
}: {
  check: ReceiverCheck;
  onExport: (format: string, save: () => Promise<void>) => void;
}) {
  const { id, state, score, checks, durationMs, seed } = check;
  const groups = groupsOf(check);
  const over = checks.filter((line) => isOver(line.state)).length;
  const save = (as: Format) => (): void => onExport(as, () => saveReport(id, as));
  return (
    <div className="check-score">
      <span className="big">
        {score}
        <small>of 100{state === "done" ? "" : " so far"}</small>
      </span>
      <div className="tally">
        {verdicts.map((verdict) => (
          <span key={verdict} className={`state ${verdict}`}>
            <StateGlyph state={verdict} />
            <b>{countOf(check, verdict)}</b> {verdict}
          </span>
        ))}
      </div>
      <div className="runs" role="img" aria-label={`${checks.length} checks in order`}>
        {groups.map(({ name, lines }) => (
          <span key={name} className="run">
            {lines.map((line) => (
              <CheckGlyph key={line.id} state={line.state} />
            ))}
          </span>
        ))}
      </div>
      <span className="grow" />
      <span
        className="muted"
        role="status"
        aria-live={state === "running" ? "off" : "polite"}
        title={`Seed ${seed}`}
      >
        {state === "done"
          ? `${checks.length} checks`
          : `${state === "running" ? "" : "stopped, "}${over} of ${checks.length}`}
        , {span(durationMs)}
      </span>
      <span className="split-btn">
        <Button icon="save" onClick={save("html")}>
          Export HTML
        </Button>
        <Menu
          trigger={
            <button type="button" className="btn" aria-label="Export as JSON or JUnit">
              <Icon name="down" small />
            </button>
          }
          items={[
            { label: "JSON", hint: "check.json", onSelect: save("json") },
            { label: "JUnit XML", hint: "check.xml", onSelect: save("junit") },
          ]}
        />
      </span>
    </div>
  );
}

export function CheckList({
  check,
  open,
  onOpen,
}: {
  check: ReceiverCheck;
  open: string | undefined;
  onOpen: (id: string) => void;
}) {
  /** What the user opened or closed; other groups open by themselves. */
  const [chosen, setChosen] = useState<Readonly<Record<string, boolean>>>({});
  return (
    <ul className="checks">
      {groupsOf(check).map((group) => {
        const isExpanded =
          chosen[group.name] ?? (group.isTelling || group.lines.some(({ id }) => id === open));
        return (
          <Group
            key={group.name}
            group={group}
            isExpanded={isExpanded}
            onToggle={() => setChosen({ ...chosen, [group.name]: !isExpanded })}
          >
            {(line) => (
              <Line
                key={line.id}
                line={line}
                isOpen={line.id === open}
                isEnded={check.state !== "running"}
                onOpen={onOpen}
              />
            )}
          </Group>
        );
      })}
    </ul>
  );
}

type GroupProps = {
  group: CheckGroup;
  isExpanded: boolean;
  onToggle: () => void;
  children: (line: CheckLine) => React.ReactNode;
};

function Group({ group: { name, lines, passed }, isExpanded, onToggle, children }: GroupProps) {
  return (
    <li>
      <button type="button" className="check-group" aria-expanded={isExpanded} onClick={onToggle}>
        <Icon name={isExpanded ? "down" : "forward"} small />
        <b>{name}</b>
        <span className="pips">
          {lines.map((line) => (
            <CheckGlyph key={line.id} state={line.state} />
          ))}
        </span>
        <span className="cnt">
          {passed} of {lines.length}
        </span>
      </button>
      {isExpanded ? <ul aria-label={name}>{lines.map(children)}</ul> : null}
    </li>
  );
}

type LineProps = {
  line: CheckLine;
  isOpen: boolean;
  isEnded: boolean;
  onOpen: (id: string) => void;
};

function Line({ line: { id, title, state, brief }, isOpen, isEnded, onOpen }: LineProps) {
  return (
    <li>
      <button
        type="button"
        className={`check-line ${state}`}
        aria-current={isOpen ? "true" : undefined}
        disabled={!isOver(state)}
        title={title}
        onClick={() => onOpen(id)}
      >
        <code className="clip">{id}</code>
        <span className="clip brief">{state === "skipped" ? "" : brief}</span>
        {state === "coming" ? (
          <span className="quiet">{isEnded ? "not run" : "to come"}</span>
        ) : (
          <span className={`state ${state === "running" ? "under_way tone" : state}`}>
            <CheckGlyph state={state} />
            {state === "running" ? "runs" : state}
          </span>
        )}
      </button>
    </li>
  );
}
