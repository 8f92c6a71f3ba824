/**
 * Live: the stages, the list of messages with its filter, and the message that is open beside it.
 * The place is `#/live`, with the filter in its query, `#/live/<id>` with a message open, and
 * `#/live/<id>/attempts[/<attempt>]`.
 */

import { type RefObject, useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
import {
  type Filter,
  formatFilter,
  isEmpty,
  noFilter,
  problemOf,
  withValue,
  withValues,
} from "../../../domain/message-filter.ts";
import { Button } from "../../kit/controls.tsx";
import { StateGlyph, type StateName } from "../../kit/glyph.tsx";
import { SplitPane } from "../../kit/split-pane.tsx";
import { type Action, useAction } from "../../kit/use-action.ts";
import { count } from "../../kit/words.ts";
import { useOffer } from "../../stores/commands.ts";
import { type KeyHandlers, useKeys } from "../../stores/keys.ts";
import { useLive } from "../../stores/live-data.ts";
import { goOnceAnswered, usePlace } from "../../stores/place.ts";
import { masked } from "../../transport/secrets.ts";
import { call } from "../../transport/transport.ts";
import { AttemptView } from "../attempt/attempt-view.tsx";
import { WhatIfView } from "../attempt/what-if-view.tsx";
import { MessageDetails } from "../details/message-details.tsx";
import { recordScenario } from "../scenarios/own-scenarios.ts";
import { openShareDialog } from "../share/share-dialog.tsx";
import { Welcome } from "../welcome/welcome.tsx";
import { exportItems, type OnRecord } from "./export.ts";
import { FilterBar, Notice } from "./filter-bar.tsx";
import type { OnFilter } from "./filter-field.tsx";
import {
  filterOf,
  listFilterOf,
  matchesLater,
  meantBy,
  queryOf,
  withoutValue,
} from "./filter-text.ts";
import { MatchBar } from "./match-bar.tsx";
import { MessageList } from "./message-list.tsx";
import { shortCount } from "./row-words.ts";
import { copyAsCurl, retryNow, useSelectedCommands } from "./selected-message.ts";
import { useMessageRows } from "./use-message-rows.ts";
import "./live.css";

export function LiveView() {
  const { path, query } = usePlace();
  const [openId, part, attemptId, detail] = path;
  const filter = useMemo(() => masked(filterOf(query)), [query]);
  const messages = useLive("stats.get", {}).answer?.messages;
  const sourceName = useSourceName();
  const { problem: refusal, run, attempt, clear } = useAction();
  const input = useRef<HTMLInputElement>(null);
  const grid = useRef<HTMLDivElement>(null);
  const scrollTop = useRef(0);
  const { selected, select, open, close } = useSelection(grid);
  const [marked, setMarked] = useState<ReadonlySet<string>>(new Set());

  const { problem, listFilter, rows } = useMatches(filter, messages?.total);
  const setFilter: OnFilter = (next, isWritten = false) => {
    setMarked(new Set());
    showFilter(next, filter, isWritten);
  };
  const onRecord: OnRecord = (which, idsOf) => run(`record ${which}`, () => recordScenario(idsOf));
  const place = selected === null ? null : (rows?.positionOf(selected) ?? null);
  /** Nothing acts on one that the list does not have. */
  const current = openId === undefined && place === null ? null : selected;
  const isAttempt = openId !== undefined && part === "attempts" && attemptId !== undefined;
  useKeys(
    isAttempt
      ? {}
      : {
          "/": () => input.current?.focus(),
          ...selectionKeys({ openId, selected: current, open, run }),
          ...(marked.size === 0 ? {} : { Escape: () => setMarked(new Set()) }),
        },
  );
  useListCommands(input, rows);
  const row = place === null ? undefined : rows?.rowAt(place);
  useSelectedCommands(openId === undefined ? current : null, row?.event ?? row?.type ?? "", open);

  const isFirstRun = messages?.total === 0 && isEmpty(filter) && openId === undefined;
  useFirstMessage({ isFirstRun, isThere: (messages?.total ?? 0) > 0, attempt });

  if (isAttempt && detail === "what-if")
    return <WhatIfView messageId={openId} attemptId={attemptId} />;
  if (isAttempt) return <AttemptView messageId={openId} attemptId={attemptId} />;

  const readError = rows?.error() ?? null;
  return (
    <>
      {isFirstRun ? null : <h1 className="sr">Live</h1>}
      <Strip messages={messages} filter={filter} onFilter={setFilter} />
      {isFirstRun ? (
        <Welcome />
      ) : (
        <div className={openId === undefined ? "live closed" : "live"}>
          <SplitPane
            name="live"
            label="Width of the details"
            initial="clamp(440px, 43.4%, 564px)"
            min={400}
            max={1000}
            first={
              <Messages
                {...{
                  filter,
                  listFilter,
                  rows,
                  selected: current,
                  marked,
                  input,
                  grid,
                  scrollTop,
                  sourceName,
                  onRecord,
                }}
                onFilter={setFilter}
                onMark={setMarked}
                onSelect={(id) => (openId === undefined ? select(id) : open(id))}
                onPress={open}
                error={problem === null ? (refusal ?? readError) : new Error(problem)}
                onDismiss={problem === null && readError === null ? clear : null}
              />
            }
            second={
              openId === undefined ? (
                <div className="no-details" />
              ) : (
                <MessageDetails id={openId} onClose={close} leavesRetry={marked.size > 0} />
              )
            }
          />
        </div>
      )}
    </>
  );
}

/** The names of the sources by their ids. */
function useSourceName(): (id: string) => string {
  const sources = useLive("sources.list", {}).answer?.items;
  const names = useMemo(() => new Map(sources?.map(({ id, name }) => [id, name])), [sources]);
  const isKnown = sources !== undefined;
  return useCallback((id) => names.get(id) ?? (isKnown ? id : ""), [names, isKnown]);
}

/** The rows that match; without rows and list filter, it has a value that cannot be asked. */
function useMatches(filter: Filter, total: number | undefined) {
  const problem = problemOf(filter);
  const listFilter = problem === null ? listFilterOf(filter) : null;
  const rows = useMessageRows(
    listFilter === null
      ? null
      : {
          filter: listFilter,
          matchesLater: matchesLater(filter),
          isTimed: (filter.values.last ?? filter.values["-last"]) !== undefined,
        },
    total,
  );
  return { problem, listFilter, rows };
}

function useListCommands(
  input: RefObject<HTMLInputElement | null>,
  rows: ReturnType<typeof useMessageRows>,
): void {
  useOffer("Live", [
    {
      id: "live.filter",
      label: "Filter messages",
      icon: "search",
      shortcut: "/",
      run: () => window.requestAnimationFrame(() => input.current?.focus()),
    },
    {
      id: "live.follow",
      label: "Follow new messages",
      icon: "up",
      shortcut: "f",
      run: () => rows?.follow(),
    },
  ]);
}

/** Goes to the place with the filter. */
function showFilter(next: Filter, before: Filter, isWritten: boolean): void {
  const { path, query, change, go } = usePlace.getState();
  // While a text is written, and where it becomes a chip, the back button leads to what was there
  // before it.
  if (isWritten && before.text !== "" && next.text !== before.text)
    return change({ query: queryOf(next) });
  const merged = Object.entries({ ...query, ...queryOf(next) });
  go({
    view: "live",
    path,
    query: Object.fromEntries(
      merged.filter((entry): entry is [string, string] => entry[1] !== null),
    ),
  });
}

type MessagesProps = {
  filter: Filter;
  /** Null: the filter has a value that cannot be asked. */
  listFilter: ReturnType<typeof listFilterOf> | null;
  rows: ReturnType<typeof useMessageRows>;
  selected: string | null;
  marked: ReadonlySet<string>;
  input: RefObject<HTMLInputElement | null>;
  grid: RefObject<HTMLDivElement | null>;
  /** Outlives the list, which is away while an attempt is open. */
  scrollTop: RefObject<number>;
  sourceName: (id: string) => string;
  error: Error | null;
  onFilter: OnFilter;
  onMark: (ids: ReadonlySet<string>) => void;
  onSelect: (id: string) => void;
  onPress: (id: string) => void;
  onRecord: OnRecord;
  onDismiss: (() => void) | null;
};

/** The list, with its filter above it. */
function Messages(props: MessagesProps) {
  const { filter, listFilter, rows, selected, marked, input, grid, scrollTop, sourceName } = props;
  const { onFilter, onMark, onRecord } = props;
  const clearMarks = (): void => onMark(new Set());
  return (
    <section className="list" aria-label="Messages">
      <FilterBar
        filter={filter}
        onFilter={onFilter}
        input={input}
        onLeave={() => {
          input.current?.blur();
          grid.current?.focus();
        }}
        rows={rows}
        exports={exportItems({
          selected: marked.size > 0 ? [...marked] : selected === null ? [] : [selected],
          filter: listFilter,
          onRecord,
          onShare: openShareDialog,
        })}
      />
      <MatchBar
        filter={listFilter}
        rows={rows}
        marked={marked}
        onClear={clearMarks}
        onRecord={onRecord}
      />
      <Notice error={props.error} onDismiss={props.onDismiss} />
      {rows === null ? null : (
        <MessageList
          rows={rows}
          selected={selected}
          marked={marked}
          onMark={onMark}
          onSelect={props.onSelect}
          onPress={props.onPress}
          sourceName={sourceName}
          scrollTop={scrollTop}
          grid={grid}
          nothing={<Nothing filter={filter} onFilter={onFilter} />}
        />
      )}
    </section>
  );
}

function Nothing({ filter, onFilter }: { filter: Filter; onFilter: (filter: Filter) => void }) {
  const meant = meantBy(filter);
  return (
    <div className="live-nothing">
      <p>
        No message matches <code>{formatFilter(filter)}</code>. New matching messages appear here.
      </p>
      {meant === null ? null : (
        <p>These words were searched as text. A key has a colon behind it.</p>
      )}
      <div>
        {meant === null ? null : (
          <Button look="primary" onClick={() => onFilter(meant)}>
            Search for {formatFilter(meant)}
          </Button>
        )}
        <Button onClick={() => onFilter(noFilter)}>Clear the filter</Button>
      </div>
    </div>
  );
}

/** The row that the keys act on: what is open, or what the keys have moved to. */
function useSelection(grid: RefObject<HTMLElement | null>) {
  const { path, query, go, change } = usePlace();
  const openId = path[0];
  const [selected, select] = useState(openId ?? null);
  useEffect(() => {
    if (openId !== undefined) select(openId);
  }, [openId]);
  return {
    selected,
    select,
    open(id: string): void {
      select(id);
      if (openId === undefined) go({ view: "live", path: [id], query });
      else change({ path: [id], query: { delivery: null } });
    },
    close(): void {
      change({ path: [], query: { delivery: null, tab: null } });
      grid.current?.focus();
    },
  };
}

type SelectionKeys = {
  openId: string | undefined;
  selected: string | null;
  open: (id: string) => void;
  run: Action["run"];
};

/** The details take the focus when they open, and have keys of their own. */
function selectionKeys({ openId, selected, open, run }: SelectionKeys): KeyHandlers {
  if (selected === null) return {};
  const enter = (): void =>
    openId === selected
      ? document.querySelector<HTMLElement>(".live .details")?.focus()
      : open(selected);
  if (openId !== undefined) return { Enter: enter };
  return {
    Enter: enter,
    r: () => run(`retry ${selected}`, () => retryNow(selected)),
    c: () => run(`copy ${selected}`, () => copyAsCurl(selected)),
  };
}

/** The first message opens by itself when it was waited for here. */
function useFirstMessage({
  isFirstRun,
  isThere,
  attempt,
}: {
  isFirstRun: boolean;
  isThere: boolean;
  attempt: Action["attempt"];
}): void {
  const isWaiting = useRef(false);
  useEffect(() => {
    if (isFirstRun) isWaiting.current = true;
    if (!isThere || !isWaiting.current) return;
    isWaiting.current = false;
    void attempt(() =>
      goOnceAnswered(call("messages.list", { limit: 1 }), ({ items: [first] }) =>
        first === undefined || usePlace.getState().path.length > 0
          ? null
          : { view: "live", path: [first.id] },
      ),
    );
  }, [isFirstRun, isThere, attempt]);
}

/**
 * The track that leads through a stage, or the siding that leaves it; one that ends in a buffer is
 * an end.
 */
const stages: readonly { state: StateName; isSiding: boolean; track: string }[] = [
  { state: "received", isSiding: false, track: "M12 6H2000" },
  { state: "rejected", isSiding: true, track: "M0 6H2000M2 6c10 0 8 8 18 8h30M50 10v8" },
  { state: "filtered", isSiding: true, track: "M0 6H2000M2 6c10 0 8 8 18 8h30M50 10v8" },
  { state: "queued", isSiding: false, track: "M0 6H2000" },
  { state: "sending", isSiding: false, track: "M0 6H2000" },
  { state: "waiting", isSiding: true, track: "M0 6H2000M2 6c10 0 8 8 18 8H2000" },
  { state: "delivered", isSiding: false, track: "M0 6H15M0 14H2000" },
  { state: "failed", isSiding: true, track: "M0 14H2000" },
  { state: "expired", isSiding: true, track: "M0 14H50M50 10v8" },
];

type StripProps = {
  /** Undefined: not read yet. */
  messages: AnswerOf<"stats.get">["messages"] | undefined;
  filter: Filter;
  onFilter: (filter: Filter) => void;
};

/**
 * The stages of the pipeline with how many messages are at each, drawn as a yard: each is a filter.
 */
function Strip({ messages, filter, onFilter }: StripProps) {
  const pressed: readonly string[] = filter.values.state ?? [];
  const press = (state: StateName): void => {
    // Received: all of them.
    if (state === "received") onFilter(withValues(filter, "state", []));
    else
      onFilter(
        pressed.includes(state)
          ? withoutValue(filter, "state", state)
          : withValue(filter, "state", state),
      );
  };
  return (
    <div className="strip" role="group" aria-label="Stages, each a filter">
      {stages.map(({ state, isSiding, track }) => {
        const number = state === "received" ? messages?.total : messages?.byState[state];
        const name = `stage ${isSiding ? "siding" : "through"} ${state}${number === 0 || number === undefined ? " zero" : ""}`;
        const words = number === undefined ? "not known" : count(number);
        return (
          <button
            key={state}
            type="button"
            className={name}
            aria-pressed={state === "received" ? undefined : pressed.includes(state)}
            title={state === "received" ? `${words} received; all states` : `${words} ${state}`}
            onClick={() => press(state)}
          >
            <svg className="track" aria-hidden="true">
              <path d={track} />
            </svg>
            <StateGlyph state={state} />
            <b>{number === undefined ? "–" : shortCount(number)}</b> {state}
          </button>
        );
      })}
    </div>
  );
}
