/** The keys of a filter, each with its values and a way to remove it. */

import { IconButton } from "../../kit/controls.tsx";
import { filterKeys, type Filter, type FilterKey } from "./filter-text.ts";

/** Two short values are worth their room, more are only counted. */
const roomForTwo = 18;

export function FilterChips({
  filter,
  onRemove,
  onWrite,
}: {
  filter: Filter;
  onRemove: (key: FilterKey) => void;
  onWrite: (key: FilterKey) => void;
}) {
  return filterKeys.map((key) => {
    const values = filter.values[key] ?? [];
    if (values.length === 0) return null;
    const [first = "", second = ""] = values;
    const named = values.length > 1 && first.length + second.length <= roomForTwo ? [first, second] : [first];
    return (
      <span key={key} className="chip" title={`${key}: ${values.join(", ")}`}>
        <button type="button" className="live-chip" aria-label={`${key}: ${values.join(", ")}. Add another`} onClick={() => onWrite(key)}>
          <b>{key}:</b>
          <bdi className="clip">{named.join(", ")}</bdi>
          {values.length > named.length ? <span className="more">+{values.length - named.length}</span> : null}
        </button>
        <IconButton small icon="close" label={`Remove the filter ${key}`} onClick={() => onRemove(key)} />
      </span>
    );
  });
}
