/**
 * The command palette: everything the page can do, by name. Offers come from `stores/commands.ts`.
 */

import { Dialog as BaseDialog } from "@base-ui/react/dialog";
import { Fragment, useMemo, useRef, useState } from "react";
import { isComposing } from "../../kit/composing.ts";
import { Kbd } from "../../kit/controls.tsx";
import { orToast } from "../../kit/copy.tsx";
import { Dialog } from "../../kit/floats.tsx";
import { Icon } from "../../kit/icon.tsx";
import { type Command, useCommands, useOverlay } from "../../stores/commands.ts";
import { shortcuts } from "../../stores/keys.ts";
import { usePlace } from "../../stores/place.ts";
import { markedParts, type Match, matchCommands } from "./match.ts";
import { pageParts } from "./page-controls.ts";
import { useThings } from "./things.ts";
import "./commands.css";

/** More are not read; typing narrows them. */
const maxShown = 40;

export function Palette() {
  const { isOpen, close } = useCommands();
  return (
    <BaseDialog.Root open={isOpen} onOpenChange={(open) => (open ? undefined : close())}>
      <BaseDialog.Portal>
        <BaseDialog.Backdrop className="backdrop" />
        <BaseDialog.Popup className="menu palette-menu" aria-label="Commands">
          <Search onDone={close} />
        </BaseDialog.Popup>
      </BaseDialog.Portal>
    </BaseDialog.Root>
  );
}

type Section = { title: string; commands: readonly Command[] };

/** First what acts on the open or selected thing, then the controls of the view, then the rest. */
function useSections(text: string): readonly Section[] {
  const groups = useCommands((store) => store.groups);
  const [parts] = useState(pageParts);
  const things = useThings(text);
  return useMemo(() => {
    const offered = [...groups].map(([title, group]) => ({ title, ...group }));
    return [
      ...offered.filter(({ of }) => of === "thing"),
      ...parts,
      { title: "Open", commands: things },
      ...offered.filter(({ of }) => of === "view"),
      ...offered.filter(({ of }) => of === "all"),
    ].filter(({ commands }) => commands.length > 0);
  }, [groups, parts, things]);
}

function Search({ onDone }: { onDone: () => void }) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const list = useRef<HTMLUListElement>(null);
  const sections = useSections(text.trim());
  const matches = useMemo(() => {
    const all = sections
      .flatMap(({ commands }) => commands)
      .filter(({ isThere }) => isThere?.() !== false);
    if (text.trim() === "") return matchCommands(all, "");
    return [...matchCommands(all, text).slice(0, maxShown), filterFor(text.trim())];
  }, [sections, text]);
  /** Where nothing is typed, the commands stand in sections. */
  const titles = useMemo(() => {
    const isTyped = text.trim() !== "";
    const titled = sections.flatMap(({ title, commands }) =>
      commands.map((command, place) => [command, { title, isFirst: place === 0 }] as const),
    );
    return new Map(isTyped ? [] : titled);
  }, [sections, text]);
  const here = Math.min(at, matches.length - 1);

  const run = (match: Match | undefined): void => {
    if (match === undefined) return;
    onDone();
    // After the dialog has given the focus back, so that a command can move it.
    window.requestAnimationFrame(() => void runOf(match.command));
  };
  const move = (to: number): void => {
    setAt(to);
    list.current?.querySelector(`#command-${to}`)?.scrollIntoView({ block: "nearest" });
  };

  return (
    <>
      <input
        autoFocus
        role="combobox"
        aria-expanded="true"
        aria-controls="commands-found"
        aria-activedescendant={here < 0 ? undefined : `command-${here}`}
        aria-label="Type a command, a name or an id, or text to filter messages"
        placeholder="Type a command, a name or an id, or text to filter messages"
        value={text}
        onChange={(event) => {
          setText(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={(event) => {
          if (isComposing(event.nativeEvent)) return;
          if (event.key === "ArrowDown") move((here + 1) % matches.length);
          else if (event.key === "ArrowUp") move((here - 1 + matches.length) % matches.length);
          else if (event.key === "Enter") run(matches[here]);
          else return;
          event.preventDefault();
        }}
      />
      <hr />
      <ul ref={list} id="commands-found" role="listbox" aria-label="Commands">
        {matches.map((match, place) => (
          <Fragment key={match.command.id}>
            {titles.get(match.command)?.isFirst === true ? (
              <SectionTitle title={titles.get(match.command)?.title} />
            ) : null}
            <li
              id={`command-${place}`}
              role="option"
              aria-selected={place === here}
              className={place === here ? "menu-item here" : "menu-item"}
              onPointerMove={() => setAt(place)}
              onClick={() => run(match)}
            >
              <Icon name={match.command.icon} />
              <Label match={match} />
              <Hint command={match.command} below={titles.get(match.command)?.title} />
            </li>
          </Fragment>
        ))}
      </ul>
    </>
  );
}

function SectionTitle({ title }: { title: string | undefined }) {
  return title === undefined ? null : (
    <li className="list-heading" role="presentation">
      {title}
    </li>
  );
}

const runOf = ({ label, isThere, run }: Command): Promise<void> =>
  orToast(async () => {
    if (isThere?.() === false) throw new Error(`“${label}” is no longer on the page.`);
    await run();
  });

function Label({ match: { command, marks } }: { match: Match }) {
  return (
    <span className="clip">
      {markedParts(command.label, marks).map(({ text, marked }, place) => {
        // oxlint-disable-next-line react/no-array-index-key -- parts of one label have nothing but their place
        return marked ? <mark key={place}>{text}</mark> : <span key={place}>{text}</span>;
      })}
    </span>
  );
}

/** `below`: the title of the section, which needs no repetition. */
function Hint({
  command: { hint, shortcut },
  below,
}: {
  command: Command;
  below: string | undefined;
}) {
  return (
    <>
      {hint === undefined || hint === below ? null : <span className="hint">{hint}</span>}
      {shortcut === undefined ? null : <Kbd>{shortcut}</Kbd>}
    </>
  );
}

function filterFor(text: string): Match {
  const run = (): void => usePlace.getState().go({ view: "live", query: { text } });
  return {
    command: {
      id: "filter",
      label: `Filter messages for “${text}”`,
      icon: "search",
      shortcut: "/",
      run,
    },
    marks: [],
    score: 0,
  };
}

/** The `?` overlay: every key, by where it works. */
export function Shortcuts() {
  const { shown, hide } = useOverlay();
  const places = [...new Set(shortcuts.map(({ where }) => where))];
  return (
    <Dialog open={shown === "shortcuts"} onClose={hide} title="Shortcuts" wide>
      <div className="shortcuts">
        {places.map((place) => (
          <section key={place} aria-label={place}>
            <h3>{place}</h3>
            <dl>
              {shortcuts
                .filter(({ where }) => where === place)
                .map(({ keys, does }) => (
                  <div key={does}>
                    <dt>
                      {keys.map((key) => (
                        <kbd key={key}>{key}</kbd>
                      ))}
                    </dt>
                    <dd>{does}</dd>
                  </div>
                ))}
            </dl>
          </section>
        ))}
      </div>
      <p className="quiet shortcuts-note">
        Single keys are ignored while a field, a menu or a dialog has focus.
      </p>
    </Dialog>
  );
}
