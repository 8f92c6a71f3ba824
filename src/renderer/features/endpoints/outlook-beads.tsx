/** What a delivery makes of the program from its first step: a bead for each round, at its seeded time. */

import { useMemo } from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
import { profileOf } from "../../../domain/retry.ts";
import { OutcomeGlyph, State } from "../../kit/glyph.tsx";
import { span } from "../../kit/words.ts";
import { useLive } from "../../stores/live-data.ts";
import { outlookOf, type Bead } from "./delivery-outlook.ts";

/** As many beads as have room for their times; of more, the first two and the last three are shown. */
const mostBeads = 6;
const firstBeads = 2;
const lastBeads = 3;

export function OutlookBeads({ endpoint, profileName }: { endpoint: AnswerOf<"endpoints.get">; profileName: string }) {
  const settings = useLive("settings.get", {}).answer;
  const profiles = useLive("retryProfiles.list", {}).answer?.items;
  const profile = profiles === undefined ? undefined : profileOf(profiles, profileName);
  const { id, steps, after } = endpoint;
  const outlook = useMemo(
    () =>
      profile === undefined || settings === undefined
        ? null
        : outlookOf({ endpointId: id, steps, after, profile, seed: settings.seed, jitter: settings.jitter }),
    [id, steps, after, profile, settings],
  );
  if (outlook === null) return null;
  const { beads, end } = outlook;
  const isLong = beads.length > mostBeads;
  const last = beads.at(-1);
  return (
    <section className="section seen" aria-labelledby="outlook-title">
      <div className="section-head">
        <h3 id="outlook-title">What a delivery makes of it</h3>
        <span className="muted">
          retry profile <code>{profileName}</code>
        </span>
      </div>
      <ol className="beads">
        {(isLong ? beads.slice(0, firstBeads) : beads).map((bead) => (
          <BeadItem key={bead.round} bead={bead} />
        ))}
        {isLong ? (
          <li className="dots">
            <span aria-hidden="true">···</span>
            <span className="quiet">{beads.length - firstBeads - lastBeads} more</span>
          </li>
        ) : null}
        {isLong ? beads.slice(-lastBeads).map((bead) => <BeadItem key={bead.round} bead={bead} />) : null}
        <li className="fin">
          <span className={`tone strong ${end}`}>
            <State state={end} />
          </span>
          <span className="quiet">round {last?.round ?? 1}</span>
        </li>
      </ol>
    </section>
  );
}

function BeadItem({ bead: { round, atMs, outcome, word } }: { bead: Bead }) {
  return (
    <li title={`round ${round}: ${outcome}`}>
      <span className={`tone ${outcome}`}>
        <OutcomeGlyph outcome={outcome} />
        <span className="sr">{outcome}</span>
      </span>
      <span>{word}</span>
      <span className="mono quiet">{atMs === 0 ? "0 s" : `+${span(atMs)}`}</span>
    </li>
  );
}
