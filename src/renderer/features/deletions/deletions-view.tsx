/**
 * Deletions: users are deleted, each request is followed to its end, and suppressions are lifted.
 */

import { useCallback, useEffect, useState } from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
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
  const { list, error, more, readers } = usePages();
  const suppressed = totalOf(useLive("suppressions.list", { limit: 1 }).answer);
  const openId = usePlace((place) => place.path[0]);
  if (list === undefined) return <ProblemText error={error} />;

  const items = list.flatMap((page) => page.items);
  const last = list.at(-1);
  const current = openId ?? items[0]?.id;
  const entries: Entry[] = [
    {
      path: [suppressedPath],
      label: "Suppressed users",
      aside: suppressed,
      detail: "later messages are rejected",
      inMenu: false,
    },
    ...items.map(({ id, users, userCount, state, requestedAt }) => ({
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
  const collection = (
    <Collection
      view="deletions"
      title="Deletions"
      entries={entries}
      current={current === undefined ? undefined : [current]}
      add={add}
      below={
        last === undefined || last.nextCursor === null ? null : (
          <li className="more-entries">
            <Button small look="quiet" onClick={more}>
              Show more of {totalOf(last)}
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
  return (
    <>
      {collection}
      {readers}
    </>
  );
}

/** It is counted up to ten thousand. */
const totalOf = ({ total, totalCapped } = { total: 0, totalCapped: false }): string =>
  `${count(total)}${totalCapped ? "+" : ""}`;

type Page = AnswerOf<"deletions.list">;

/**
 * The list as far as it is shown, in pages: an answer ends early where its requests have thousands of
 * users. Until the pages behind a new first one are read again, the ones before stay.
 */
function usePages() {
  const [wanted, setWanted] = useState(1);
  const [older, setOlder] = useState<ReadonlyMap<string, Page>>(new Map());
  const onRead = useCallback(
    (cursor: string, page: Page) => setOlder((pages) => new Map(pages).set(cursor, page)),
    [],
  );
  const { answer, error } = useLive("deletions.list", { limit: pageSize });
  const first = useLast(answer);
  const pages = first === undefined ? [] : [first];
  const cursors: string[] = [];
  while (pages.length === cursors.length + 1 && pages.length < wanted) {
    const cursor = pages.at(-1)?.nextCursor ?? null;
    if (cursor === null) break;
    cursors.push(cursor);
    const page = older.get(cursor);
    if (page !== undefined) pages.push(page);
  }
  return {
    list: useLast(pages.length === cursors.length + 1 ? pages : undefined),
    error,
    more: () => setWanted(wanted + 1),
    readers: cursors.map((cursor) => <OlderPage key={cursor} cursor={cursor} onRead={onRead} />),
  };
}

function OlderPage({
  cursor,
  onRead,
}: {
  cursor: string;
  onRead: (cursor: string, page: Page) => void;
}) {
  const { answer, error } = useLive("deletions.list", { limit: pageSize, cursor });
  useEffect(() => {
    if (answer !== undefined) onRead(cursor, answer);
  }, [cursor, answer, onRead]);
  return <ProblemText error={error} />;
}
