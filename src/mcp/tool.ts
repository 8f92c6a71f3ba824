/**
 * What a tool is, and what all of them are given. A tool calls the control API in the same process,
 * so that it can do nothing that a script could not, and answers in a few lines.
 */

import { z } from "zod";
import { reporting, sentenceOf } from "../contract/issues.ts";
import type { ChangeFeed } from "../engine/pipeline.ts";
import { startTimer } from "../engine/real-time.ts";
import { CallRefused, type ScenarioPipeline } from "../scenarios/run/pipeline.ts";
import { Answer, quoted } from "./answer.ts";
import type { ListedTool, Toolbox } from "./protocol.ts";

export type ToolContext = {
  call: ScenarioPipeline["call"];
  changes: Pick<ChangeFeed, "subscribe">;
  /** Aborted when nobody waits for the answer any more. */
  caller: AbortSignal;
};

export type Tool = {
  name: string;
  title: string;
  description: string;
  schema: z.ZodObject;
  /** What it does to the configuration and the messages. */
  effect: "reads" | "changes" | "deletes";
  run(input: never, context: ToolContext): Promise<Answer>;
};

export function defineTool<Schema extends z.ZodObject>(
  tool: Omit<Tool, "schema" | "run"> & {
    schema: Schema;
    run(input: z.output<Schema>, context: ToolContext): Promise<Answer>;
  },
): Tool {
  return tool;
}

export function createToolbox({
  tools,
  context,
  report,
}: {
  tools: readonly Tool[];
  context: Omit<ToolContext, "caller">;
  report: (error: unknown) => void;
}): Toolbox {
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  return {
    list: tools.map(listed),
    call(name, input, caller) {
      const tool = byName.get(name);
      return tool === undefined ? null : run(tool, input, { ...context, caller }, report);
    },
  };
}

function listed({ name, title, description, schema, effect }: Tool): ListedTool {
  return {
    name,
    title,
    description,
    inputSchema: z.toJSONSchema(schema, { io: "input" }),
    annotations: {
      readOnlyHint: effect === "reads",
      destructiveHint: effect === "deletes",
      openWorldHint: false,
    },
  };
}

/** What the caller can mend is an answer, so that a model reads it; anything else is reported. */
async function run(
  tool: Tool,
  input: unknown,
  context: ToolContext,
  report: (error: unknown) => void,
): Promise<Answer> {
  if (isTooDeep(input)) return refused("invalid", "The input is nested too deeply.");
  const checked = tool.schema.safeParse(input, reporting);
  if (!checked.success)
    return refused("invalid", sentenceOf(checked.error.issues).replace("The body", "The input"));
  try {
    return await tool.run(checked.data as never, context);
  } catch (error) {
    if (error instanceof CallRefused) return refused(error.problem.code, error.message);
    report(error);
    return refused("internal", "Hookyard has a bug. Standard error has the details.");
  }
}

/** Tools write what they are given as JSON, which ends with the stack. */
function isTooDeep(input: unknown): boolean {
  try {
    JSON.stringify({ batch: [[input]] });
    return false;
  } catch {
    return true;
  }
}

/** The sentence may repeat what the caller or somebody else wrote. */
export function refused(code: string, sentence: string): Answer {
  const answer = new Answer().say(`Refused: ${code}.`).data([quoted(sentence, 600)]);
  answer.isError = true;
  return answer;
}

/**
 * What `look` finds, or null at the timeout or when the caller leaves. It looks again whenever
 * something changed.
 */
export async function waitFor<Found>(
  { changes, caller }: Pick<ToolContext, "changes" | "caller">,
  timeoutMs: number,
  look: () => Promise<Found | null>,
): Promise<Found | null> {
  let wake = (): void => undefined;
  let isOver = caller.aborted;
  let hasChanged = false;
  const end = (): void => {
    isOver = true;
    wake();
  };
  const unsubscribe = changes.subscribe(() => {
    hasChanged = true;
    wake();
  });
  const timer = startTimer(timeoutMs, end);
  caller.addEventListener("abort", end);
  try {
    for (;;) {
      hasChanged = false;
      const found = await look();
      if (found !== null || isOver) return found;
      if (!hasChanged) await new Promise<void>((resolve) => (wake = resolve));
      if (isOver) return await look();
    }
  } finally {
    unsubscribe();
    timer.cancel();
    caller.removeEventListener("abort", end);
  }
}
