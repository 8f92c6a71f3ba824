/** The entries of the export menu. */

import type { MenuItem } from "../../kit/floats.tsx";
import { count } from "../../kit/words.ts";
import type { ListFilter } from "./list-filter.ts";
import { mostExported, useExport } from "./run-export.ts";

export function exportItems(selected: string | null, filter: ListFilter | null): MenuItem[] {
  const { exportOne, exportMatching } = useExport.getState();
  const which =
    filter !== null && Object.keys(filter).length === 0
      ? `The newest ${count(mostExported)} messages`
      : `What matches, up to ${count(mostExported)}`;
  const items = (["ndjson", "har"] as const).map((kind) => ({ kind, as: kind === "har" ? "as HAR" : "as NDJSON" }));
  return [
    ...items.map(({ kind, as }) => ({
      label: `The selected message ${as}`,
      icon: "save" as const,
      disabled: selected === null,
      onSelect: () => void (selected === null ? null : exportOne(kind, selected)),
    })),
    "line",
    ...items.map(({ kind, as }) => ({
      label: `${which}, ${as}`,
      icon: "save" as const,
      disabled: filter === null,
      onSelect: () => void (filter === null ? null : exportMatching(kind, filter)),
    })),
  ];
}
