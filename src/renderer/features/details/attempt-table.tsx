/** The retry timeline as a table: every attempt, then what is under way and to come. */

import { OutcomeGlyph } from "../../kit/glyph.tsx";
import { clockTime, duration, milliseconds } from "../../kit/words.ts";
import { attemptWord, hostOf } from "../attempt/attempt-words.ts";
import type { Ahead, Attempt, Round } from "../attempt/rounds.ts";
import { attemptHref } from "./places.ts";
import { Until } from "./until.tsx";

export function AttemptTable({ messageId, rounds, ahead }: { messageId: string; rounds: readonly Round[]; ahead: readonly Ahead[] }) {
  if (rounds.length === 0 && ahead.length === 0) return <p className="tab-note muted">No attempt was made.</p>;
  return (
    <table className="attempt-table">
      <thead>
        <tr>
          <th scope="col">round</th>
          <th scope="col">started</th>
          <th scope="col">outcome</th>
          <th scope="col">webhook</th>
          <th scope="col" className="right">
            took
          </th>
        </tr>
      </thead>
      <tbody>
        {rounds.map(({ round, attempts }) =>
          attempts.map((attempt, place) => (
            <AttemptRow key={attempt.id} messageId={messageId} attempt={attempt} round={place === 0 ? round : null} />
          )),
        )}
        {ahead.map((coming) => (
          <AheadRow key={`${coming.kind} ${coming.round}`} ahead={coming} />
        ))}
      </tbody>
    </table>
  );
}

function AttemptRow({ messageId, attempt, round }: { messageId: string; attempt: Attempt; round: number | null }) {
  const { id, outcome, startedAt, webhookUrl, durationMs, simulated } = attempt;
  const at = Date.parse(startedAt);
  const word = attemptWord(attempt);
  const host = hostOf(webhookUrl);
  return (
    <tr className={round === null ? undefined : "first"}>
      <td className="quiet">{round}</td>
      <td className="mono">
        {clockTime(at)}
        <span className="quiet ms">{milliseconds(at)}</span>
      </td>
      <td>
        <a className="cell-link" href={attemptHref(messageId, id)}>
          <span className={`state ${outcome}`}>
            <OutcomeGlyph outcome={outcome} />
            {outcome}
          </span>
          {word === outcome ? null : <span className="muted clip">{word}</span>}
        </a>
      </td>
      <td className="clip" title={webhookUrl}>
        {host.name}
        <span className="quiet">{host.rest}</span>
      </td>
      <td
        className={simulated ? "mono right due" : "mono right"}
        title={simulated ? "clock time, because a test endpoint held it" : undefined}
      >
        {duration(durationMs)}
      </td>
    </tr>
  );
}

function AheadRow({ ahead: { kind, round, at, isNext, urls } }: { ahead: Ahead }) {
  const isUnderWay = kind === "under_way";
  return (
    <tr className={isNext ? "first due" : "first quiet"}>
      <td>{round}</td>
      <td className="mono">{clockTime(at)}</td>
      <td>
        <span className={`state ${isUnderWay ? "under_way" : isNext ? "coming next" : "coming"}`}>
          <OutcomeGlyph outcome={kind} />
          {isUnderWay ? "under way" : isNext ? "next" : "coming"}
        </span>
      </td>
      <td className="clip">{urls.map((url) => hostOf(url).name).join(", ")}</td>
      <td className="right">{isNext ? <Until at={at} withTime={false} /> : null}</td>
    </tr>
  );
}
