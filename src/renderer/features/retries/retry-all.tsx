/**
 * Retry all that match: how many first, then how far, then whether the rest may still be cancelled.
 */

import { useEffect, useState } from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
import type { DeliveryState } from "../../../domain/states.ts";
import { Button } from "../../kit/controls.tsx";
import { Dialog } from "../../kit/floats.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { useAction } from "../../kit/use-action.ts";
import { count } from "../../kit/words.ts";
import { useLive } from "../../stores/live-data.ts";
import { call } from "../../transport/transport.ts";

type Props = {
  state: DeliveryState;
  destinationId: string | null;
  destinationName: string | null;
  total: number;
};
type Job = AnswerOf<"jobs.get">;

const deliveries = (n: number): string => (n === 1 ? "1 delivery" : `${count(n)} deliveries`);

export function RetryAll({ state, destinationId, destinationName, total }: Props) {
  const [isOpen, setOpen] = useState(false);
  const [counted, setCounted] = useState<number | null>(null);
  const [jobId, setJobId] = useState<string | null>(null);
  const { problem, run, attempt } = useAction();
  const job = useLive("jobs.get", jobId === null ? null : { id: jobId }).answer;
  const isRunning = jobId !== null && (job === undefined || job.state === "running");
  const filter = { state, ...(destinationId === null ? {} : { destinationId }) };

  const ask = (): void => {
    setOpen(true);
    if (isRunning) return;
    setJobId(null);
    setCounted(null);
    attempt(async () => {
      const answer = await call("deliveries.retryAll", { filter, dryRun: true });
      setCounted(answer.count);
    });
  };
  const retry = (): void =>
    run(async () => {
      const answer = await call("deliveries.retryAll", { filter });
      if ("id" in answer) setJobId(answer.id);
    });
  const cancelRest = (id: string): void => run(() => call("jobs.cancel", { id }), "cancel");

  // Another filter is another question.
  useEffect(() => {
    if (!isRunning) setOpen(false);
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- only the filter asks again
  }, [state, destinationId]);

  const close = (): void => setOpen(false);
  const closing = (
    <Button look="primary" onClick={close}>
      Close
    </Button>
  );
  return (
    <>
      <Button look="primary" icon="retries" disabled={total === 0 && !isRunning} onClick={ask}>
        {isRunning && job !== undefined
          ? `Retrying ${count(job.done)} of ${count(job.total)}`
          : `Retry ${count(total)} now`}
      </Button>
      <Dialog
        open={isOpen}
        onClose={close}
        title={
          job === undefined
            ? counted === null
              ? "Counting deliveries"
              : `Retry ${deliveries(counted)} now?`
            : titleOf(job)
        }
        actions={
          jobId === null ? (
            <>
              <Button onClick={close}>Cancel</Button>
              <Button look="primary" disabled={counted === null || counted === 0} onClick={retry}>
                Retry {counted === null ? "" : count(counted)} now
              </Button>
            </>
          ) : isRunning ? (
            <Button onClick={() => cancelRest(jobId)}>Cancel the rest</Button>
          ) : (
            closing
          )
        }
      >
        {job === undefined ? (
          <p>
            All deliveries that match <code>state:{state}</code>
            {destinationName === null ? "" : " at "}
            {destinationName === null ? null : <bdi>{destinationName.slice(0, 100)}</bdi>}. Each
            gets one round now,{" "}
            {state === "waiting"
              ? "at every webhook that may still be retried."
              : "at all its webhooks, with a new retry window."}
          </p>
        ) : (
          <Progress job={job} />
        )}
        <ProblemText error={problem} />
      </Dialog>
    </>
  );
}

function titleOf({ state, done, total }: Job): string {
  if (state === "running") return `${count(done)} of ${count(total)} requeued`;
  return state === "cancelled"
    ? `Cancelled after ${count(done)} of ${count(total)}`
    : `${deliveries(done)} requeued`;
}

function Progress({ job: { done, total, retried, state } }: { job: Job }) {
  const part = total === 0 ? 100 : (100 * done) / total;
  const moved = done - retried;
  return (
    <>
      <div
        className="progress"
        role="progressbar"
        aria-label="Deliveries requeued"
        aria-valuemin={0}
        aria-valuemax={total}
        aria-valuenow={done}
      >
        <i style={{ "--p": `${part}%` } as React.CSSProperties} />
      </div>
      <p className="retries-progress" role="status">
        {count(retried)} queued for a round now
        {moved > 0 ? `, ${count(moved)} had already changed state` : ""}
        {state === "cancelled" ? ". The rest are unchanged." : "."}
      </p>
    </>
  );
}
