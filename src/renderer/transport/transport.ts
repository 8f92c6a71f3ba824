/**
 * The inspector's whole view of its host: calls of the contract, and a stream of what changed. One
 * implementation per host (`http.ts`, `port.ts`), chosen in `main.tsx`; nothing else in the
 * renderer knows which.
 */

import type { AnswerOf, CallName, InputOf } from "../../contract/contract.ts";
import { masked, unmasked } from "./secrets.ts";
import type { ChangeAnswer } from "../../contract/events.ts";
import { CallError } from "./call-error.ts";

export type Change = ChangeAnswer;

export type Watcher = {
  onChanges(changes: Change[]): void;
  /** Changes were missed: everything must be requested again. */
  onResync(): void;
  onConnection(state: Connection): void;
};

/** `refused`: the token of this page is not the one that Hookyard expects. */
export type Connection = "connected" | "lost" | "refused";

export type Transport = {
  /** Rejects with a `CallError`. */
  call<Name extends CallName>(name: Name, input: InputOf<Name>): Promise<AnswerOf<Name>>;
  /** Until the answer is called. */
  watch(watcher: Watcher): () => void;
};

/** Gets each refusal of the API, besides the part of the page that made the call. */
type RefusalListener = (name: CallName, input: object, refusal: CallError) => void;

let onRefusal: RefusalListener = () => undefined;

export function listenToRefusals(listener: RefusalListener): void {
  onRefusal = listener;
}

/** Gets what each change of a thing answered: the thing as it is saved. */
type UpdateListener = (kind: string, pipeline: string | null, thing: object) => void;

let onUpdated: UpdateListener = () => undefined;

export function listenToUpdates(listener: UpdateListener): void {
  onUpdated = listener;
}

let current: Transport | null = null;
let beside: string | null = null;

/** Calls and changes are those of this pipeline from now on; null is the user's own. */
export function showPipeline(id: string | null): void {
  beside = id;
}

/** Stories are the own pipeline's, whichever is shown. */
export const pipelineFor = (name: CallName | "events"): string | null =>
  name.startsWith("stories.") ? null : beside;

export function setTransport(transport: Transport): void {
  current = transport;
}

export function transport(): Transport {
  if (current === null) throw new Error("no transport has been set");
  return current;
}

/** What a story's pipeline has not answered yet. */
const unanswered = new Set<Promise<unknown>>();

/** Resolves once a story's pipeline has answered all calls until now: it can be ended then. */
export const whenAnswered = async (): Promise<void> => void (await Promise.allSettled(unanswered));

/** For files, and for what is kept: they have what is hidden on the screen meanwhile. */
export const callUnmasked: Transport["call"] = async (name, input) => {
  const pipeline = pipelineFor(name);
  const answering = transport().call(name, unmasked(input));
  if (pipeline !== null) unanswered.add(answering);
  try {
    const answer = await answering;
    const [kind = "", does] = name.split(".");
    if (does === "update") onUpdated(kind, pipeline, answer);
    return answer;
  } catch (error) {
    if (error instanceof CallError) onRefusal(name, input as object, error);
    throw error;
  } finally {
    unanswered.delete(answering);
  }
};

export const call: Transport["call"] = async (name, input) =>
  masked(await callUnmasked(name, input));
