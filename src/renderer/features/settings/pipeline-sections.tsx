/** The settings of the pipeline itself: delivery, ingest, store. */

import type { AnswerOf, InputOf } from "../../../contract/contract.ts";
import { CommitField } from "../../kit/commit-field.tsx";
import { CheckField, Choice } from "../../kit/controls.tsx";
import { durationText, parseDuration } from "../../kit/duration-text.ts";
import { ProblemText } from "../../kit/problem.tsx";
import { useAction } from "../../kit/use-action.ts";
import { count } from "../../kit/words.ts";
import { useLive } from "../../stores/live-data.ts";
import { saveAtOnce } from "../../stores/undo.ts";
import { call } from "../../transport/transport.ts";

type Settings = AnswerOf<"settings.get">;
type Update = (changes: InputOf<"settings.update">) => Promise<unknown>;

/**
 * The settings, and two ways to change one: `set` is for a control that has no place for a sentence
 * of its own. What is shown can be put back: a page that goes has no time to ask what is saved.
 */
function useSettings(): {
  settings: Settings | undefined;
  problem: Error | null;
  update: Update;
  set: (changes: InputOf<"settings.update">) => Promise<boolean>;
} {
  const { answer, error } = useLive("settings.get", {});
  const { problem, attempt } = useAction();
  const update: Update = (changes) =>
    saveAtOnce<typeof changes>(answer ?? {}, changes, (next) => call("settings.update", next));
  return {
    settings: answer,
    problem: problem ?? (answer === undefined ? error : null),
    update,
    set: (changes) => attempt(() => update(changes)),
  };
}

const wholeNumber = (what: string) => (text: string) =>
  /^-?\d+$/.test(text.trim()) ? null : `${what} is a whole number.`;

export function DeliverySection() {
  const { settings, problem, update, set } = useSettings();
  if (settings === undefined) return <ProblemText error={problem} />;
  return (
    <>
      <ProblemText error={problem} />
      <CommitField
        label="Vendor"
        name="short"
        text={settings.vendor}
        hint={
          <>
            Requests carry <code>User-Agent: {settings.vendor}/1.0</code>
          </>
        }
        onCommit={(vendor) => update({ vendor })}
      />
      <CommitField
        label="Seed"
        name="short"
        inputMode="numeric"
        text={String(settings.seed)}
        check={wholeNumber("The seed")}
        hint="Used for jitter, random failures and fault shares: the same seed, configuration and input give the same attempts at the same clock times."
        onCommit={(text) => update({ seed: Number(text) })}
      />
      <CheckField
        label="Jitter: shift each retry by the share in its profile, drawn from the seed"
        checked={settings.jitter}
        onChange={(event) => set({ jitter: event.currentTarget.checked })}
      />
      <CommitField
        label="Connections per webhook"
        name="short"
        inputMode="numeric"
        text={String(settings.laneConnections)}
        check={wholeNumber("The number of connections")}
        hint="Each webhook has its own connections, so a webhook that hangs does not delay others."
        onCommit={(text) => update({ laneConnections: Number(text) })}
      />
    </>
  );
}

const unknownKeySentences = {
  explain:
    "They get 401 with the reason, and are stored under Sources, where you can adopt the key.",
  production:
    "They get 200, as from the hosted service, and are stored under Sources, where you can adopt the key.",
};

export function IngestSection() {
  const { settings, problem, set } = useSettings();
  if (settings === undefined) return null;
  return (
    <>
      <ProblemText error={problem} />
      <div className="commit">
        <span className="labelled-name">Requests with an unknown write key</span>
        <Choice
          label="Requests with an unknown write key"
          value={settings.unknownKeys}
          options={["explain", "production"]}
          onChange={(unknownKeys) => set({ unknownKeys })}
        />
        <span className="labelled-hint">{unknownKeySentences[settings.unknownKeys]}</span>
      </div>
    </>
  );
}

