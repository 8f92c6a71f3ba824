/**
 * Retry all that match: how many first, then how far, then whether the rest may still be cancelled.
 */

import { type ReactNode, useEffect, useState } from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
import { Button } from "../../kit/controls.tsx";
import { Dialog } from "../../kit/floats.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { useAction } from "../../kit/use-action.ts";
import { count } from "../../kit/words.ts";
import { useKeys } from "../../stores/keys.ts";
import { useLive } from "../../stores/live-data.ts";
import { call } from "../../transport/transport.ts";

type Job = AnswerOf<"jobs.get">;

type Props = {
  /** What is retried; another one is another question. */
  question: string;
  /** Counts, or starts a job. */
  request: (dryRun: boolean) => Promise<Job | { count: number }>;
  /** On the button, while no job runs. */
  label: string;
  /** A key that does the same. */
  shortcut?: string;
  look?: "primary" | "outlined";
  small?: boolean;
  disabled: boolean;
  /** What they are, and what each of them gets. */
  children: ReactNode;
};

const deliveries = (n: number): string => (n === 1 ? "1 delivery" : `${count(n)} deliveries`);

export function RetryAll({
  question,
  request,
  label,
  shortcut,
  look = "primary",
  small = false,
  disabled,
  children,
}: Props) {
  const [isOpen, setOpen] = useState(false);
  const [counted, setCounted] = useState<number | null>(null);
  const [jobId, setJobId] = useState<string | null>(null);
  const { problem, run, attempt } = useAction();
  const job = useLive("jobs.get", jobId === null ? null : { id: jobId }).answer;
  const isRunning = jobId !== null && (job === undefined || job.state === "running");

  const ask = (): void => {
    setOpen(true);
    if (isRunning) return;
    setJobId(null);
    setCounted(null);
    attempt(async () => {
      setCounted((await request(true)).count);
    });
  };
  const retry = (): void =>
    run(async () => {
      const answer = await request(false);
      if ("id" in answer) setJobId(answer.id);
    });
  const cancelRest = (id: string): void => run(() => call("jobs.cancel", { id }), "cancel");

  // Another filter is another question.
  useEffect(() => {
    if (!isRunning) setOpen(false);
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- only another question closes it
  }, [question]);

  useKeys(shortcut === undefined ? {} : { [shortcut]: ask });

  const close = (): void => setOpen(false);
  const closing = (
    <Button look="primary" onClick={close}>
      Close
    </Button>
  );
  return (
    <>
      <Button
        look={look}
        small={small}
        icon="retries"
        {...(shortcut === undefined ? {} : { shortcut })}
        disabled={disabled && !isRunning}
        onClick={ask}
      >
        {isRunning && job !== undefined
          ? `Retrying ${count(job.done)} of ${count(job.total)}`
          : label}
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
        {job === undefined ? <p>{children}</p> : <Progress job={job} />}
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
