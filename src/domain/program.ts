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
 * is used up. A program that counts for each message begins at its first step for each of them.
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

/** Where a program stands, to go on from there later. */
export type ProgramState = {
  served: number[];
  received: number;
  /** By messageId; only of a program that counts for each message. */
  messages: [messageId: string, served: number[]][];
};

/** Of a program that counts for each message; the oldest of more begin again. */
const maxMessages = 10_000;

export class Program {
  #steps: readonly Step[];
  #after: TestEndpoint["after"];
  #perMessage: boolean;
  #served: number[];
  /** The one that was served last is the last. */
  #messages = new Map<string, number[]>();
  #received = 0;

  constructor(steps: readonly Step[], after: TestEndpoint["after"], perMessage = false) {
    this.#steps = steps;
    this.#after = after;
    this.#perMessage = perMessage;
    this.#served = steps.map(() => 0);
  }

  /**
   * The index of the step that serves this request, which is counted by that; null when no step
   * takes it. `messageId` is asked only of a program that counts for each message.
   */
  serve(offer: Offer, messageId: () => string | null = () => null): number | null {
    this.#received += 1;
    const served = this.#perMessage ? this.#servedTo(messageId()) : this.#served;
    const index = this.#steps.findIndex((step, at) => this.#takes(served, step, at, offer));
    if (index === -1) return null;
    served[index] = (served[index] ?? 0) + 1;
    if (this.#isOver(served)) served.fill(0);
    return index;
  }

  /** Of a program that counts for each message: where a new one stands. */
  position(): ProgramPosition {
    const index = this.#steps.findIndex((_, at) => !this.#isUsedUp(this.#served, at));
    return {
      step: index === -1 ? null : index,
      served: index === -1 ? 0 : (this.#served[index] ?? 0),
      received: this.#received,
    };
  }

  state(): ProgramState {
    return { served: this.#served, received: this.#received, messages: [...this.#messages] };
  }

  /** Of the same steps. */
  restore({ served, received, messages }: ProgramState): void {
    if (served.length !== this.#steps.length) return;
    this.#served = [...served];
    this.#received = received;
    this.#messages = new Map(messages);
  }

  rewind(): void {
    this.#served.fill(0);
    this.#messages.clear();
    this.#received = 0;
  }

  /** The new steps start at their first; what was received stays counted. */
  replaceSteps(steps: readonly Step[]): void {
    this.#steps = steps;
    this.#served = steps.map(() => 0);
    this.#messages.clear();
  }

  continueWith(after: TestEndpoint["after"], perMessage = false): void {
    this.#after = after;
    if (this.#perMessage !== perMessage) {
      this.#messages.clear();
      this.#served.fill(0);
    }
    this.#perMessage = perMessage;
    for (const served of [this.#served, ...this.#messages.values()])
      if (this.#isOver(served)) served.fill(0);
  }

  #servedTo(messageId: string | null): number[] {
    if (messageId === null) return this.#served;
    const served = this.#messages.get(messageId) ?? this.#steps.map(() => 0);
    this.#messages.delete(messageId);
    this.#messages.set(messageId, served);
    if (this.#messages.size > maxMessages) {
      const [oldest] = this.#messages.keys();
      if (oldest !== undefined) this.#messages.delete(oldest);
    }
    return served;
  }

  #takes(served: readonly number[], step: Step, at: number, offer: Offer): boolean {
    if (this.#isUsedUp(served, at)) return false;
    if (step.match !== undefined && !offer.fits(step.match)) return false;
    return step.chance === undefined || offer.draw(at, this.#received) < step.chance;
  }

  #isUsedUp(served: readonly number[], at: number): boolean {
    const limit = limitOf(this.#steps, at, this.#after);
    return limit !== null && (served[at] ?? 0) >= limit;
  }

  #isOver(served: readonly number[]): boolean {
    if (this.#after !== "start-over") return false;
    const limited = this.#steps.flatMap((_, at) =>
      limitOf(this.#steps, at, this.#after) === null ? [] : [at],
    );
    return limited.length > 0 && limited.every((at) => this.#isUsedUp(served, at));
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
