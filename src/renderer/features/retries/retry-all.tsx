/**
 * Retry all that match, or send a period again: how many first, then how far, then whether the rest
 * may still be cancelled.
 */

import { type ReactNode, useEffect, useRef, useState } from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
import { Button } from "../../kit/controls.tsx";
import { Dialog } from "../../kit/floats.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { useAction } from "../../kit/use-action.ts";
import { count, some } from "../../kit/words.ts";
import { useKeys } from "../../stores/keys.ts";
import { useLive } from "../../stores/live-data.ts";
import { call } from "../../transport/transport.ts";

type Job = AnswerOf<"jobs.get">;

export type JobWords = {
  counting: string;
  question: (n: number) => string;
  /** On the button; null while it counts. */
  start: (n: number | null) => string;
  running: (done: number, total: number) => string;
  cancelled: (done: number, total: number) => string;
  done: (n: number) => string;
  progress: string;
  /** `others` were left as they are. */
  result: (retried: number, others: number) => string;
};

const deliveries = (n: number): string => some(n, "delivery", "deliveries");

const retryWords: JobWords = {
  counting: "Counting deliveries",
  question: (n) => `Retry ${deliveries(n)} now?`,
  start: (n) => `Retry ${n === null ? "" : count(n)} now`,
  running: (done, total) => `${count(done)} of ${count(total)} requeued`,
  cancelled: (done, total) => `Cancelled after ${count(done)} of ${count(total)}`,
  done: (n) => `${deliveries(n)} requeued`,
  progress: "Deliveries requeued",
  result: (retried, others) =>
    `${count(retried)} queued for a round now${others > 0 ? `, ${count(others)} had already changed state` : ""}`,
};

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
  words?: JobWords;
  /** What they are, and what each of them gets. */
  children: ReactNode;
};

export function RetryAll({
  question,
  request,
  label,
  shortcut,
  look = "primary",
  small = false,
  disabled,
  words = retryWords,
  children,
}: Props) {
  const [isOpen, setOpen] = useState(false);
  const [counted, setCounted] = useState<number | null>(null);
  /** How often it was asked: the count of an earlier question can come after that of a later one. */
  const asked = useRef(0);
  const [jobId, setJobId] = useState<string | null>(null);
  const { problem, run, attempt } = useAction();
  const { answer: job, error } = useLive("jobs.get", jobId === null ? null : { id: jobId });
  const isOpenEnded = jobId !== null && (job === undefined || job.state === "running");
  /** Jobs end with Hookyard, which does not know them when it is started again. */
  const isLost = isOpenEnded && error?.status === 404;
  const isRunning = isOpenEnded && !isLost;

  const ask = (): void => {
    setOpen(true);
    if (isRunning) return;
    setJobId(null);
    setCounted(null);
    asked.current += 1;
    const now = asked.current;
    void attempt(async () => {
      const answer = await request(true);
      if (now === asked.current) setCounted(answer.count);
    });
  };
  const retry = (): void =>
    run("retry", async () => {
      const answer = await request(false);
      if ("id" in answer) setJobId(answer.id);
    });
  const cancelRest = (id: string): void => run(`cancel ${id}`, () => call("jobs.cancel", { id }));

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
        {isRunning && job !== undefined ? words.running(job.done, job.total) : label}
      </Button>
      <Dialog
        open={isOpen}
        onClose={close}
        title={
          isLost
            ? "Hookyard was restarted, which ended the job"
            : job !== undefined
              ? titleOf(job, words)
              : counted === null
                ? words.counting
                : words.question(counted)
        }
        actions={
          jobId === null ? (
            <>
              <Button onClick={close}>Cancel</Button>
              <Button look="primary" disabled={counted === null || counted === 0} onClick={retry}>
                {words.start(counted)}
              </Button>
            </>
          ) : isRunning ? (
            <Button onClick={() => cancelRest(jobId)}>Cancel the rest</Button>
          ) : (
            closing
          )
        }
      >
        {isLost ? (
          <p>What it had not done by then is unchanged. Close this to ask again.</p>
        ) : job === undefined ? (
          <p>{children}</p>
        ) : (
          <Progress job={job} words={words} />
        )}
        <ProblemText error={problem} />
      </Dialog>
    </>
  );
}

function titleOf({ state, done, total }: Job, words: JobWords): string {
  if (state === "running") return words.running(done, total);
  return state === "cancelled" ? words.cancelled(done, total) : words.done(done);
}

function Progress({ job: { done, total, retried, state }, words }: { job: Job; words: JobWords }) {
  const part = total === 0 ? 100 : (100 * done) / total;
  return (
    <>
      <div
        className="progress"
        role="progressbar"
        aria-label={words.progress}
        aria-valuemin={0}
        aria-valuemax={total}
        aria-valuenow={done}
      >
        <i style={{ "--p": `${part}%` } as React.CSSProperties} />
      </div>
      <p
        className="retries-progress"
        role="status"
        aria-live={state === "running" ? "off" : "polite"}
      >
        {words.result(retried, done - retried)}
        {state === "cancelled" ? ". The rest are unchanged." : "."}
      </p>
    </>
  );
}
