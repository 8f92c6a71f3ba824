/** The entries of the export menu. */

import type { MenuItem } from "../../kit/floats.tsx";
import { count } from "../../kit/words.ts";
import type { ListFilter } from "./list-filter.ts";
import { mostExported, newestMatching, useExport } from "./run-export.ts";

type ExportOptions = {
  selected: string | null;
  filter: ListFilter | null;
  /** Makes a scenario of messages. */
  onRecord: (idsOf: () => Promise<readonly string[]>) => void;
};

export function exportItems({ selected, filter, onRecord }: ExportOptions): MenuItem[] {
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
    "line",
    {
      label: "A scenario of the selected message",
      icon: "scenarios",
      disabled: selected === null,
      onSelect: () => (selected === null ? undefined : onRecord(async () => [selected])),
    },
    {
      label: `A scenario of ${which.charAt(0).toLowerCase()}${which.slice(1)}`,
      icon: "scenarios",
      disabled: filter === null,
      onSelect: () => (filter === null ? undefined : onRecord(() => newestMatching(filter))),
    },
  ];
}
