/** Above the list: the filter, saved filters, exports, and the control of the tail. */

import { type RefObject, useState } from "react";
import { create } from "zustand";
import {
  type Filter,
  formatFilter,
  isEmpty,
  noFilter,
  parseFilter,
} from "../../../domain/message-filter.ts";
import { Button, IconButton, Labelled, TextField } from "../../kit/controls.tsx";
import { Dialog, Menu, type MenuItem } from "../../kit/floats.tsx";
import { OutcomeGlyph } from "../../kit/glyph.tsx";
import { Icon } from "../../kit/icon.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { count } from "../../kit/words.ts";
import { keptList } from "../../stores/kept-list.ts";
import { useFeed } from "../../stores/live-data.ts";
import { lacksToken } from "../../transport/call-error.ts";
import { masked, unmasked } from "../../transport/secrets.ts";
import { useExport } from "./export.ts";
import { FilterField, type OnFilter } from "./filter-field.tsx";
import type { MessageRows } from "./message-rows.ts";

type FilterBarProps = {
  filter: Filter;
  onFilter: OnFilter;
  input: RefObject<HTMLInputElement | null>;
  onLeave: () => void;
  rows: MessageRows | null;
  exports: readonly MenuItem[];
};

export function FilterBar({ filter, onFilter, input, onLeave, rows, exports }: FilterBarProps) {
  return (
    <div className="filterbar">
      <FilterField filter={filter} onChange={onFilter} input={input} onLeave={onLeave} />
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
  const { saved, save, remove } = useSavedFilters();
  /** What is being named; null: nothing. */
  const [name, setName] = useState<string | null>(null);
  const text = formatFilter(unmasked(filter));
  const own = saved.find((each) => each.text === text);
  const chosen: MenuItem[] = saved.map((each) => ({
    label: masked(each.name),
    icon: each === own ? "check" : "search",
    onSelect: () => onFilter(parseFilter(each.text)),
  }));
  const keep: MenuItem =
    own === undefined
      ? {
          label: "Save this filter…",
          icon: "star",
          disabled: isEmpty(filter),
          onSelect: () => setName(masked(text).slice(0, 60)),
        }
      : {
          label: `Delete “${masked(own.name)}”`,
          icon: "deletions",
          onSelect: () => remove(own.name),
        };
  const clear: MenuItem = {
    label: "Clear the filter",
    icon: "close",
    disabled: isEmpty(filter),
    onSelect: () => onFilter(noFilter),
  };
  const submit = (): void => {
    if (name === null || name.trim() === "") return;
    save({ name: unmasked(name.trim()), text });
    setName(null);
  };
  return (
    <>
      <Menu
        trigger={
          <button type="button" className="btn quiet" aria-label="Saved filters">
            <Icon name="star" />
            <span className="wide-only">Saved</span>
            <Icon name="down" small />
          </button>
        }
        items={[...chosen, ...(chosen.length > 0 ? (["line"] as const) : []), keep, clear]}
      />
      <Dialog
        open={name !== null}
        onClose={() => setName(null)}
        title="Save this filter"
        actions={
          <>
            <Button onClick={() => setName(null)}>Cancel</Button>
            <Button look="primary" disabled={name?.trim() === ""} onClick={submit}>
              Save
            </Button>
          </>
        }
      >
        <form
          className="live-name"
          onSubmit={(event) => {
            event.preventDefault();
            submit();
          }}
        >
          <Labelled label="Name">
            <TextField
              value={name ?? ""}
              onFocus={(event) => event.currentTarget.select()}
              onChange={(event) => setName(event.currentTarget.value)}
            />
          </Labelled>
          <p className="quiet">
            <code>{masked(text)}</code>
          </p>
        </form>
      </Dialog>
    </>
  );
}

/** It says that the list follows, or how many are new; a press returns to them. */
function Tail({ rows }: { rows: MessageRows | null }) {
  const isFollowing = rows?.following() ?? true;
  const isLost = useFeed((feed) => feed.lostAt !== null);
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
        {isFollowing ? (isLost ? "Waiting" : "Following") : words}
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
  const { progress, waiting, error: exportError, cancel } = useExport();
  const problem = error ?? exportError;
  if (progress !== null && (progress.total > 1 || waiting > 0)) {
    return (
      <div className="live-notice" role="status" aria-live="off">
        <span>
          {progress.does} {count(progress.done)} of {count(progress.total)} messages
          {waiting === 0 ? null : `, ${count(waiting)} more ${waiting === 1 ? "waits" : "wait"}`}
        </span>
        <Button small onClick={cancel}>
          Cancel
        </Button>
      </div>
    );
  }
  if (problem === null || lacksToken(problem)) return null;
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

type SavedFilter = { name: string; text: string };

type FilterStore = {
  saved: readonly SavedFilter[];
  /** Another one of that name goes. */
  save(filter: SavedFilter): void;
  remove(name: string): void;
};

/** Earlier versions saved the texts only. */
function savedOf(value: unknown): SavedFilter | null {
  const { name, text } = (
    typeof value === "string" ? { name: value, text: value } : (value ?? {})
  ) as {
    name?: unknown;
    text?: unknown;
  };
  if (typeof name !== "string" || typeof text !== "string") return null;
  return { name, text: formatFilter(parseFilter(text)) };
}

/** Filters that the user has saved, with their names; they stay in this browser. */
const useSavedFilters = create<FilterStore>()((set) => {
  const list = keptList("hookyard.filters", savedOf, (saved) => set({ saved }));
  const without = (name: string) => (saved: readonly SavedFilter[]) =>
    saved.filter((each) => each.name !== name);
  return {
    saved: list.read(),
    save: (filter) => list.change((saved) => [...without(filter.name)(saved), filter]),
    remove: (name) => list.change(without(name)),
  };
});
