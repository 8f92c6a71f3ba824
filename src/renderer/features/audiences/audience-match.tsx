/** Who matches: the count while the rule is typed, some of them, and for one user why. */

import { useState } from "react";
import type { AnswerOf, InputOf } from "../../../contract/contract.ts";
import type { Rule } from "../../../domain/rules.ts";
import { TextField, withoutSubmit } from "../../kit/controls.tsx";
import { StateGlyph } from "../../kit/glyph.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { count } from "../../kit/words.ts";
import { useLast, useLive } from "../../stores/live-data.ts";
import { hrefTo } from "../../stores/place.ts";
import { Until } from "../details/until.tsx";
import { valueText } from "../profiles/profile-words.ts";
import { useDebounced } from "../../kit/use-debounced.ts";

export function Match({
  rule,
  missing,
  preview: { answer, error, isOld },
}: {
  rule: Rule | null;
  missing: string | null;
  preview: Preview;
}) {
  const [chosen, setChosen] = useState<string | null>(null);
  const [asked, setAsked] = useState("");
  const why = asked === "" ? chosen : asked;
  return (
    <>
      <p className="match-count" role="status" aria-busy={isOld}>
        {missing === null ? (
          answer === undefined ? (
            <span className="quiet">…</span>
          ) : (
            <>
              <b>{count(answer.count)}</b>{" "}
              <span className="muted">
                of {count(answer.profiles)} {rule === null ? "listed" : "known"}{" "}
                {answer.profiles === 1 ? "user" : "users"}
              </span>
            </>
          )
        ) : (
          <span className="quiet">{missing}</span>
        )}
      </p>
      <ProblemText error={missing === null ? error : null} />
      {missing !== null || answer === undefined || answer.sample.length === 0 ? null : (
        <ul className="sample" aria-label="Sample">
          {answer.sample.map(({ userId, profileId, traits }) => (
            <li key={userId}>
              {rule === null ? (
                <code className="clip isolate">{userId}</code>
              ) : (
                <button
                  type="button"
                  className="sample-user"
                  aria-pressed={why === userId}
                  title="Why this user matches"
                  onClick={() => {
                    setAsked("");
                    setChosen(chosen === userId ? null : userId);
                  }}
                >
                  <code className="clip isolate">{userId}</code>
                </button>
              )}
              <code className="quiet clip isolate">
                {Object.keys(traits).length === 0 ? "" : valueText(traits)}
              </code>
              {profileId === null ? (
                <span className="quiet">no profile</span>
              ) : (
                <a
                  className="link quiet"
                  href={hrefTo("profiles", profileId)}
                  aria-label={`profile of ${userId}`}
                >
                  profile
                </a>
              )}
            </li>
          ))}
        </ul>
      )}
      {rule === null || missing !== null ? null : (
        <div className="why">
          <TextField
            aria-label="Explain why a user matches"
            placeholder="Enter a userId to see why it matches or not"
            value={asked}
            onKeyDown={withoutSubmit}
            onChange={(event) => setAsked(event.currentTarget.value)}
          />
          {why === null ? null : <Why rule={rule} userId={why} />}
        </div>
      )}
    </>
  );
}

type Explained = AnswerOf<"audiences.explain">["explained"];

function Why(asked: { rule: Rule; userId: string }) {
  const { value: debounced } = useDebounced(asked);
  const { userId } = debounced;
  const { answer, error } = useLive("audiences.explain", debounced);
  if (answer === undefined) return <ProblemText error={error} />;
  return (
    <div
      className={answer.matches ? "verdict good" : "verdict"}
      aria-label={`Why ${userId} ${answer.matches ? "matches" : "does not match"}`}
    >
      <div className="why-lines">
        <p>
          <code className="isolate">{userId}</code> {answer.matches ? "matches" : "does not match"}
          {answer.until === null ? null : (
            <>
              ; this may change with time alone at <Until at={Date.parse(answer.until)} />
            </>
          )}
          .
        </p>
        <ExplainedLines parts={[answer.explained]} />
      </div>
    </div>
  );
}

function ExplainedLines({ parts }: { parts: readonly Explained[] }) {
  return (
    <ul className="explained-parts">
      {parts.map(({ sentence, holds, fact, parts: inner }, place) => (
        // oxlint-disable-next-line react/no-array-index-key -- parts have nothing but their place
        <li key={place}>
          <span className={holds ? "state delivered" : "state filtered"}>
            <StateGlyph state={holds ? "checked" : "not-routed"} />
            <span className="sr">{holds ? "holds: " : "does not hold: "}</span>
            <span className="isolate">{sentence}</span>
          </span>
          {fact === "" ? null : <span className="quiet isolate why-fact">{fact}</span>}
          {inner.length === 0 ? null : <ExplainedLines parts={inner} />}
        </li>
      ))}
    </ul>
  );
}

type Preview = {
  answer: AnswerOf<"audiences.preview"> | undefined;
  error: Error | null;
  isOld: boolean;
};

/** Who a rule that is not saved holds for. The last answer stays until the next one is there. */
export function usePreview(asked: InputOf<"audiences.preview"> | null): Preview {
  const { value: debounced, isOld } = useDebounced(asked);
  const { answer, error } = useLive("audiences.preview", debounced);
  const last = useLast(answer);
  if (asked === null) return { answer: undefined, error: null, isOld: false };
  return { answer: last, error, isOld: isOld || answer === undefined };
}
