/** Deletions: users are deleted, each request is followed to its end, and suppressions are lifted. */

import { useMemo, useState } from "react";
import { Button, IconButton } from "../../kit/controls.tsx";
import { ListAndEditor, ListEntry, ListPane } from "../../kit/list-pane.tsx";
import { EmptyState } from "../../kit/empty-state.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { usersInWords } from "../../kit/user-ids.ts";
import { calendarDate, clockTime, count } from "../../kit/words.ts";
import { type Command, useOffer } from "../../stores/commands.ts";
import { useLive } from "../../stores/live-data.ts";
import { hashOf, usePlace } from "../../stores/place.ts";
import { DeletionPane, DeletionState } from "./deletion-pane.tsx";
import { NewDeletion } from "./new-deletion.tsx";
import { Suppressions } from "./suppressions.tsx";
import "./deletions.css";

const newPath = "new";
const suppressedPath = "suppressed";
const pageSize = 100;

const goTo = (path: string): void => usePlace.getState().go({ view: "deletions", path: [path] });

export function DeletionsView() {
  const [limit, setLimit] = useState(pageSize);
  const { answer, error } = useLive("deletions.list", { limit });
  const suppressed = useLive("suppressions.list", { limit: 1 }).answer;
  const openId = usePlace((place) => place.path[0]);
  const commands = useMemo<readonly Command[]>(
    () => [{ id: "deletions.new", label: "Delete users", icon: "deletions", hint: "Deletions", run: () => goTo(newPath) }],
    [],
  );
  useOffer("deletions", commands);

  if (answer === undefined) return <ProblemText error={error} />;
  const deletions = answer.items;
  const isEmpty = deletions.length === 0 && openId === undefined;
  const current = openId === undefined ? deletions[0]?.id : openId;
  const others = [
    ...deletions.map(({ id, users, state }) => ({
      label: usersInWords(users.map(({ userId }) => userId)),
      hint: state.replaceAll("_", " "),
      go: () => goTo(id),
    })),
    { label: "Suppressed users", hint: count(suppressed?.total ?? 0), go: () => goTo(suppressedPath) },
  ];

  const list = (
    <ListPane title="Deletions" tools={<IconButton icon="add" label="Delete users" onClick={() => goTo(newPath)} />}>
      {openId === newPath ? (
        <ListEntry href={hashOf({ view: "deletions", path: [newPath], query: {} })} isCurrent name="New request" detail="not sent yet" />
      ) : null}
      <ListEntry
        href={hashOf({ view: "deletions", path: [suppressedPath], query: {} })}
        isCurrent={current === suppressedPath}
        name="Suppressed users"
        aside={count(suppressed?.total ?? 0)}
        detail="later messages are rejected"
      />
      {deletions.map(({ id, users, state, requestedAt }) => (
        <ListEntry
          key={id}
          href={hashOf({ view: "deletions", path: [id], query: {} })}
          isCurrent={id === current}
          name={usersInWords(users.map(({ userId }) => userId))}
          aside={<DeletionState state={state} />}
          detail={
            <span title={calendarDate(Date.parse(requestedAt))}>
              requested <span className="due">{clockTime(Date.parse(requestedAt))}</span>
            </span>
          }
        />
      ))}
      {answer.nextCursor === null ? null : (
        <li className="more-entries">
          <Button small look="quiet" onClick={() => setLimit(Math.min(limit + pageSize, 1000))} disabled={limit >= 1000}>
            Show {pageSize} more of {count(answer.total)}
          </Button>
        </li>
      )}
    </ListPane>
  );

  const editor = isEmpty ? (
    <EmptyState
      label="No deletion"
      title="Delete a user everywhere"
      action={{ label: "Delete users", icon: "deletions", run: () => goTo(newPath) }}
    >
      For each source that knows the user and has an enabled destination, Hookyard sends one delete message as a signed POST and retries it
      like any other. The user’s profile is deleted, and later messages of the user are rejected as suppressed until you lift the
      suppression.
    </EmptyState>
  ) : current === newPath ? (
    <NewDeletion others={others} />
  ) : current === suppressedPath ? (
    <Suppressions others={others} />
  ) : (
    <DeletionPane key={current} id={current ?? ""} others={others} />
  );
  return <ListAndEditor name="deletions" title="Deletions" isEmpty={isEmpty} list={list} editor={editor} />;
}
