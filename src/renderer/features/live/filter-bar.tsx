/** Above the list: the filter, saved filters, exports, and the control of the tail. */

import type { RefObject } from "react";
import { create } from "zustand";
import { Button, IconButton } from "../../kit/controls.tsx";
import { Menu, type MenuItem } from "../../kit/floats.tsx";
import { OutcomeGlyph } from "../../kit/glyph.tsx";
import { Icon } from "../../kit/icon.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { count } from "../../kit/words.ts";
import { useExport } from "./export.ts";
import { FilterField } from "./filter-field.tsx";
import { type Filter, formatFilter, isEmpty, noFilter, parseFilter } from "./filter-text.ts";
import type { MessageRows } from "./message-rows.ts";
import type { Seen } from "./suggestions.ts";

type FilterBarProps = {
  filter: Filter;
  onFilter: (filter: Filter) => void;
  seen: () => Seen;
  input: RefObject<HTMLInputElement | null>;
  onLeave: () => void;
  rows: MessageRows | null;
  exports: readonly MenuItem[];
};

export function FilterBar({
  filter,
  onFilter,
  seen,
  input,
  onLeave,
  rows,
  exports,
}: FilterBarProps) {
  return (
    <div className="filterbar">
      <FilterField
        filter={filter}
        onChange={onFilter}
        seen={seen}
        input={input}
        onLeave={onLeave}
      />
      <SavedFilters filter={filter} onFilter={onFilter} />
      <Menu
        trigger={
          <button
            type="button"
            className="icon-btn"
            aria-label="Export messages"
            title="Export messages"
          >
            <Icon name="save" />
          </button>
        }
        items={exports}
      />
      <Tail rows={rows} />
    </div>
  );
}

function SavedFilters({
  filter,
  onFilter,
}: {
  filter: Filter;
  onFilter: (filter: Filter) => void;
}) {
  const { texts, save, remove } = useSavedFilters();
  const text = formatFilter(filter);
  const isSaved = texts.includes(text);
  const chosen: MenuItem[] = texts.map((each) => ({
    label: each,
    icon: each === text ? "check" : "search",
    onSelect: () => onFilter(parseFilter(each)),
  }));
  const own: MenuItem = isSaved
    ? { label: "Delete this saved filter", icon: "deletions", onSelect: () => remove(text) }
    : {
        label: "Save this filter",
        icon: "star",
        disabled: isEmpty(filter),
        onSelect: () => save(text),
      };
  const clear: MenuItem = {
    label: "Clear the filter",
    icon: "close",
    disabled: isEmpty(filter),
    onSelect: () => onFilter(noFilter),
  };
  return (
    <Menu
      trigger={
        <button type="button" className="btn quiet" aria-label="Saved filters">
          <Icon name="star" />
          <span className="wide-only">Saved</span>
          <Icon name="down" small />
        </button>
      }
      items={[...chosen, ...(chosen.length > 0 ? (["line"] as const) : []), own, clear]}
    />
  );
}

/** It says that the list follows, or how many are new; a press returns to them. */
function Tail({ rows }: { rows: MessageRows | null }) {
  const isFollowing = rows?.following() ?? true;
  const fresh = rows?.fresh() ?? { count: 0, more: false };
  const words = fresh.count === 0 ? "Follow" : `${count(fresh.count)}${fresh.more ? "+" : ""} new`;
  return (
    <>
      <button
        type="button"
        className={
          isFollowing ? "tail following" : fresh.count === 0 ? "tail following held" : "tail"
        }
        title={
          isFollowing
            ? "The list follows new messages until you scroll or select one (f)"
            : "The list is paused. Follow new messages (f)"
        }
        aria-keyshortcuts="f"
        aria-disabled={isFollowing}
        onClick={() => rows?.follow()}
      >
        {isFollowing ? <OutcomeGlyph outcome="success" /> : <Icon name="up" small />}
        {isFollowing ? "Following" : words}
      </button>
      <span className="sr" role="status">
        {isFollowing
          ? "The list follows new messages."
          : "The list is paused. New messages are counted at the end of the filter bar."}
      </span>
    </>
  );
}

/** One line over the list: how far an export is, or what stood in the way of the last command. */
export function Notice({
  error,
  onDismiss,
}: {
  error: Error | null;
  onDismiss: (() => void) | null;
}) {
  const { progress, error: exportError, cancel } = useExport();
  const problem = error ?? exportError;
  if (progress !== null && progress.total > 1) {
    return (
      <div className="live-notice" role="status">
        <span>
          Exporting {count(progress.done)} of {count(progress.total)} messages
        </span>
        <Button small onClick={cancel}>
          Cancel
        </Button>
      </div>
    );
  }
  if (problem === null) return null;
  return (
    <div className="live-notice">
      <ProblemText error={problem} />
      {onDismiss === null ? null : (
        <IconButton
          small
          icon="close"
          label="Dismiss"
          onClick={() => {
            onDismiss();
            cancel();
          }}
        />
      )}
    </div>
  );
}

const key = "hookyard.filters";

type FilterStore = {
  texts: readonly string[];
  save(text: string): void;
  remove(text: string): void;
};

function stored(): string[] {
  try {
    const value: unknown = JSON.parse(window.localStorage.getItem(key) ?? "[]");
    return Array.isArray(value)
      ? value
          .filter((text) => typeof text === "string")
          .map((text) => formatFilter(parseFilter(text)))
      : [];
  } catch {
    return [];
  }
}

/** Filters that the user has saved, as text; they stay in this browser. */
const useSavedFilters = create<FilterStore>()((set, get) => {
  const keep = (texts: readonly string[]): void => {
    window.localStorage.setItem(key, JSON.stringify(texts));
    set({ texts });
  };
  return {
    texts: stored(),
    save: (text) => keep([...get().texts.filter((each) => each !== text), text]),
    remove: (text) => keep(get().texts.filter((each) => each !== text)),
  };
});
