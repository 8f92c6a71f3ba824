/** A menu of many, with a search above them: typing narrows it, arrows and Enter choose. */

import { Popover } from "@base-ui/react/popover";
import { type ReactElement, useRef, useState } from "react";
import { isComposing } from "./composing.ts";
import { type MenuItem, useMenuItems } from "./floats.tsx";
import { Icon } from "./icon.tsx";

type Choice = Exclude<MenuItem, "line">;

/** Longer lists are not read at a glance: they have a search. */
export const longList = 13;

/** By each word of the search. */
export function matchesSearch(text: string, search: string): boolean {
  const own = text.toLowerCase();
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => own.includes(word));
}

type Props = {
  trigger: ReactElement;
  /** What the menu is, for a screen reader. */
  label: string;
  /** Of its search. */
  search: { label: string; placeholder: string };
  items: readonly MenuItem[];
};

export function SearchMenu({ trigger, ...rest }: Props) {
  const [isOpen, setIsOpen] = useState(false);
  const button = useMenuItems(rest.items);
  return (
    <Popover.Root open={isOpen} onOpenChange={(open) => setIsOpen(open)}>
      <Popover.Trigger ref={button} render={trigger} />
      <Popover.Portal>
        <Popover.Positioner sideOffset={4} align="end" className="floating">
          <Popover.Popup className="menu search-menu" aria-label={rest.label}>
            <SearchedChoices {...rest} onDone={() => setIsOpen(false)} />
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  );
}

function SearchedChoices({
  label,
  search,
  items,
  onDone,
}: Omit<Props, "trigger"> & { onDone: () => void }) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const list = useRef<HTMLUListElement>(null);
  const choices = items.filter(
    (item): item is Choice =>
      item !== "line" &&
      item.disabled !== true &&
      matchesSearch(`${item.label} ${item.hint ?? ""} ${item.words ?? ""}`, text),
  );
  const here = Math.min(at, choices.length - 1);
  const choose = (choice: Choice | undefined): void => {
    if (choice === undefined) return;
    onDone();
    choice.onSelect();
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
        aria-controls="choices-found"
        aria-activedescendant={here < 0 ? undefined : `choice-${here}`}
        aria-label={search.label}
        placeholder={search.placeholder}
        value={text}
        onChange={(event) => {
          setText(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={(event) => {
          if (isComposing(event.nativeEvent)) return;
          const size = choices.length;
          if (event.key === "Enter") choose(choices[here]);
          else if (event.key === "ArrowDown") move(size === 0 ? 0 : (here + 1) % size);
          else if (event.key === "ArrowUp") move(size === 0 ? 0 : (here - 1 + size) % size);
          else return;
          event.preventDefault();
        }}
      />
      <hr />
      {choices.length > 0 ? null : (
        <p className="muted" role="status">
          Nothing has this name.
        </p>
      )}
      <ul ref={list} id="choices-found" role="listbox" aria-label={label}>
        {choices.map((choice, place) => (
          <li
            // oxlint-disable-next-line react/no-array-index-key -- names need not differ
            key={`${choice.label} ${place}`}
            id={`choice-${place}`}
            role="option"
            aria-selected={place === here}
            className={place === here ? "menu-item here" : "menu-item"}
            onPointerMove={() => setAt(place)}
            onClick={() => choose(choice)}
          >
            {choice.icon === undefined ? null : <Icon name={choice.icon} />}
            <span className="clip isolate">{choice.label}</span>
            {choice.hint === undefined ? null : <span className="hint">{choice.hint}</span>}
          </li>
        ))}
      </ul>
    </>
  );
}
