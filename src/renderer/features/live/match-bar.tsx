/**
 * Below the filter: how many messages match it, or how many are selected, and what can be done with
 * all of them.
 */

import { Button } from "../../kit/controls.tsx";
import { Menu, type MenuItem } from "../../kit/floats.tsx";
import { count } from "../../kit/words.ts";
import { call } from "../../transport/transport.ts";
import { RetryAll } from "../retries/retry-all.tsx";
import { openShareDialog } from "../share/share-dialog.tsx";
import { type OnRecord, useExport } from "./export.ts";
import type { ListFilter } from "./filter-text.ts";
import type { MessageRows } from "./message-rows.ts";

type Props = {
  /** Null: it cannot be asked. */
  filter: ListFilter | null;
  rows: MessageRows | null;
  marked: ReadonlySet<string>;
  onClear: () => void;
  /** Makes a scenario of messages. */
  onRecord: OnRecord;
};

export function MatchBar({ filter, rows, marked, onClear, onRecord }: Props) {
  if (marked.size > 0)
    return <SelectedMessages ids={[...marked]} onClear={onClear} onRecord={onRecord} />;
  const text = filter?.filter;
  if (text === undefined || rows === null || !rows.loaded()) return null;
  const { count: total, more } = rows.total();
  return (
    <div className="match-bar" role="group" aria-label="Matching messages">
      <span>{matchWords(total, more)}</span>
      <RetryAll
        question={text}
        request={(dryRun) => call("messages.retryAll", { filter: text, dryRun })}
        label="Retry these"
        look="outlined"
        small
        disabled={total === 0}
      >
        The waiting, failed, expired and cancelled deliveries of the messages that match{" "}
        <code>{text}</code>, up to the newest 10,000 messages. Each gets one round now.
      </RetryAll>
    </div>
  );
}

/** `more`: it was not counted to the end. */
function matchWords(total: number, more: boolean): string {
  if (more) return `${count(total)} or more messages match`;
  return total === 1 ? "1 message matches" : `${count(total)} messages match`;
}

function SelectedMessages({
  ids,
  onClear,
  onRecord,
}: Pick<Props, "onClear" | "onRecord"> & { ids: readonly string[] }) {
  const { exportThese, replayThese } = useExport();
  const exports: MenuItem[] = (["ndjson", "har"] as const).map((kind) => ({
    label: kind === "har" ? "As HAR" : "As NDJSON",
    icon: "save",
    onSelect: () => void exportThese(kind, ids),
  }));
  return (
    <div className="match-bar" role="group" aria-label="Selected messages">
      <span>{count(ids.length)} selected</span>
      <RetryAll
        question={ids.join(" ")}
        request={(dryRun) => call("messages.retryAll", { ids: [...ids], dryRun })}
        label="Retry"
        shortcut="r"
        look="outlined"
        small
        disabled={false}
      >
        The deliveries of the selected messages that are waiting, failed, expired or cancelled. Each
        gets one round now.
      </RetryAll>
      <Button small onClick={() => void replayThese(ids)}>
        Replay
      </Button>
      <Menu
        trigger={<Button small>Export</Button>}
        items={[
          ...exports,
          {
            label: "As a share file…",
            icon: "forward",
            onSelect: () => openShareDialog(ids),
          },
        ]}
      />
      <Button small onClick={() => onRecord(ids.join(" "), async () => ids)}>
        Create a scenario
      </Button>
      <Button small look="quiet" shortcut="Esc" onClick={onClear}>
        Clear
      </Button>
    </div>
  );
}
