/**
 * The program of a test endpoint: which step serves which request. It knows no sockets and no time.
 *
 * A request goes to the first step, in order, that is not used up and takes it: its message
 * matches, and the draw falls into its chance. A step that does not take it is left as it was and
 * passes it on, so only requests that match move a program forward. A step is
 *
 *   open       it has served fewer requests than its `times` (when left out 1, or as many as it
 *              holds)
 *   used up    it has served that many
 *
 * Never used up are a step with a `chance` and without `times` (a share of whatever comes), and the
 * last step under `repeat-last`. Under `start-over` all steps are open again as soon as every step
 * is used up.
 */

import type { Step, StepMatch, TestEndpoint } from "./configuration.ts";
import type { MessageType } from "./states.ts";

/** What a received payload says about its message; null where it does not. */
export type MessageFacts = {
  type: MessageType | null;
  messageId: string | null;
  event: string | null;
  userId: string | null;
};

/** Where a program stands. */
export type ProgramPosition = {
  /**
   * The step that serves the next request which matches it, counted from 0; null when the program
   * has no step left.
   */
  step: number | null;
  /** How many requests that step has served. */
  served: number;
  /** Requests received since the last rewind. */
  received: number;
};

export type Offer = {
  /** Asked only of a step that has a match. */
  fits: (match: StepMatch) => boolean;
  /** A number in [0, 1) for one step and the nth request (from 1) since the last rewind. */
  draw: (step: number, nth: number) => number;
};

export class Program {
  #steps: readonly Step[];
  #after: TestEndpoint["after"];
  #served: number[];
  #received = 0;

  constructor(steps: readonly Step[], after: TestEndpoint["after"]) {
    this.#steps = steps;
    this.#after = after;
    this.#served = steps.map(() => 0);
  }

  /**
   * The index of the step that serves this request, which is counted by that; null when no step
   * takes it.
   */
  serve(offer: Offer): number | null {
    this.#received += 1;
    const index = this.#steps.findIndex((step, at) => this.#takes(step, at, offer));
    if (index === -1) return null;
    this.#served[index] = this.#servedBy(index) + 1;
    if (this.#isOver()) this.#served.fill(0);
    return index;
  }

  position(): ProgramPosition {
    const index = this.#steps.findIndex((_, at) => !this.#isUsedUp(at));
    return {
      step: index === -1 ? null : index,
      served: index === -1 ? 0 : this.#servedBy(index),
      received: this.#received,
    };
  }

  rewind(): void {
    this.#served.fill(0);
    this.#received = 0;
  }

  /** The new steps start at their first; what was received stays counted. */
  replaceSteps(steps: readonly Step[]): void {
    this.#steps = steps;
    this.#served = steps.map(() => 0);
  }

  continueWith(after: TestEndpoint["after"]): void {
    this.#after = after;
    if (this.#isOver()) this.#served.fill(0);
  }

  #takes(step: Step, at: number, offer: Offer): boolean {
    if (this.#isUsedUp(at)) return false;
    if (step.match !== undefined && !offer.fits(step.match)) return false;
    return step.chance === undefined || offer.draw(at, this.#received) < step.chance;
  }

  #isUsedUp(at: number): boolean {
    const limit = limitOf(this.#steps, at, this.#after);
    return limit !== null && this.#servedBy(at) >= limit;
  }

  #isOver(): boolean {
    if (this.#after !== "start-over") return false;
    const limited = this.#steps.flatMap((_, at) =>
      limitOf(this.#steps, at, this.#after) === null ? [] : [at],
    );
    return limited.length > 0 && limited.every((at) => this.#isUsedUp(at));
  }

  #servedBy(at: number): number {
    return this.#served[at] ?? 0;
  }
}

/** How many requests the step at that place serves; null for any number. */
export function limitOf(
  steps: readonly Step[],
  at: number,
  after: TestEndpoint["after"],
): number | null {
  const step = steps[at];
  if (step === undefined) return 0;
  if (after === "repeat-last" && at === steps.length - 1) return null;
  return step.times ?? (step.chance === undefined ? (step.hold ?? 1) : null);
}

export function matches(match: StepMatch, message: MessageFacts): boolean {
  if (match.type !== undefined && match.type !== message.type) return false;
  if (match.event !== undefined && match.event !== message.event) return false;
  if (match.messageId !== undefined && match.messageId !== message.messageId) return false;
  return match.userId === undefined || match.userId === message.userId;
}
