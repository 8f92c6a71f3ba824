/**
 * One deletion request: its state, and for each user what was done and where its delete messages
 * are.
 */

import { useState } from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
import { DeleteMenu } from "../../kit/confirm-dialog.tsx";
import { Button } from "../../kit/controls.tsx";
import { State, StateGlyph } from "../../kit/glyph.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { usersInWords } from "../../kit/user-ids.ts";
import { calendarDate, clockTime, count, nameIn } from "../../kit/words.ts";
import { useLive } from "../../stores/live-data.ts";
import { hrefTo, usePlace } from "../../stores/place.ts";
import { call } from "../../transport/transport.ts";
import { EditorPane } from "../collection/collection.tsx";
import { Until } from "../details/until.tsx";

const pageSize = 50;

export function DeletionPane({ id }: { id: string }) {
  const { answer: deletion, error } = useLive("deletions.get", { id });
  if (deletion === undefined) return <ProblemText error={error} />;
  const at = Date.parse(deletion.requestedAt);
  const words = usersInWords(
    deletion.users.map(({ userId }) => userId),
    deletion.userCount,
  );
  return (
    <EditorPane
      label={`Deletion of ${words}`}
      title={words}
      others="Another request"
      tools={
        <DeleteMenu
          name="this request"
          label="More: remove"
          verb="Remove"
          onDelete={async () => {
            await call("deletions.delete", { id });
            usePlace.getState().go({ view: "deletions" });
          }}
        >
          It is removed from this list. Its delete messages are still delivered, and the users stay
          suppressed.
        </DeleteMenu>
      }
    >
      <div className="pane-body">
        <section className="section deletion-summary" aria-label="State">
          <DeletionState state={deletion.state} />
          <p role="status">{stateSentence(deletion)}</p>
          <p className="quiet">
            Requested <span className="due">{clockTime(at)}</span>, {calendarDate(at)}.{" "}
            {deletion.suppress ? "The users were suppressed." : "The users were not suppressed."}
          </p>
        </section>
        <Users users={deletion.users} total={deletion.userCount} />
      </div>
    </EditorPane>
  );
}

function Users({ users, total }: { users: Deletion["users"]; total: number }) {
  const sources = useLive("sources.list", {}).answer?.items;
  const [shown, setShown] = useState(pageSize);
  return (
    <section className="section" aria-label="Users">
      <ul className="deleted-users">
        {users.slice(0, shown).map(({ userId, known, detail, sourceIds, messageIds }) => (
          <li key={userId}>
            <div className="deleted-user">
              <code className="strong clip isolate">{userId}</code>
              {known ? null : <span className="badge outline">unknown</span>}
            </div>
            <p className="muted isolate">{detail}</p>
            {messageIds.length === 0 || sources === undefined ? null : (
              <ul className="delete-messages" aria-label={`Delete messages for ${userId}`}>
                {messageIds.map((messageId, place) => (
                  <DeleteMessage
                    key={messageId}
                    id={messageId}
                    source={nameIn(sources, sourceIds[place], "a deleted source")}
                  />
                ))}
              </ul>
            )}
          </li>
        ))}
      </ul>
      {users.length > shown ? (
        <Button small onClick={() => setShown(shown + pageSize)}>
          Show {count(Math.min(pageSize, users.length - shown))} more of {count(users.length)}
        </Button>
      ) : users.length < total ? (
        <p className="quiet">
          The request has {count(total)} users. These are the first {count(users.length)}.
        </p>
      ) : null}
    </section>
  );
}

function DeleteMessage({ id, source }: { id: string; source: string }) {
  const { answer, error } = useLive("messages.get", { id });
  const destinations = useLive("destinations.list", {}).answer?.items;
  return (
    <li>
      <a
        className="link clip isolate"
        href={hrefTo("live", id)}
        title="Open the delete message in Live"
      >
        {source}
      </a>
      <span className="delete-deliveries">
        {answer === undefined ? (
          <span className="quiet">
            {error === null ? "" : "Its message is no longer on record."}
          </span>
        ) : (
          answer.deliveries.map((delivery) => (
            <span key={delivery.id} className="delete-delivery">
              <span className="quiet">to</span>
              <span className="clip isolate">
                {nameIn(destinations, delivery.destinationId, "a deleted destination")}
              </span>
              <State state={delivery.state} />
              {delivery.nextAttemptAt === null ? null : (
                <Until at={Date.parse(delivery.nextAttemptAt)} />
              )}
            </span>
          ))
        )}
      </span>
    </li>
  );
}

type Deletion = AnswerOf<"deletions.get">;

/** The state of a deletion request: that of its deliveries, or that there was nothing to send. */
export function DeletionState({ state }: { state: Deletion["state"] }) {
  if (state !== "nothing_to_send") return <State state={state} />;
  return (
    <span className="state filtered">
      <StateGlyph state="filtered" />
      nothing to send
    </span>
  );
}

const stateSentences: Record<Exclude<Deletion["state"], "nothing_to_send">, string> = {
  sending: "Delete messages are being sent.",
  queued: "Delete messages are queued.",
  waiting: "A receiver has not accepted its delete message yet; it is being retried.",
  failed: "A receiver rejected its delete message. Retry it, or see the response in its attempts.",
  expired:
    "The retry window closed before a receiver accepted its delete message. Retry it to open a new window.",
  cancelled: "A delete message was cancelled before a receiver accepted it.",
  delivered: "Every receiver has accepted its delete message.",
};

function stateSentence({ state, send, users }: Deletion): string {
  if (state !== "nothing_to_send") return stateSentences[state];
  if (!send) return "No delete message was sent, because the request says so.";
  return users.some(({ messageIds }) => messageIds.length > 0)
    ? "The delete messages led to no delivery. Open one to see why."
    : "No delete message was needed: no source that knows these users has an enabled destination.";
}
