/** Above the list: what it shows, saved filters, what can be taken out of it, and the tail's control. */

import type { RefObject } from "react";
import { OutcomeGlyph } from "../../kit/glyph.tsx";
import { Icon } from "../../kit/icon.tsx";
import { Menu, type MenuItem } from "../../kit/floats.tsx";
import { count } from "../../kit/words.ts";
import { FilterField } from "./filter-field.tsx";
import { formatFilter, isEmpty, noFilter, parseFilter, type Filter } from "./filter-text.ts";
import type { MessageRows } from "./message-rows.ts";
import { useSavedFilters } from "./saved-filters.ts";
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

export function FilterBar({ filter, onFilter, seen, input, onLeave, rows, exports }: FilterBarProps) {
  return (
    <div className="filterbar">
      <FilterField filter={filter} onChange={onFilter} seen={seen} input={input} onLeave={onLeave} />
      <SavedFilters filter={filter} onFilter={onFilter} />
      <Menu
        trigger={
          <button type="button" className="icon-btn" aria-label="Export messages" title="Export messages">
            <Icon name="save" />
          </button>
        }
        items={exports}
      />
      <Tail rows={rows} />
    </div>
  );
}

function SavedFilters({ filter, onFilter }: { filter: Filter; onFilter: (filter: Filter) => void }) {
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
    : { label: "Save this filter", icon: "star", disabled: isEmpty(filter), onSelect: () => save(text) };
  const clear: MenuItem = { label: "Clear the filter", icon: "close", disabled: isEmpty(filter), onSelect: () => onFilter(noFilter) };
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
        className={isFollowing ? "tail following" : fresh.count === 0 ? "tail following held" : "tail"}
        title={
          isFollowing ? "The list follows what comes in, until you scroll or move (f)" : "The list is held. Return to what comes in (f)"
        }
        aria-keyshortcuts="f"
        aria-disabled={isFollowing}
        onClick={() => rows?.follow()}
      >
        {isFollowing ? <OutcomeGlyph outcome="success" /> : <Icon name="up" small />}
        {isFollowing ? "Following" : words}
      </button>
      <span className="sr" role="status">
        {isFollowing ? "The list follows new messages." : "The list is held. New messages are counted at the end of the filter bar."}
      </span>
    </>
  );
}
