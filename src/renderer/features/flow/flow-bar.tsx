/** Over the map and the list: which of the two, and what is broken, one press away. */

import { useEffect, useRef, useState } from "react";
import { Choice } from "../../kit/controls.tsx";
import { OutcomeGlyph } from "../../kit/glyph.tsx";
import { Icon } from "../../kit/icon.tsx";
import { clockTime, count } from "../../kit/words.ts";
import { type FlowLine, type FlowModel, troubles } from "./flow-model.ts";
import { lineHref } from "./flow-places.ts";

export type Shape = "map" | "list";

export function FlowBar({
  model,
  shape,
  onShape,
}: {
  model: FlowModel;
  shape: Shape;
  onShape: (shape: Shape) => void;
}) {
  const failing = troubles(model, "failing");
  const hanging = troubles(model, "hanging");
  const turn = useRef(0);
  const goTo = (lines: readonly { line: FlowLine }[]): void => {
    const next = lines[turn.current % lines.length];
    turn.current += 1;
    if (next === undefined) return;
    const link = document.querySelector<HTMLElement>(
      `[data-line="${CSS.escape(next.line.key)}"], .flow-list a[href="${CSS.escape(lineHref(next.line))}"]`,
    );
    link?.scrollIntoView({ block: "nearest" });
    link?.focus();
  };
  const waiting = model.destinations.reduce((sum, each) => sum + each.waiting, 0);
  const worst = failing[0]?.line.outcome ?? "http_error";
  return (
    <header className="flow-bar">
      <h1>Flow</h1>
      <Choice
        label="Shown as"
        value={shape}
        options={[
          {
            value: "map",
            label: (
              <>
                <Icon name="flow" small /> map
              </>
            ),
          },
          {
            value: "list",
            label: (
              <>
                <Icon name="list" small /> list
              </>
            ),
          },
        ]}
        onChange={onShape}
      />
      {failing.length === 0 ? null : (
        <button type="button" className={`alarm ${worst}`} onClick={() => goTo(failing)}>
          <OutcomeGlyph outcome={worst} />
          <b>{count(failing.length)} failing</b>
          <span className="more">{failing[0]?.host}</span>
        </button>
      )}
      {hanging.length === 0 ? null : (
        <button type="button" className="alarm timeout" onClick={() => goTo(hanging)}>
          <OutcomeGlyph outcome="timeout" />
          <b>
            {count(hanging.length)} {hanging.length === 1 ? "hangs" : "hang"}
          </b>
          <span className="more">{hanging[0]?.host}</span>
        </button>
      )}
      {waiting === 0 ? null : (
        <a className="alarm waiting" href="#/retries">
          <b>{count(waiting)} waiting</b>
        </a>
      )}
      <span className="grow" />
      <span className="quiet since">counted since {clockTime(model.since)}</span>
      <Announced model={model} />
    </header>
  );
}

/** For screen readers: what began to fail, at most every five seconds. */
function Announced({ model }: { model: FlowModel }) {
  const broken = [...troubles(model, "failing"), ...troubles(model, "hanging")];
  const words = broken.map(({ host, line }) => `${host}: ${line.words}`);
  const key = broken.map(({ id, line }) => `${id} ${line.state}`).join();
  const [said, say] = useState("");
  const latest = useRef(words);
  latest.current = words;
  useEffect(() => {
    const timer = window.setTimeout(
      () => say(latest.current.length === 0 ? "" : latest.current.join(". ")),
      said === "" ? 0 : 5000,
    );
    return () => window.clearTimeout(timer);
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- figures in the words change all the time; what fails is news
  }, [key]);
  return (
    <span className="sr" role="status">
      {said}
    </span>
  );
}