export function StoreSection() {
  const { settings, problem, update, set } = useSettings();
  const stats = useLive("stats.get", {}).answer;
  if (settings === undefined) return null;
  return (
    <>
      <ProblemText error={problem} />
      <CommitField
        label="Keep the newest"
        name="short"
        unit="messages"
        inputMode="numeric"
        placeholder="all"
        text={settings.maxMessages === null ? "" : count(settings.maxMessages)}
        check={(text) =>
          readCount(text) === undefined
            ? "Enter a whole number, or leave it empty to keep all."
            : null
        }
        hint={`${count(stats?.messages.total ?? 0)} now. Pinned messages are kept; messages with a delivery in progress are removed when it ends.`}
        onCommit={(text) => update({ maxMessages: readCount(text) ?? null })}
      />
      <CommitField
        label="Keep for"
        name="short"
        placeholder="forever"
        text={settings.maxAgeMs === null ? "" : durationText(settings.maxAgeMs)}
        check={(text) =>
          text.trim() === "" || parseDuration(text, "d") !== null
            ? null
            : "Enter a time such as 30 d or 12 h, or leave it empty to keep messages forever."
        }
        hint="Real time, not clock time: fast-forwarding removes nothing."
        onCommit={(text) =>
          update({ maxAgeMs: text.trim() === "" ? null : parseDuration(text, "d") })
        }
      />
      <CommitField
        label="Keep at most"
        name="short"
        unit="MB"
        inputMode="decimal"
        placeholder="any size"
        text={settings.maxBytes === null ? "" : megabytesText(settings.maxBytes)}
        check={(text) =>
          readMegabytes(text) === undefined
            ? "Enter a number of megabytes, or leave it empty for no limit."
            : null
        }
        hint="The size of the data file, in addition to the two limits below. The oldest accepted messages are removed first."
        onCommit={(text) => update({ maxBytes: readMegabytes(text) ?? null })}
      />
      <QuotaField
        label="Rejected and duplicate messages"
        bytes={settings.maxRejectedBytes}
        hint="They have a separate limit, so that they never displace accepted messages."
        onCommit={(maxRejectedBytes) => update({ maxRejectedBytes })}
      />
      <QuotaField
        label="Requests with an unknown write key"
        bytes={settings.maxUnknownKeyBytes}
        hint="The newest 1,000 of them are kept, within this limit, until their key is adopted."
        onCommit={(maxUnknownKeyBytes) => update({ maxUnknownKeyBytes })}
      />
      <div className="commit">
        <span className="labelled-name">Durability</span>
        <Choice
          label="Durability"
          value={settings.synchronous}
          options={["NORMAL", "FULL"]}
          onChange={(synchronous) => set({ synchronous })}
        />
        <span className="labelled-hint">
          {settings.synchronous === "NORMAL"
            ? "Accepted messages survive a crash of the process; a power cut may lose the most recent ones."
            : "Accepted messages also survive a power cut; each commit waits for the disk."}
        </span>
      </div>
    </>
  );
}

function QuotaField({
  label,
  bytes,
  hint,
  onCommit,
}: {
  label: string;
  bytes: number;
  hint: string;
  onCommit: (bytes: number | undefined) => Promise<unknown>;
}) {
  return (
    <CommitField
      label={label}
      name="short"
      unit="MB"
      inputMode="decimal"
      text={megabytesText(bytes)}
      check={(text) =>
        typeof readMegabytes(text) === "number" ? null : "Enter a number of megabytes."
      }
      hint={hint}
      onCommit={(text) => onCommit(readMegabytes(text) ?? undefined)}
    />
  );
}

const megabytesText = (bytes: number): string => String(bytes / 1_000_000);

/** In bytes. Null for any size; undefined when it is no number. */
function readMegabytes(text: string): number | null | undefined {
  const given = text.replaceAll(",", "").trim();
  if (given === "") return null;
  return /^\d{1,9}(\.\d{1,6})?$/.test(given) ? Math.round(Number(given) * 1_000_000) : undefined;
}

/** Null for all; undefined when it is no number. Commas are how the number is shown. */
function readCount(text: string): number | null | undefined {
  const given = text.replaceAll(",", "").trim();
  if (given === "" || given === "all") return null;
  return /^\d{1,15}$/.test(given) ? Number(given) : undefined;
}
