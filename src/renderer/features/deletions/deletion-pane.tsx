/** One deletion request: its state, and for each user what was done and where its delete messages are. */

import { useState } from "react";
import { ConfirmDialog } from "../../kit/confirm-dialog.tsx";
import { Button, IconButton } from "../../kit/controls.tsx";
import { Menu } from "../../kit/floats.tsx";
import { State } from "../../kit/glyph.tsx";
import { OthersMenu, type Other } from "../../kit/list-pane.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { calendarDate, clockTime, count } from "../../kit/words.ts";
import { useLive } from "../../stores/live-data.ts";
import { hashOf, usePlace } from "../../stores/place.ts";
import { call } from "../../transport/transport.ts";
import { Until } from "../details/until.tsx";
import { DeletionState, stateSentences, type Deletion } from "./deletion-state.tsx";
import { usersInWords } from "../../kit/user-ids.ts";

const pageSize = 50;

export function DeletionPane({ id, others }: { id: string; others: readonly Other[] }) {
  const { answer: deletion, error } = useLive("deletions.get", { id });
  const go = usePlace((place) => place.go);
  const [isAsking, setIsAsking] = useState(false);
  if (deletion === undefined) return <ProblemText error={error} />;
  const at = Date.parse(deletion.requestedAt);
  const words = usersInWords(deletion.users.map(({ userId }) => userId));
  return (
    <section className="pane editor" aria-label={`Deletion of ${words}`}>
      <header className="pane-title">
        <h2 className="clip isolate">{words}</h2>
        <OthersMenu label="Another request" others={others} />
        <span className="grow" />
        <Menu
          trigger={<IconButton icon="more" small label="More: forget" />}
          items={[{ label: "Forget this request…", icon: "deletions", onSelect: () => setIsAsking(true) }]}
        />
      </header>
      <div className="pane-body">
        <section className="section deletion-summary" aria-label="State">
          <DeletionState state={deletion.state} />
          <p role="status">{stateSentences[deletion.state]}</p>
          <p className="quiet">
            Asked for <span className="due">{clockTime(at)}</span>, {calendarDate(at)}.{" "}
            {deletion.suppress ? "The users were suppressed." : "The users were not suppressed."}
          </p>
        </section>
        <Users users={deletion.users} />
      </div>
      <ConfirmDialog
        open={isAsking}
        onClose={() => setIsAsking(false)}
        title="Forget this request?"
        action="Forget"
        onConfirm={async () => {
          await call("deletions.delete", { id });
          go({ view: "deletions" });
        }}
      >
        It leaves this list. Its delete messages go on to their receivers, and the users stay suppressed.
      </ConfirmDialog>
    </section>
  );
}

function Users({ users }: { users: Deletion["users"] }) {
  const sources = useLive("sources.list", {}).answer?.items ?? [];
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
            {messageIds.length === 0 ? null : (
              <ul className="delete-messages" aria-label={`Delete messages for ${userId}`}>
                {messageIds.map((messageId, place) => (
                  <DeleteMessage
                    key={messageId}
                    id={messageId}
                    source={sources.find((source) => source.id === sourceIds[place])?.name ?? "a source that is gone"}
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
      ) : null}
    </section>
  );
}

function DeleteMessage({ id, source }: { id: string; source: string }) {
  const { answer, error } = useLive("messages.get", { id });
  const destinations = useLive("destinations.list", {}).answer?.items ?? [];
  const nameOf = (destinationId: string): string =>
    destinations.find((destination) => destination.id === destinationId)?.name ?? "a destination that is gone";
  return (
    <li>
      <a className="link clip isolate" href={hashOf({ view: "live", path: [id], query: {} })} title="Open the delete message in Live">
        {source}
      </a>
      <span className="delete-deliveries">
        {answer === undefined ? (
          <span className="quiet">{error === null ? "" : "Its message is not on record any more."}</span>
        ) : (
          answer.deliveries.map((delivery) => (
            <span key={delivery.id} className="delete-delivery">
              <span className="quiet">to</span>
              <span className="clip isolate">{nameOf(delivery.destinationId)}</span>
              <State state={delivery.state} />
              {delivery.nextAttemptAt === null ? null : <Until at={Date.parse(delivery.nextAttemptAt)} />}
            </span>
          ))
        )}
      </span>
    </li>
  );
}
