/**
 * Exports a share file: which messages, as a page or for another Hookyard, and what is left out of
 * it. The palette and the export menus of Live open it.
 */

import { useState } from "react";
import { create } from "zustand";
import type { AnswerOf } from "../../../contract/contract.ts";
import {
  formatFilter,
  parseFilter,
  problemOf,
  withValues,
} from "../../../domain/message-filter.ts";
import {
  Button,
  CheckField,
  Choice,
  Labelled,
  SelectField,
  TextField,
} from "../../kit/controls.tsx";
import { Dialog } from "../../kit/floats.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { saveFile } from "../../kit/save-file.ts";
import { useAction } from "../../kit/use-action.ts";
import { count as number, some } from "../../kit/words.ts";
import { useOverlay } from "../../stores/commands.ts";
import { useLive } from "../../stores/live-data.ts";
import { usePlace } from "../../stores/place.ts";
import { masked } from "../../transport/secrets.ts";
import { call, callUnmasked } from "../../transport/transport.ts";
import { filterOf } from "../live/filter-text.ts";
import "./share.css";

type Chosen = { filter: string; ids: readonly string[] | null };

const useChosen = create<Chosen>()(() => ({ filter: "", ids: null }));

/** Of these messages; without them, of those that Live lists. */
export function openShareDialog(ids: readonly string[] | null = null): void {
  const { view, query } = usePlace.getState();
  const filter = view === "live" ? formatFilter(masked(filterOf(query))) : "";
  useChosen.setState({ filter, ids });
  useOverlay.getState().show("share");
}

export function ShareDialog() {
  const { shown, hide } = useOverlay();
  return shown === "share" ? <ShareForm onClose={hide} /> : null;
}

const kinds = [
  { value: "html", label: "a page for any browser" },
  { value: "hookyard", label: "a file for Hookyard" },
] as const;
const periods = [
  { value: "", label: "any time" },
  { value: "15m", label: "the last 15 minutes" },
  { value: "1h", label: "the last hour" },
  { value: "1d", label: "the last day" },
] as const;
const most = 10_000;
/** A name in quotes may have spaces and commas: `properties["last name"]`. */
const pathInList = /(?:\["(?:[^"\\]|\\.)*"\]|[^\s,])+/g;

type ShareChoice = {
  as: "html" | "hookyard";
  text: string;
  period: (typeof periods)[number]["value"];
  secrets: boolean;
  paths: string;
};

function ShareForm({ onClose }: { onClose: () => void }) {
  const { filter: firstFilter, ids } = useChosen();
  const [choice, setChoice] = useState<ShareChoice>({
    as: "html",
    text: firstFilter,
    period: "",
    secrets: false,
    paths: "",
  });
  const { as, text, period, secrets, paths } = choice;
  const [saved, setSaved] = useState<AnswerOf<"shares.write"> | null>(null);
  const { problem, isBusy, run } = useAction();

  // Two periods in a filter are either of them.
  const filter =
    period === "" ? text.trim() : formatFilter(withValues(parseFilter(text), "last", [period]));
  const wrong = ids === null ? problemOf(parseFilter(filter)) : null;
  const matching = useLive(
    "messages.list",
    ids === null && wrong === null ? { filter, limit: 1 } : null,
  ).answer;
  const count = ids === null ? Math.min(matching?.total ?? 0, most) : ids.length;

  const writing = useLive("shares.progress", isBusy ? {} : null).answer?.writing ?? null;
  // Counted again by the first report.
  const total = writing?.total || count;
  const cancel = (): void => run("cancel", () => call("shares.cancel", {}));

  const save = async (): Promise<void> => {
    setSaved(null);
    const written = await callUnmasked("shares.write", {
      as,
      secrets,
      redact: paths.match(pathInList) ?? [],
      ...(ids === null ? { filter } : { ids: [...ids] }),
    });
    saveFile(
      written.name,
      Uint8Array.from(atob(written.base64), (sign) => sign.charCodeAt(0)),
      as === "html" ? "text/html" : "application/gzip",
    );
    setSaved(written);
  };

  return (
    <Dialog
      open
      onClose={() => {
        if (isBusy) cancel();
        onClose();
      }}
      title="Share what happened"
      actions={
        <>
          <Button onClick={isBusy ? cancel : onClose}>{saved === null ? "Cancel" : "Close"}</Button>
          <Button
            look="primary"
            icon="save"
            isBusy={isBusy}
            disabled={wrong !== null || count === 0}
            onClick={() => run("save", save)}
          >
            Save the file
          </Button>
        </>
      }
    >
      <div className="share-form">
        <ShareFields
          choice={choice}
          isFiltered={ids === null}
          wrong={wrong}
          onChange={(changes) => {
            // What was saved is not what is chosen now.
            setSaved(null);
            setChoice((before) => ({ ...before, ...changes }));
          }}
        />
        {isBusy ? (
          <p className="share-progress">
            <progress
              aria-label="Messages written"
              value={writing?.done ?? 0}
              max={Math.max(1, total)}
            />
            <span className="muted">
              {number(writing?.done ?? 0)} of {some(total, "message")}
            </span>
          </p>
        ) : null}
        <p className="muted" role="status">
          {saved === null
            ? `${some(count, "message")} with attempts and bytes, the configuration, the counts and the clock.`
            : `${saved.name}: ${some(saved.messages, "message")}, ${some(saved.size, "byte")}. ${
                secrets
                  ? "It has the secrets in plain text."
                  : "Secrets are left out. Everything else that your users sent is in it."
              }`}
        </p>
        <ProblemText error={problem} />
      </div>
    </Dialog>
  );
}

type ShareFieldsProps = {
  choice: ShareChoice;
  /** Otherwise the messages are given. */
  isFiltered: boolean;
  /** Why the filter cannot be asked. */
  wrong: string | null;
  onChange: (changes: Partial<ShareChoice>) => void;
};

function ShareFields({ choice, isFiltered, wrong, onChange }: ShareFieldsProps) {
  const { as, text, period, secrets, paths } = choice;
  return (
    <>
      <Choice
        label="Kind of file"
        value={as}
        options={kinds}
        onChange={(next) => onChange({ as: next })}
      />
      {isFiltered ? (
        <>
          <Labelled
            label="Messages"
            hint="As in the filter of Live, such as state:failed. Empty: the newest 10,000."
            error={wrong}
          >
            <TextField
              mono
              value={text}
              onChange={({ target }) => onChange({ text: target.value })}
            />
          </Labelled>
          <Labelled label="Received in">
            <SelectField
              value={period}
              options={periods}
              onChange={(next) => onChange({ period: next })}
            />
          </Labelled>
        </>
      ) : null}
      <Labelled label="Leave out" hint="Members of messages, such as properties.email context.ip">
        <TextField
          mono
          value={paths}
          onChange={({ target }) => onChange({ paths: target.value })}
        />
      </Labelled>
      <CheckField
        label="Include shared secrets, write keys and credentials"
        checked={secrets}
        onChange={({ target }) => onChange({ secrets: target.checked })}
      />
    </>
  );
}
