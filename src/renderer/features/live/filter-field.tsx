/**
 * Chips and free text in one field, with suggestions from what was seen. Everything in it can be
 * done with keys.
 */

import {
  type KeyboardEvent,
  type RefObject,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import type { MessageState } from "../../../domain/states.ts";
import { isComposing } from "../../kit/composing.ts";
import { IconButton, Kbd } from "../../kit/controls.tsx";
import { StateGlyph } from "../../kit/glyph.tsx";
import { Icon } from "../../kit/icon.tsx";
import { count } from "../../kit/words.ts";
import { KnownValues } from "../../../domain/known-values.ts";
import {
  type ChipKey,
  chipKeys,
  type Filter,
  problemOf,
  withValues,
} from "../../../domain/message-filter.ts";
import { useOnce } from "../../stores/live-data.ts";
import { unmasked } from "../../transport/secrets.ts";
import { extractChips, textOf, withoutLast } from "./filter-text.ts";
import { askedFor, choose, firstOf, suggest, type Suggestion, wordAtEnd } from "./suggestions.ts";

/** `isWritten`: it comes of what is written in the field. */
export type OnFilter = (filter: Filter, isWritten?: boolean) => void;

type FilterFieldProps = {
  filter: Filter;
  onChange: OnFilter;
  input: RefObject<HTMLInputElement | null>;
  /** Esc leads back to the list. */
  onLeave: () => void;
};

/** Free text is searched for when nothing was written for this long. */
const debounceMs = 250;

const menuWidth = 288;

export function FilterField(props: FilterFieldProps) {
  const { filter, input } = props;
  const listId = useId();
  const [isFocused, setIsFocused] = useState(false);
  const {
    draft,
    word,
    suggestions,
    highlighted,
    apply,
    change,
    leave,
    take,
    writeKey,
    open,
    highlight,
    onKeyDown,
  } = useFilterDraft(props);
  const isShown = suggestions.length > 0;
  return (
    <div className="live-filter">
      <div className="field" role="search">
        <Icon name="search" />
        <FilterChips
          filter={filter}
          onWrite={writeKey}
          onRemove={(removed) => {
            apply(withValues(filter, removed, []));
            input.current?.focus();
          }}
        />
        <input
          ref={input}
          role="combobox"
          aria-label="Filter messages"
          aria-autocomplete="list"
          aria-expanded={isShown}
          aria-controls={isShown ? listId : undefined}
          aria-activedescendant={
            isShown && highlighted >= 0 ? `${listId}-${highlighted}` : undefined
          }
          aria-keyshortcuts="/"
          placeholder="text, event:, user:, status:503, last:5m …"
          spellCheck={false}
          autoComplete="off"
          value={draft}
          onChange={(event) => change(event.currentTarget.value)}
          onKeyDown={onKeyDown}
          onFocus={() => {
            setIsFocused(true);
            open();
          }}
          onClick={open}
          onBlur={() => {
            setIsFocused(false);
            leave();
          }}
        />
        <Kbd>{isFocused ? "Esc" : "/"}</Kbd>
      </div>
      {isShown ? (
        <ul
          className="menu"
          id={listId}
          role="listbox"
          aria-label="Suggestions"
          style={{ left: placeOf(input.current) }}
        >
          {suggestions.map((suggestion, place) => (
            <li
              key={
                suggestion.kind === "key" ? suggestion.key : `${suggestion.key}:${suggestion.value}`
              }
              id={`${listId}-${place}`}
              role="option"
              className="menu-item"
              aria-selected={place === highlighted}
              data-highlighted={place === highlighted ? "" : undefined}
              onMouseDown={(event) => event.preventDefault()}
              onMouseMove={() => highlight(place)}
              onClick={() => take(suggestion)}
            >
              <Offer suggestion={suggestion} isAlone={suggestion.key === word.key} />
            </li>
          ))}
        </ul>
      ) : null}
    </div>
  );
}

/** What is written and not in the filter yet, with its suggestions, and the keys that take one. */
function useFilterDraft({ filter, onChange, input, onLeave }: FilterFieldProps) {
  const [draft, setDraft] = useState(filter.text);
  const [isOpen, setIsOpen] = useState(false);
  /** The field was left before the store had answered. */
  const [isLeft, setIsLeft] = useState(false);
  /** Null: the arrows have not chosen. */
  const [chosen, setChosen] = useState<number | null>(null);
  const timer = useRef(0);
  /** Enter was pressed before the store had answered. */
  const isEntered = useRef(false);

  const applyNow = useAppliedFilter(filter, onChange, (text, isOwn) => {
    if (!isOwn) {
      // Somebody went to another filter: what was being written belongs to the one before.
      window.clearTimeout(timer.current);
      isEntered.current = false;
    }
    setDraft(text);
  });
  useEffect(() => () => window.clearTimeout(timer.current), []);

  const { known, forget, goesOn, word, undecided, suggestions, isAnswered } = useSuggestions({
    draft,
    filter,
    isOpen,
    isLeft,
  });
  const highlighted = chosen ?? (isAnswered ? firstOf(word, suggestions) : -1);

  const apply: OnFilter = (next, isWritten) => {
    window.clearTimeout(timer.current);
    applyNow(next, isWritten);
  };
  const write = (written: string, all: boolean): void => {
    const { filter: taken, rest } = extractChips(written, filter, { all, goesOn });
    setDraft(rest);
    setChosen(null);
    const next = { ...taken, text: textOf(rest, goesOn) };
    if (all || taken !== filter) return apply(next, true);
    window.clearTimeout(timer.current);
    timer.current = window.setTimeout(() => apply(next, rest !== ""), debounceMs);
  };
  const commit = (): void => {
    write(draft, true);
    setIsOpen(false);
    setIsLeft(false);
  };
  /** Where a name ends is not known yet: what was written is read when it is. */
  const leave = (): void => {
    if (undecided === null) return commit();
    window.clearTimeout(timer.current);
    isEntered.current = true;
    setIsOpen(false);
    setIsLeft(true);
  };
  const take = (suggestion: Suggestion): void => {
    const next = choose(suggestion, draft, filter, goesOn);
    // A name before it may have been decided by the same answer.
    const { filter: taken, rest } = extractChips(next.draft, next.filter, { all: false, goesOn });
    setDraft(rest);
    setChosen(null);
    apply({ ...taken, text: textOf(rest, goesOn) }, true);
    setIsOpen(suggestion.kind === "key");
    input.current?.focus();
  };
  const move = (step: number): void => {
    setIsOpen(true);
    const places = Math.max(1, suggestions.length);
    setChosen(
      suggestions.length > 0
        ? (Math.max(highlighted, step < 0 ? 0 : -1) + step + places) % places
        : 0,
    );
  };
  const enter = (): void => {
    const offered = suggestions[highlighted];
    if (offered !== undefined) take(offered);
    else if (
      ((isOpen || isLeft) && undecided !== null) ||
      (isOpen && !isAnswered && word.key !== null)
    )
      isEntered.current = true;
    else commit();
  };

  // What has come to be known may end a name, or be what Enter waited for. A key that is pressed
  // before this is done would be lost.
  const latest = useRef({ write, enter, draft });
  latest.current = { write, enter, draft };
  useLayoutEffect(() => {
    if (isEntered.current) {
      isEntered.current = false;
      latest.current.enter();
    } else if (extractChips(latest.current.draft, filter, { all: false, goesOn }).filter !== filter)
      latest.current.write(latest.current.draft, false);
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- once for each answer
  }, [known]);

  return {
    draft,
    word,
    suggestions,
    highlighted,
    apply,
    leave,
    take,
    open(): void {
      if (isLeft) isEntered.current = false;
      setIsLeft(false);
      if (!isOpen) forget();
      setIsOpen(true);
    },
    highlight: setChosen,
    change(written: string): void {
      isEntered.current = false;
      setIsOpen(true);
      write(written, false);
    },
    writeKey(key: ChipKey): void {
      setDraft(`${draft === "" || draft.endsWith(" ") ? draft : `${draft} `}${key}:`);
      setIsOpen(true);
      input.current?.focus();
    },
    onKeyDown(event: KeyboardEvent<HTMLInputElement>): void {
      if (isComposing(event.nativeEvent)) return;
      const action = actionOf(event.key, {
        ...{ draft, filter, suggestions, highlighted, take, move, enter, apply },
        isChosen: chosen !== null,
        hasWord: word.part !== "",
        leave: isOpen ? () => setIsOpen(false) : onLeave,
      });
      if (action === undefined || event.shiftKey) return;
      event.preventDefault();
      action();
    },
  };
}

/**
 * Applies a filter, and passes on the text of one that came from elsewhere, or that came back with
 * another text than the field has.
 */
function useAppliedFilter(
  filter: Filter,
  onChange: OnFilter,
  onText: (text: string, isOwn: boolean) => void,
): OnFilter {
  const ownText = useRef(filter.text);
  const seen = useRef(JSON.stringify(filter));
  const isOwnChange = useRef(false);
  useLayoutEffect(() => {
    const now = JSON.stringify(filter);
    if (now === seen.current) return;
    seen.current = now;
    const isOwn = isOwnChange.current;
    isOwnChange.current = false;
    if (isOwn && unmasked(filter.text) === unmasked(ownText.current)) return;
    ownText.current = filter.text;
    onText(filter.text, isOwn);
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- once for each filter
  }, [filter]);
  return (next, isWritten) => {
    ownText.current = next.text;
    if (JSON.stringify(unmasked(next)) === JSON.stringify(unmasked(filter))) return;
    isOwnChange.current = true;
    onChange(next, isWritten);
  };
}

type Draft = { draft: string; filter: Filter; isOpen: boolean; isLeft: boolean };

/** What the store knows of the word at the end of the draft, and what may follow from it. */
function useSuggestions({ draft, filter, isOpen, isLeft }: Draft) {
  const [known, setKnown] = useState(new KnownValues());
  const { goesOn } = known;
  const word = wordAtEnd(draft, goesOn);
  const undecided = known.undecided(draft);
  const wanted = askedFor(word);
  const asked = isOpen ? (undecided ?? wanted) : isLeft ? undecided : null;
  const answer = useOnce("messages.values", asked).answer?.items;
  useLayoutEffect(() => {
    if (asked !== null && answer !== undefined) setKnown((before) => before.with(asked, answer));
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- once for each answer
  }, [answer]);
  const { items, isAnswered } =
    wanted === null ? { items: [], isAnswered: true } : known.of(wanted);
  // The sentence below the field names the keys, and the list would cover it.
  const isRefused = word.key === null && word.part === "" && problemOf(filter) !== null;
  return {
    known,
    forget: () => setKnown(new KnownValues()),
    goesOn,
    word,
    undecided,
    isAnswered,
    suggestions: isOpen && !isRefused ? suggest(word, filter, items) : [],
  };
}

type FieldState = Pick<Draft, "draft" | "filter"> & {
  suggestions: readonly Suggestion[];
  highlighted: number;
  /** The arrows have chosen. */
  isChosen: boolean;
  hasWord: boolean;
  take: (suggestion: Suggestion) => void;
  move: (step: number) => void;
  enter: () => void;
  apply: (filter: Filter) => void;
  leave: () => void;
};

/** Undefined: the key is not the field's. */
function actionOf(key: string, field: FieldState): (() => void) | undefined {
  const { draft, suggestions, highlighted, take, move } = field;
  if (key === "ArrowDown") return () => move(1);
  if (key === "ArrowUp") return () => move(-1);
  if (key === "Tab") {
    const first = suggestions[highlighted] ?? (field.hasWord ? suggestions[0] : undefined);
    return first === undefined || (draft === "" && !field.isChosen) ? undefined : () => take(first);
  }
  if (key === "Enter") return field.enter;
  if (key === "Escape") return field.leave;
  return key === "Backspace" && draft === ""
    ? () => field.apply(withoutLast(field.filter))
    : undefined;
}

/** Below the word that is being written, and never beyond the field. */
function placeOf(input: HTMLInputElement | null): number {
  const field = input?.parentElement;
  if (input === null || field === null || field === undefined) return 0;
  return Math.max(0, Math.min(input.offsetLeft - field.offsetLeft, field.offsetWidth - menuWidth));
}

function Offer({ suggestion, isAlone }: { suggestion: Suggestion; isAlone: boolean }) {
  if (suggestion.kind === "key") {
    return (
      <>
        {suggestion.key}:<span className="hint">{suggestion.hint}</span>
      </>
    );
  }
  return (
    <>
      {suggestion.key === "state" || suggestion.key === "-state" ? (
        <StateGlyph state={suggestion.value as MessageState} />
      ) : null}
      <span className="clip">
        {isAlone ? null : <span className="quiet">{suggestion.key}: </span>}
        <bdi>{suggestion.value}</bdi>
      </span>
      <span className="hint">{suggestion.count === null ? "" : count(suggestion.count)}</span>
    </>
  );
}

/** Two short values are worth their room, more are only counted. */
const roomForTwo = 18;

/** The keys of a filter, each with its values and a way to remove it. */
function FilterChips({
  filter,
  onRemove,
  onWrite,
}: {
  filter: Filter;
  onRemove: (key: ChipKey) => void;
  onWrite: (key: ChipKey) => void;
}) {
  return chipKeys.map((key) => {
    const values = filter.values[key] ?? [];
    if (values.length === 0) return null;
    const [first = "", second = ""] = values;
    const named =
      values.length > 1 && first.length + second.length <= roomForTwo ? [first, second] : [first];
    return (
      <span key={key} className="chip" title={`${key}: ${values.join(", ")}`}>
        <button
          type="button"
          className="live-chip"
          aria-label={`${key}: ${values.join(", ")}. Add another`}
          onClick={() => onWrite(key)}
        >
          <b>{key}:</b>
          <bdi className="clip">{named.join(", ")}</bdi>
          {values.length > named.length ? (
            <span className="more">+{values.length - named.length}</span>
          ) : null}
        </button>
        <IconButton
          small
          icon="close"
          label={`Remove the filter ${key}`}
          onClick={() => onRemove(key)}
        />
      </span>
    );
  });
}
