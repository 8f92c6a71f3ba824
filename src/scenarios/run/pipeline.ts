/**
 * The pipeline as a scenario sees it: the calls of the contract and nothing else, so that a
 * scenario can run against anything that answers them. The caller of a run starts the pipeline.
 */

import type { AnswerOf, CallName, InputOf } from "../../contract/contract.ts";
import type { Problem } from "../../domain/problem.ts";

export type ScenarioPipeline = {
  /**
   * Rejects with `CallRefused` when the pipeline refuses. `caller` is aborted when nobody waits for
   * the answer any more.
   */
  call<Name extends CallName>(
    name: Name,
    input: InputOf<Name>,
    caller?: AbortSignal,
  ): Promise<AnswerOf<Name>>;
};

/** A pipeline in memory with ports of its own, its clock paused at a time. */
export type StartPipeline = (options: { startAt: number }) => Promise<RunningPipeline>;
export type RunningPipeline = ScenarioPipeline & { stop(): Promise<void> };

export class CallRefused extends Error {
  override name = "CallRefused";
  readonly call: CallName;
  readonly problem: Pick<Problem, "status" | "code" | "data">;

  constructor(call: CallName, { status, code, message, data }: Omit<Problem, "problem">) {
    super(message);
    this.call = call;
    this.problem = data === undefined ? { status, code } : { status, code, data };
  }
}

type PlainCall = (
  name: CallName,
  input: unknown,
  caller?: AbortSignal,
) => Promise<{ status: number; body: unknown }>;

/** Typed calls on top of the plain call of the control API, over any transport. */
export function typedCalls(call: PlainCall): ScenarioPipeline {
  return {
    async call(name, input, caller) {
      const { status, body } = await call(name, input, caller);
      if (status >= 400)
        throw new CallRefused(name, {
          status,
          ...(body as { code: string; message: string; data?: unknown }),
        });
      return body as never;
    },
  };
}
