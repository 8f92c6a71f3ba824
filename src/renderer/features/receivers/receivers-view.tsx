/**
 * Check a receiver: what to check, the score, the checks, and one of them with its proof. The place
 * is `#/receivers/<run>/<check>`; a webhook's menu leads to `#/receivers?destination=…&webhook=…`.
 */

import { useEffect, useRef } from "react";
import type { ReceiverCheck } from "../../../contract/checks.ts";
import { EmptyState } from "../../kit/empty-state.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { SplitPane } from "../../kit/split-pane.tsx";
import { useAction } from "../../kit/use-action.ts";
import { type KeyHandlers, useKeys } from "../../stores/keys.ts";
import { useLive, useOnce } from "../../stores/live-data.ts";
import { goOnceAnswered, usePlace } from "../../stores/place.ts";
import { call } from "../../transport/transport.ts";
import { useOwnScenarios } from "../scenarios/own-scenarios.ts";
import { inputOf, urlToRepeat } from "./check-draft.ts";
import { changeForm, CheckForm, useCheckForm, useWebhookOfPlace } from "./check-form.tsx";
import { CheckList, ScoreLine } from "./check-list.tsx";
import { countOf, findingBeside, findingsOf, isOver } from "./check-words.ts";
import { CheckFoot, OpenCheck } from "./open-check.tsx";
import "./receivers.css";

/** Runs whose first failed check has been opened, here or by the user: it happens once. */
const openedOnce = new Set<string>();

export function ReceiversView() {
  const { path, query, change } = usePlace();
  const [id, open] = path;
  const { answer, error } = useLive("checks.list", {});
  const { problem, isBusy, run } = useAction();
  useWebhookOfPlace();

  const isPrefilled = useCheckForm(({ url }) => url !== "");
  const isFromWebhook = query["destination"] !== undefined;
  const check = answer?.items.find((each) => (id === undefined ? !isFromWebhook : each.id === id));
  useEffect(() => {
    if (check !== undefined && !isPrefilled && !isFromWebhook)
      changeForm({ url: urlToRepeat(check.url) });
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- an emptied field stays empty
  }, [check?.id]);

  const start = (): void =>
    run("start", () =>
      goOnceAnswered(call("checks.start", inputOf(useCheckForm.getState())), ({ id }) => ({
        view: "receivers",
        path: [id],
      })),
    );
  const isRunning = check?.state === "running";
  const stop = (): void =>
    check === undefined
      ? undefined
      : run(`stop ${check.id}`, () => call("checks.stop", { id: check.id }));

  return (
    <div className="receivers">
      <CheckForm isRunning={isRunning} isBusy={isBusy} onStart={start} onStop={stop} />
      <ProblemText error={problem ?? (answer === undefined ? error : null)} />
      {check === undefined ? (
        answer === undefined ? null : (
          <Nothing isForgotten={id !== undefined} />
        )
      ) : (
        <Run
          key={check.id}
          check={check}
          open={open}
          onOpen={(next) => {
            openedOnce.add(check.id);
            change({ path: [check.id, next] });
          }}
          onStart={start}
          onStop={stop}
          onExport={(format, save) => run(`export ${check.id} as ${format}`, save)}
        />
      )}
    </div>
  );
}

function Nothing({ isForgotten }: { isForgotten: boolean }) {
  return (
    <EmptyState
      label="No check"
      title={isForgotten ? "This check is no longer in memory" : "Is your receiver right?"}
    >
      Enter the URL of a receiver that may keep or forget several hundred messages, and press Start.
      Hookyard sends right and wrong requests, copies, and retries after lost answers, and says what
      to change. With the shared secret it checks signatures; with a URL that lists what the
      receiver has done, it finds what was done twice. If the receiver expects something other than
      an order, paste one of its messages.
    </EmptyState>
  );
}

type RunProps = {
  check: ReceiverCheck;
  open: string | undefined;
  onOpen: (id: string) => void;
  onStart: () => void;
  onStop: () => void;
  onExport: (format: string, save: () => Promise<void>) => void;
};

function Run({ check, open, onOpen, onStart, onStop, onExport }: RunProps) {
  const { id, state, problem, checks } = check;
  const isRunning = state === "running";
  const line = checks.find((each) => each.id === open);
  const isThere = line !== undefined && isOver(line.state);
  const result = useOnce("checks.result", isThere ? { id, check: line.id } : null).answer;
  const findings = findingsOf(check);
  const firstFail = checks.find((each) => each.state === "fail")?.id;
  const pane = useRef<HTMLDivElement>(null);

  useEffect(() => {
    if (firstFail !== undefined && open === undefined && !openedOnce.has(id)) onOpen(firstFail);
  }, [firstFail, open, id, onOpen]);
  // Another check is read from its beginning.
  useEffect(() => {
    pane.current?.scrollTo(0, 0);
  }, [open]);

  const walk = (by: 1 | -1): void => {
    const next = findingBeside(findings, open, by);
    if (next !== undefined) onOpen(next);
  };
  const go = usePlace((place) => place.go);
  const scenario = result?.scenario ?? null;
  const openScenario = (): void => {
    if (scenario !== null)
      go({ view: "scenarios", path: ["own", useOwnScenarios.getState().add(scenario)] });
  };
  const keys: KeyHandlers = { "[": () => walk(-1), "]": () => walk(1) };
  if (isRunning) keys["Escape"] = onStop;
  else keys["a"] = onStart;
  if (scenario !== null) keys["r"] = openScenario;
  useKeys(keys);

  return (
    <>
      <ScoreLine check={check} onExport={onExport} />
      <SplitPane
        name="receivers"
        label="Width of the open check"
        initial="calc(100% - clamp(220px, 31%, 409px))"
        min={400}
        max={1400}
        first={
          <section className="pane" aria-label="Checks">
            <div className="pane-body">
              {problem === null ? null : <ProblemText error={new Error(problem)} />}
              <CheckList check={check} open={open} onOpen={onOpen} />
            </div>
          </section>
        }
        second={
          <section className="pane" aria-label="The open check">
            <div className="pane-body" ref={pane} role="group" aria-label="Result" tabIndex={0}>
              {result === undefined ? (
                <p className="check-summary muted">{summaryOf(check)}</p>
              ) : (
                <OpenCheck result={result} />
              )}
            </div>
            <CheckFoot
              findings={findings}
              open={open}
              onWalk={walk}
              onScenario={scenario === null ? null : openScenario}
              onAgain={isRunning ? null : onStart}
            />
          </section>
        }
      />
    </>
  );
}

function summaryOf(check: ReceiverCheck): string {
  const { state, checks } = check;
  const failed = countOf(check, "fail");
  if (failed > 0) return "Choose a check at the left.";
  if (state === "running") return "No check has failed so far. The first that fails opens here.";
  if (state === "unusable") return "The check could not be finished.";
  return checks.some((line) => isOver(line.state))
    ? "No check failed."
    : "No check ended before the stop.";
}
