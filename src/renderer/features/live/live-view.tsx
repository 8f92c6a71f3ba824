/**
 * Live: the stages, the list of messages with its filter, and the message that is open beside it. The place is
 * `#/live`, with the filter in its query, `#/live/<id>` with a message open, and `#/live/<id>/attempts[/<attempt>]`.
 */

import { useCallback, useEffect, useMemo, useRef, useState, type RefObject } from "react";
import { Button } from "../../kit/controls.tsx";
import { SplitPane } from "../../kit/split-pane.tsx";
import { useAction } from "../../kit/use-action.ts";
import { useOffer, type Command } from "../../stores/commands.ts";
import { useKeys, type KeyHandlers } from "../../stores/keys.ts";
import { useLive } from "../../stores/live-data.ts";
import { usePlace } from "../../stores/place.ts";
import { AttemptView } from "../attempt/attempt-view.tsx";
import { MessageDetails } from "../details/message-details.tsx";
import { call } from "../../transport/transport.ts";
import { recordScenario } from "../scenarios/record-scenario.ts";
import { Welcome } from "../welcome/welcome.tsx";
import { exportItems } from "./export-items.ts";
import { FilterBar } from "./filter-bar.tsx";
import { filterOf, formatFilter, isEmpty, noFilter, queryOf, withoutValue, withValue, withValues, type Filter } from "./filter-text.ts";
import { listFilterOf, matchesLater, problemOf } from "./list-filter.ts";
import { copyAsCurl, retryNow } from "./message-commands.ts";
import { MessageList } from "./message-list.tsx";
import { Notice } from "./notice.tsx";
import { Strip } from "./strip.tsx";
import { seenOf } from "./suggestions.ts";
import { useMessageRows } from "./use-message-rows.ts";
import "./live.css";

export function LiveView() {
  const { path, query, go, change } = usePlace();
  const [openId, part, attemptId] = path;
  const filter = useMemo(() => filterOf(query), [query]);
  const stats = useLive("stats.get", {}).answer;
  const sources = useLive("sources.list", {}).answer?.items;
  const [selected, setSelected] = useState(openId ?? null);
  const { problem: refusal, run, attempt, clear } = useAction();
  const input = useRef<HTMLInputElement>(null);
  const grid = useRef<HTMLDivElement>(null);
  const scrollTop = useRef(0);

  const problem = problemOf(filter);
  const listFilter = problem === null && sources !== undefined ? listFilterOf(filter, sources) : null;
  const rows = useMessageRows(
    listFilter === null ? null : { filter: listFilter, matchesLater: matchesLater(filter) },
    stats?.messages.total,
  );
  const names = useMemo(() => new Map(sources?.map(({ id, name }) => [id, name])), [sources]);
  const sourceName = useCallback((id: string) => names.get(id) ?? id, [names]);

  useEffect(() => {
    if (openId !== undefined) setSelected(openId);
  }, [openId]);
  const setFilter = (next: Filter): void => change({ query: queryOf(next) });
  const open = (id: string): void => {
    setSelected(id);
    if (openId === undefined) go({ view: "live", path: [id], query });
    else change({ path: [id], query: { delivery: null } });
  };
  const close = (): void => {
    change({ path: [], query: { delivery: null, tab: null } });
    grid.current?.focus();
  };

  const isAttempt = openId !== undefined && part === "attempts" && attemptId !== undefined;
  const handlers: KeyHandlers = isAttempt ? {} : { "/": () => input.current?.focus() };
  if (!isAttempt && selected !== null) {
    // The details take the focus when they open, and have keys of their own.
    handlers["Enter"] = () => (openId === selected ? document.querySelector<HTMLElement>(".live .details")?.focus() : open(selected));
    if (openId === undefined) {
      handlers["r"] = () => run(() => retryNow(selected), selected);
      handlers["c"] = () => run(() => copyAsCurl(selected), "copy");
    }
  }
  useKeys(handlers);
  useOffer("live", useLiveCommands(input, rows));

  const isFirstRun = stats?.messages.total === 0 && isEmpty(filter) && openId === undefined;
  const awaitsFirst = useRef(false);
  const isThere = (stats?.messages.total ?? 0) > 0;
  useEffect(() => {
    if (isFirstRun) awaitsFirst.current = true;
    if (!isThere || !awaitsFirst.current) return;
    awaitsFirst.current = false;
    attempt(async () => {
      const [first] = (await call("messages.list", { limit: 1 })).items;
      if (first !== undefined) go({ view: "live", path: [first.id] });
    });
  }, [isFirstRun, isThere, go, attempt]);

  if (isAttempt) return <AttemptView messageId={openId} attemptId={attemptId} />;

  const byState = stats?.messages.byState ?? {};
  const readError = rows?.error() ?? null;
  return (
    <>
      {isFirstRun ? null : <h1 className="sr">Live</h1>}
      <Strip
        total={stats?.messages.total ?? 0}
        byState={byState}
        pressed={filter.values.state ?? []}
        onToggle={(state) =>
          setFilter((filter.values.state ?? []).includes(state) ? withoutValue(filter, "state", state) : withValue(filter, "state", state))
        }
        onClear={() => setFilter(withValues(filter, "state", []))}
      />
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
              <section className="list" aria-label="Messages">
                <FilterBar
                  filter={filter}
                  onFilter={setFilter}
                  seen={() => seenOf(rows?.held() ?? [], { byType: stats?.messages.byType ?? {}, byState, sources: sources ?? [] })}
                  input={input}
                  onLeave={() => grid.current?.focus()}
                  rows={rows}
                  exports={exportItems({ selected, filter: listFilter, onRecord: (idsOf) => run(() => recordScenario(idsOf), "record") })}
                />
                <Notice
                  error={problem === null ? (refusal ?? readError) : new Error(problem)}
                  onDismiss={problem === null && readError === null ? clear : null}
                />
                {rows === null ? null : (
                  <MessageList
                    rows={rows}
                    selected={selected}
                    onSelect={(id) => (openId === undefined ? setSelected(id) : open(id))}
                    onPress={open}
                    sourceName={sourceName}
                    scrollTop={scrollTop}
                    grid={grid}
                    nothing={<Nothing filter={filter} onClear={() => setFilter(noFilter)} />}
                  />
                )}
              </section>
            }
            second={openId === undefined ? <div className="no-details" /> : <MessageDetails id={openId} onClose={close} />}
          />
        </div>
      )}
    </>
  );
}

function Nothing({ filter, onClear }: { filter: Filter; onClear: () => void }) {
  return (
    <div className="live-nothing">
      <p>
        No message matches <code>{formatFilter(filter)}</code>. What comes in and matches appears here.
      </p>
      <Button onClick={onClear}>Clear the filter</Button>
    </div>
  );
}

function useLiveCommands(input: RefObject<HTMLInputElement | null>, rows: ReturnType<typeof useMessageRows>): readonly Command[] {
  return useMemo(
    () => [
      {
        id: "live.filter",
        label: "Filter messages",
        icon: "search",
        shortcut: "/",
        run: () => window.requestAnimationFrame(() => input.current?.focus()),
      },
      { id: "live.follow", label: "Follow what comes in", icon: "up", shortcut: "f", run: () => rows?.follow() },
    ],
    [input, rows],
  );
}
