/** What a program gives the library: whose it is, when it flushes, where to, and which library it is taken for. All can change while it runs. */

import type { InputOf } from "../../../contract/contract.ts";
import { wireModes } from "../../../domain/configuration.ts";
import { CommitField } from "../../kit/commit-field.tsx";
import { CheckField, Choice, SelectField } from "../../kit/controls.tsx";
import { durationText, parseDuration } from "../../kit/duration-text.ts";
import { useLive } from "../../stores/live-data.ts";
import type { Client } from "./client-words.ts";

type Changes = Omit<InputOf<"clients.update">, "id">;

const wireOptions = wireModes.map((value) => ({ value, label: value }));

export function ClientSetup({
  client: { sourceId, writeKey, flushAt, flushAfter, wire, endpoint, strict, url },
  onUpdate,
  onSet,
}: {
  client: Client;
  onUpdate: (changes: Changes) => Promise<unknown>;
  onSet: (changes: Changes) => void;
}) {
  const sources = (useLive("sources.list", {}).answer?.items ?? []).filter(({ kind }) => kind !== "audience");
  return (
    <section className="section" aria-label="Setup">
      <div className="client-setup">
        <CommitField
          label="Flush at"
          unit="calls"
          inputMode="numeric"
          text={String(flushAt)}
          check={(text) => (/^\d+$/.test(text.trim()) ? null : "A whole number of calls.")}
          onCommit={(text) => onUpdate({ flushAt: Number(text) })}
        />
        <CommitField
          label="Flush after"
          text={durationText(flushAfter)}
          check={(text) => (parseDuration(text) === null ? "A time is written as 5 s or 250 ms." : null)}
          onCommit={(text) => onUpdate({ flushAfter: parseDuration(text) ?? flushAfter })}
        />
        <div className="commit">
          <span className="labelled-name" id="client-source">
            Source
          </span>
          <SelectField
            aria-labelledby="client-source"
            value={sourceId ?? ""}
            options={[
              ...(sourceId === null ? [{ value: "", label: `no source has ${writeKey.slice(0, 40)}` }] : []),
              ...sources.map(({ id, name }) => ({ value: id, label: name })),
            ]}
            onChange={(id) => onSet({ sourceId: id })}
          />
        </div>
        <div className="commit">
          <span className="labelled-name">Taken for</span>
          <Choice label="Taken for analytics-go" value={wire} options={wireOptions} onChange={(next) => onSet({ wire: next })} />
        </div>
        <CommitField
          label="Endpoint"
          mono
          name="client-endpoint"
          text={endpoint ?? ""}
          placeholder={url}
          hint={endpoint === null ? "Empty: Hookyard’s own ingest port" : undefined}
          onCommit={(text) => onUpdate({ endpoint: text.trim() === "" ? null : text.trim() })}
        />
        <CheckField
          label="strict"
          title="Required fields are those of the document’s tables: page and alias want userId"
          checked={strict}
          onChange={(event) => onSet({ strict: event.currentTarget.checked })}
        />
      </div>
    </section>
  );
}
