/** Over the map and the list: which of the two, and what is broken, one press away. */

import { useEffect, useRef, useState } from "react";
import { Choice } from "../../kit/controls.tsx";
import { OutcomeGlyph } from "../../kit/glyph.tsx";
import { Icon } from "../../kit/icon.tsx";
import { count } from "../../kit/words.ts";
import { useKeys } from "../../stores/keys.ts";
import { Time } from "../details/until.tsx";
import { type FlowLine, type FlowModel, troubles } from "./flow-model.ts";
import { lineHref } from "./flow-places.ts";
import { isMany } from "./map-layout.ts";

export type Shape = "map" | "list";

/** `/` leads here: the name of a source or a destination, which is then shown alone. */
function Find({ model, onFind }: { model: FlowModel; onFind: (id: string) => void }) {
  const [text, setText] = useState("");
  const field = useRef<HTMLInputElement>(null);
  useKeys({ "/": () => field.current?.focus() });
  const all = [...model.destinations, ...model.origins];
  const find = (): void => {
    const wanted = text.trim().toLowerCase();
    const names = (test: (name: string) => boolean) =>
      all.find(({ name }) => test(name.toLowerCase()));
    const found =
      names((name) => name === wanted) ??
      names((name) => name.startsWith(wanted)) ??
      names((name) => name.includes(wanted));
    if (wanted === "" || found === undefined) return;
    setText("");
    field.current?.blur();
    onFind(found.id);
  };
  return (
    <form
      className="flow-find"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        find();
      }}
    >
      <Icon name="search" small />
      <input
        ref={field}
        value={text}
        list="flow-names"
        aria-label="Show one source or destination"
        aria-keyshortcuts="/"
        placeholder="show one source or destination"
        onChange={({ target }) => setText(target.value)}
        onKeyDown={({ key }) => (key === "Escape" ? field.current?.blur() : undefined)}
      />
      <kbd aria-hidden="true">/</kbd>
      <datalist id="flow-names">
        {all.map(({ id, name }) => (
          <option key={id} value={name} />
        ))}
      </datalist>
    </form>
  );
}

export function FlowBar({
  model,
  shape,
  onShape,
  onFind,
}: {
  model: FlowModel;
  shape: Shape;
  onShape: (shape: Shape) => void;
  onFind: (id: string) => void;
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
      {shape === "map" && isMany(model) ? <Find model={model} onFind={onFind} /> : null}
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
      <span className="quiet since">
        counted since <Time at={model.since} />
      </span>
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
