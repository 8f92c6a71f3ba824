/**
 * The command palette: everything the page can do, by name. Offers come from `stores/commands.ts`.
 */

import { Dialog as BaseDialog } from "@base-ui/react/dialog";
import { useMemo, useRef, useState } from "react";
import { Kbd } from "../../kit/controls.tsx";
import { Dialog } from "../../kit/floats.tsx";
import { Icon } from "../../kit/icon.tsx";
import { type Command, useCommands, useOverlay } from "../../stores/commands.ts";
import { shortcuts } from "../../stores/keys.ts";
import { usePlace } from "../../stores/place.ts";
import { markedParts, type Match, matchCommands } from "./match.ts";
import "./commands.css";

/** As many as can be read at a glance; typing narrows them. */
const maxShown = 12;

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

function Search({ onDone }: { onDone: () => void }) {
  const groups = useCommands((store) => store.groups);
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const list = useRef<HTMLUListElement>(null);
  const matches = useMemo(() => {
    const found = matchCommands([...groups.values()].flat(), text).slice(0, maxShown);
    return text.trim() === "" ? found : [...found, filterFor(text.trim())];
  }, [groups, text]);
  const here = Math.min(at, matches.length - 1);

  const run = (match: Match | undefined): void => {
    if (match === undefined) return;
    onDone();
    match.command.run();
  };
  const move = (to: number): void => {
    setAt(to);
    list.current?.children[to]?.scrollIntoView({ block: "nearest" });
  };

  return (
    <>
      <input
        autoFocus
        role="combobox"
        aria-expanded="true"
        aria-controls="commands-found"
        aria-activedescendant={here < 0 ? undefined : `command-${here}`}
        aria-label="Type a command, or text to filter messages"
        placeholder="Type a command, or text to filter messages"
        value={text}
        onChange={(event) => {
          setText(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={(event) => {
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
          <li
            key={match.command.id}
            id={`command-${place}`}
            role="option"
            aria-selected={place === here}
            className={place === here ? "menu-item here" : "menu-item"}
            onPointerMove={() => setAt(place)}
            onClick={() => run(match)}
          >
            <Icon name={match.command.icon} />
            <Label match={match} />
            <Hint command={match.command} />
          </li>
        ))}
      </ul>
    </>
  );
}

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

function Hint({ command: { hint, shortcut } }: { command: Command }) {
  if (shortcut !== undefined) return <Kbd>{shortcut}</Kbd>;
  return hint === undefined ? null : <span className="hint">{hint}</span>;
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
