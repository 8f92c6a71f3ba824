/** All attempts of a delivery by round, then those in progress and to come. */

import { useEffect, useRef } from "react";
import { OutcomeGlyph } from "../../kit/glyph.tsx";
import { duration } from "../../kit/words.ts";
import { attemptHref } from "../details/places.ts";
import { Time, Until } from "../details/until.tsx";
import type { Ahead, Attempt } from "../timeline/timeline-model.ts";
import type { DeliveryTimeline } from "../timeline/use-timeline.ts";
import { attemptWord, hostOf } from "./attempt-words.ts";

export function AttemptsNav({
  messageId,
  timeline: { rounds, ahead },
  current,
}: {
  messageId: string;
  timeline: DeliveryTimeline;
  current: string;
}) {
  const row = useRef<HTMLAnchorElement>(null);
  const isFirst = useRef(true);
  // Opening moves the focus in; after that it goes along only if it is here.
  useEffect(() => {
    const here = row.current;
    here?.scrollIntoView({ block: "nearest" });
    if (isFirst.current || here?.closest("nav")?.contains(document.activeElement))
      here?.focus({ preventScroll: true });
    isFirst.current = false;
  }, [current]);
  return (
    <nav className="pane attempts-nav" aria-label="Attempts by round">
      <ol className="pane-body">
        {rounds.map(({ round, startedAt, attempts }) => (
          <li key={round}>
            <div className="attempts-round">
              <span>round {round}</span>
              <span className="mono quiet">
                <Time at={Date.parse(startedAt)} />
              </span>
            </div>
            <ol>
              {attempts.map((attempt) => (
                <li key={attempt.id}>
                  <AttemptRow
                    messageId={messageId}
                    attempt={attempt}
                    row={attempt.id === current ? row : null}
                  />
                </li>
              ))}
            </ol>
          </li>
        ))}
        {ahead.map((coming) => (
          <AheadRows key={`${coming.kind} ${coming.round}`} ahead={coming} />
        ))}
      </ol>
    </nav>
  );
}

function AttemptRow({
  messageId,
  attempt,
  row,
}: {
  messageId: string;
  attempt: Attempt;
  row: React.Ref<HTMLAnchorElement> | null;
}) {
  const { id, round, outcome, webhookUrl, durationMs, simulated } = attempt;
  const { name, rest } = hostOf(webhookUrl);
  const isCurrent = row !== null;
  return (
    <a
      ref={row}
      href={attemptHref(messageId, id)}
      className={isCurrent ? "attempts-row cur" : "attempts-row"}
      aria-current={isCurrent ? "true" : undefined}
      title={webhookUrl}
    >
      <span className={`tone ${outcome}`}>
        <OutcomeGlyph outcome={outcome} />
        <span className="sr">
          round {round}: {outcome}
        </span>
      </span>
      <span className="where">
        {name}
        <span className="quiet">{rest}</span>
      </span>
      <span className="w">{attemptWord(attempt)}</span>
      <span
        className={simulated ? "mono d due" : "mono d"}
        title={simulated ? "clock time, because a test endpoint held it" : undefined}
      >
        {duration(durationMs)}
      </span>
    </a>
  );
}

function AheadRows({ ahead: { kind, round, at, isNext, urls } }: { ahead: Ahead }) {
  const isUnderWay = kind === "under_way";
  const hosts = urls.map((url) => hostOf(url).name).join(", ");
  return (
    <li>
      <div className={isNext ? "attempts-round due" : "attempts-round"}>
        <span>round {round}</span>
        <span className="mono">
          <Time at={at} />
        </span>
      </div>
      {isUnderWay || isNext ? (
        <div className="attempts-row pl">
          <span className={`tone ${isUnderWay ? "under_way" : "coming next"}`}>
            <OutcomeGlyph outcome={kind} />
          </span>
          <span className="where quiet">{hosts}</span>
          <span />
          {isUnderWay ? (
            <span className="d muted">in progress</span>
          ) : (
            <span className="d">
              <Until at={at} withTime={false} />
            </span>
          )}
        </div>
      ) : null}
    </li>
  );
}
