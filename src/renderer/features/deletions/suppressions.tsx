/** Users whose messages are rejected, the way back for each, and the way in without a deletion. */

import { useState } from "react";
import { Button, Labelled, TextField } from "../../kit/controls.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { useAction } from "../../kit/use-action.ts";
import { userIdsIn, wrongUserIds } from "../../kit/user-ids.ts";
import { calendarDate, clockTime, count } from "../../kit/words.ts";
import { useKept } from "../../stores/drafts.ts";
import { useLast, useLive } from "../../stores/live-data.ts";
import { hrefTo } from "../../stores/place.ts";
import { call } from "../../transport/transport.ts";
import { EditorPane } from "../collection/collection.tsx";

const pageSize = 100;
const most = 1000;

export function Suppressions() {
  const [search, setSearch] = useState("");
  const [limit, setLimit] = useState(pageSize);
  const { problem, run } = useAction();
  const { answer: newest, error } = useLive(
    "suppressions.list",
    search === "" ? { limit } : { limit, search },
  );
  const answer = useLast(newest);
  // By the size of the answer, with long userIds.
  const isCut = newest !== undefined && newest.items.length < limit;
  const lift = (userId: string): void =>
    run(`lift ${userId}`, () => call("suppressions.lift", { userId }));
  return (
    <EditorPane
      label="Suppressed users"
      title="Suppressed users"
      others="A request"
      tools={
        <TextField
          aria-label="Find a suppressed user"
          placeholder="Find by start of userId"
          value={search}
          onChange={(event) => setSearch(event.currentTarget.value)}
        />
      }
    >
      <div className="pane-body">
        <Suppress />
        <ProblemText error={problem ?? error} />
        {answer?.items.length === 0 ? (
          <p className="nothing-delivered muted">
            {search === ""
              ? "No suppressed users. Deleting users suppresses them too, so that later messages from their clients are not accepted."
              : "No suppressed userId starts with this."}
          </p>
        ) : (
          <ul className="suppressed-users">
            {answer?.items.map(({ userId, since, deletionId }) => (
              <li key={userId}>
                <code className="clip isolate">{userId}</code>
                <span className="muted clip">
                  since <span className="due">{clockTime(Date.parse(since))}</span>,{" "}
                  {calendarDate(Date.parse(since))}
                  {deletionId === null ? null : (
                    <>
                      {", by "}
                      <a
                        className="link"
                        href={hrefTo("deletions", deletionId)}
                        aria-label={`its deletion: ${userId}`}
                      >
                        its deletion
                      </a>
                    </>
                  )}
                </span>
                <Button
                  small
                  aria-label={`Lift the suppression of ${userId}`}
                  onClick={() => lift(userId)}
                >
                  Lift
                </Button>
              </li>
            ))}
          </ul>
        )}
        {answer === undefined || answer.nextCursor === null ? null : (
          <p className="nothing-delivered muted">
            {limit >= most || isCut ? (
              `These are the first ${count(answer.items.length)} by userId. Find others by the start of theirs.`
            ) : (
              <Button small onClick={() => setLimit(Math.min(limit + pageSize, most))}>
                Show {pageSize} more of {count(answer.total)}
                {answer.totalCapped ? "+" : ""}
              </Button>
            )}
          </p>
        )}
      </div>
    </EditorPane>
  );
}

function Suppress() {
  const [text, setText] = useKept("users to suppress", "");
  const { problem, isBusy, run } = useAction();
  const userIds = userIdsIn(text);
  const wrong = wrongUserIds(userIds);
  return (
    <form
      className="section suppress"
      aria-label="Suppress users"
      onSubmit={(event) => {
        event.preventDefault();
        if (userIds.length === 0 || wrong !== null) return;
        run("suppress", async () => {
          await call("suppressions.create", { userIds });
          setText("");
        });
      }}
    >
      <Labelled
        label="Suppress without deleting"
        hint="Later messages of these users are rejected. Their profiles stay, and nothing is sent."
        error={wrong}
      >
        <span className="field area mono user-ids">
          <textarea
            placeholder="userIds, one per line or separated by commas"
            rows={2}
            spellCheck={false}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
          />
        </span>
      </Labelled>
      <Button type="submit" isBusy={isBusy} disabled={userIds.length === 0 || wrong !== null}>
        Suppress
      </Button>
      <ProblemText error={problem} />
    </form>
  );
}
