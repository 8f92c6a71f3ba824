/**
 * Deletions: users are deleted, each request is followed to its end, and suppressions are lifted.
 */

import { useState } from "react";
import { Button } from "../../kit/controls.tsx";
import { EmptyState } from "../../kit/empty-state.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { usersInWords } from "../../kit/user-ids.ts";
import { count } from "../../kit/words.ts";
import { newId } from "../../stores/drafts.ts";
import { useLast, useLive } from "../../stores/live-data.ts";
import { usePlace } from "../../stores/place.ts";
import { Collection, type Entry } from "../collection/collection.tsx";
import { Time } from "../details/until.tsx";
import { DeletionPane, DeletionState } from "./deletion-pane.tsx";
import { NewDeletion } from "./new-deletion.tsx";
import { Suppressions } from "./suppressions.tsx";
import "./deletions.css";

const suppressedPath = "suppressed";
const pageSize = 100;

const goTo = (path: string): void => usePlace.getState().go({ view: "deletions", path: [path] });
export const deleteUsers = (): void => goTo(newId);
const add = { label: "Delete users", run: deleteUsers };

export function DeletionsView() {
  const [limit, setLimit] = useState(pageSize);
  const { answer: newest, error } = useLive("deletions.list", { limit });
  const answer = useLast(newest);
  const suppressed = count(useLive("suppressions.list", { limit: 1 }).answer?.total ?? 0);
  const openId = usePlace((place) => place.path[0]);
  if (answer === undefined) return <ProblemText error={error} />;

  const current = openId ?? answer.items[0]?.id;
  const entries: Entry[] = [
    {
      path: [suppressedPath],
      label: "Suppressed users",
      aside: suppressed,
      detail: "later messages are rejected",
      inMenu: false,
    },
    ...answer.items.map(({ id, users, userCount, state, requestedAt }) => ({
      path: [id],
      label: usersInWords(
        users.map(({ userId }) => userId),
        userCount,
      ),
      hint: state.replaceAll("_", " "),
      aside: <DeletionState state={state} />,
      detail: (
        <>
          requested{" "}
          <span className="due">
            <Time at={Date.parse(requestedAt)} />
          </span>
        </>
      ),
    })),
  ];
  if (openId === newId)
    entries.unshift({ path: [newId], label: "New request", detail: "not sent yet", inMenu: false });
  return (
    <Collection
      view="deletions"
      title="Deletions"
      entries={entries}
      current={current === undefined ? undefined : [current]}
      add={add}
      below={
        answer.nextCursor === null ? null : (
          <li className="more-entries">
            <Button
              small
              look="quiet"
              onClick={() => setLimit(Math.min(limit + pageSize, 1000))}
              disabled={limit >= 1000}
            >
              Show {pageSize} more of {count(answer.total)}
            </Button>
          </li>
        )
      }
      menu={[{ label: "Suppressed users", hint: suppressed, onSelect: () => goTo(suppressedPath) }]}
      empty={
        current !== undefined ? null : (
          <EmptyState
            label="No deletion"
            title="Delete a user everywhere"
            action={{ ...add, icon: "deletions" }}
          >
            For each source that knows the user and has an enabled destination, Hookyard sends one
            delete message as a signed POST and retries it like any other. The user’s profile is
            deleted, and later messages of the user are rejected as suppressed until you lift the
            suppression.
          </EmptyState>
        )
      }
      editor={
        current === newId ? (
          <NewDeletion />
        ) : current === suppressedPath ? (
          <Suppressions />
        ) : (
          <DeletionPane key={current} id={current ?? ""} />
        )
      }
    />
  );
}
