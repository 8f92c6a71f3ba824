/** The stand-in's end of the wire to the test. */

import type { FromStandIn, Question, ToStandIn } from "./wire.ts";

export type Told = Extract<ToStandIn, { tell: string }>;

const toldListeners = new Set<(message: Told) => void>();
let responder: ((question: Question) => Promise<unknown>) | null = null;

export function say(message: FromStandIn): void {
  process.send?.(message);
}

/** Writes a call down. */
export function called(name: string, ...values: unknown[]): void {
  say({ say: "called", name, values: JSON.parse(JSON.stringify(values)) as unknown[] });
}

export function onTold(listener: (message: Told) => void): void {
  toldListeners.add(listener);
}

export function respondTo(respond: (question: Question) => Promise<unknown>): void {
  responder = respond;
}

process.on("message", (message: ToStandIn) => {
  if ("tell" in message) {
    for (const listener of toldListeners) listener(message);
    return;
  }
  responder?.(message.question).then(
    (answer) => say({ id: message.id, answer }),
    (error: unknown) => say({ id: message.id, answer: { error: String(error) } }),
  );
});
