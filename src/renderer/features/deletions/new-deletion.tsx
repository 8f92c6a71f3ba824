/**
 * A deletion request that is being written: whom, what is known of each, and whether they are
 * suppressed.
 */

import { useState } from "react";
import { Visible } from "../../kit/code-rows.tsx";
import { ConfirmDialog } from "../../kit/confirm-dialog.tsx";
import { Button, CheckField } from "../../kit/controls.tsx";
import { FieldNote } from "../../kit/commit-field.tsx";
import { Step } from "../../kit/draft-form.tsx";
import { count, some } from "../../kit/words.ts";
import { useKept } from "../../stores/drafts.ts";
import { useLive } from "../../stores/live-data.ts";
import { hrefTo, usePlace } from "../../stores/place.ts";
import { call } from "../../transport/transport.ts";
import { EditorPane } from "../collection/collection.tsx";
import { userIdsIn, userIdText, usersInWords, wrongUserIds } from "../../kit/user-ids.ts";

/** Details are shown for this many users. */
const shownUsers = 12;

export function NewDeletion() {
  const given = usePlace((place) => userIdText(place.query["user"] ?? ""));
  const [text, setText] = useKept(`deletion of ${given}`, given);
  const [suppress, setSuppress] = useKept(`suppress with deletion of ${given}`, true);
  const [send, setSend] = useKept(`send with deletion of ${given}`, true);
  const [isAsking, setIsAsking] = useState(false);
  const go = usePlace((place) => place.go);
  const userIds = userIdsIn(text);
  const wrong = wrongUserIds(userIds);
  const users = some(userIds.length, "user");
  const leaveFor = (...path: string[]): void => {
    setText(given);
    setSuppress(true);
    setSend(true);
    go({ view: "deletions", path });
  };

  return (
    <EditorPane label="Delete users" title="Delete users" others="Another request">
      <form
        className="pane-body"
        onSubmit={(event) => {
          event.preventDefault();
          if (userIds.length > 0 && wrong === null) setIsAsking(true);
        }}
      >
        <ol className="numbered">
          <UsersStep text={text} userIds={userIds} wrong={wrong} send={send} onText={setText} />
          <Step number={2} title="Later messages" isDone={false}>
            <CheckField
              label="Suppress: reject later messages of these users"
              checked={suppress}
              onChange={(event) => setSuppress(event.currentTarget.checked)}
            />
            <p className="quiet">
              Clients still get 200 for these messages, as from the hosted service; the record has
              the reason. You can lift a suppression.
            </p>
          </Step>
          <Step number={3} title="What is sent" isDone={false}>
            <CheckField
              label="Send delete messages to destinations"
              checked={send}
              onChange={(event) => setSend(event.currentTarget.checked)}
            />
            <p>
              One message with exactly three fields for each source that knows a user and has an
              enabled destination. No identify is sent for audiences that the user leaves.
            </p>
            <pre className="code snippet" tabIndex={0} aria-label="The delete message">
              <Visible
                text={`{"type":"delete","userId":${JSON.stringify(userIds[0] ?? "…")},"timestamp":"…"}`}
              />
            </pre>
          </Step>
        </ol>
        <footer className="save-bar">
          <Button
            type="submit"
            look="primary"
            icon="deletions"
            disabled={userIds.length === 0 || wrong !== null}
          >
            {userIds.length === 0 ? "Delete" : `Delete ${users}`}
          </Button>
          <Button onClick={() => leaveFor()}>Discard</Button>
        </footer>
      </form>
      <ConfirmDialog
        open={isAsking}
        onClose={() => setIsAsking(false)}
        title={`Delete ${usersInWords(userIds)}?`}
        action={`Delete ${users}`}
        onConfirm={async () => {
          const made = await call("deletions.create", { userIds, suppress, send });
          leaveFor(made.id);
        }}
      >
        {userIds.length === 1
          ? "The profile and its history are deleted"
          : "The profiles and their history are deleted"}
        {send
          ? ", and delete messages are sent. Neither can be undone."
          : ", and nothing is sent. That cannot be undone."}{" "}
        Received messages stay on record.
      </ConfirmDialog>
    </EditorPane>
  );
}

type UsersStepProps = {
  text: string;
  /** Those in the text. */
  userIds: readonly string[];
  wrong: string | null;
  /** Whether delete messages are sent. */
  send: boolean;
  onText: (text: string) => void;
};

function UsersStep({ text, userIds, wrong, send, onText }: UsersStepProps) {
  return (
    <Step number={1} title="Users" isDone={false}>
      <p>
        Enter userIds, one per line or separated by commas. Put one that contains a comma in double
        quotes.
      </p>
      <span className="field area mono user-ids">
        <textarea
          aria-label="Users"
          aria-describedby="users-note"
          aria-invalid={wrong !== null || undefined}
          rows={4}
          spellCheck={false}
          value={text}
          onChange={(event) => onText(event.currentTarget.value)}
        />
      </span>
      <FieldNote
        id="users-note"
        error={wrong}
        hint={userIds.length > 1 ? `${count(userIds.length)} users without duplicates` : undefined}
      />
      <ul className="known-users" aria-label="Known users">
        {userIds.slice(0, shownUsers).map((userId) => (
          <KnownUser key={userId} userId={userId} send={send} />
        ))}
        {userIds.length > shownUsers ? (
          <li className="quiet">and {count(userIds.length - shownUsers)} more</li>
        ) : null}
      </ul>
    </Step>
  );
}

function KnownUser({ userId, send }: { userId: string; send: boolean }) {
  const { answer } = useLive("profiles.list", { userId, limit: 1 });
  const profile = answer?.items[0];
  return (
    <li>
      <code className="clip isolate">{userId}</code>
      {answer === undefined ? null : profile === undefined ? (
        <span className="quiet">
          no profile
          {send ? "; only destinations that know this user from an audience get a delete" : ""}
        </span>
      ) : (
        <a className="link muted" href={hrefTo("profiles", profile.id)}>
          {count(profile.events)} {profile.events === 1 ? "event" : "events"}
          {profile.audiences.length === 0
            ? ""
            : `, in ${profile.audiences.length === 1 ? "1 audience" : `${profile.audiences.length} audiences`}`}
        </a>
      )}
    </li>
  );
}
