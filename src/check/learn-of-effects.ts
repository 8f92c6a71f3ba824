/** How late the effects of a receiver show, and how often they show a message. */

import { monotonic } from "../engine/real-time.ts";
import { isAccepted } from "../receiver/request.ts";
import { Probe, shownWithinMs, type Receiver } from "./probe.ts";

/** An effect that shows sooner was there before the first question. */
const atOnceMs = 250;

/** Of the first message, which was sent once. Rejects with `EffectsLost`. */
export async function learnOfEffects(receiver: Receiver, first: string): Promise<void> {
  const probe = new Probe("answers", receiver);
  /** How long it takes until they show a message; 0 for one that they show at once. */
  const showAfter = async (token: string): Promise<number | null> => {
    const began = monotonic();
    const isDone = await probe.isDone(token);
    const took = monotonic() - began;
    return !isDone ? null : took < atOnceMs ? 0 : took;
  };
  const shownAfterMs = await showAfter(first);
  receiver.first = { token: first, count: 0 };
  if (shownAfterMs === null) return;
  receiver.effectMs = shownAfterMs;
  // A worker that looks every second may have been about to: the next message waits longest.
  const next = probe.token();
  if (shownAfterMs > 0 && isAccepted(await probe.deliver(probe.message(next))))
    receiver.effectMs = Math.max(shownAfterMs, (await showAfter(next)) ?? shownWithinMs);
  // It was there a moment ago, even if it has dropped off a page.
  receiver.first.count = Math.max(1, (await probe.effects([first])).get(first)?.count ?? 0);
}
