/**
 * Different messages at the same time. A receiver that confuses them fails any check beside other
 * checks, so it gets all of them one after the other, and `in-time-under-load` says why.
 */

import { askedToWaitMs, isAccepted, isCrash, isRetried } from "../receiver/request.ts";
import { briefOf, did, fail, times, type Outcome } from "./outcome.ts";
import { EffectsLost, type Probe, type Recorded } from "./probe.ts";

const most = 10;
const least = 4;
/** What is lost by chance is not lost every time. */
const rounds = 2;

type Lost = { sent: Recorded[]; refused: Recorded[]; missing: number; repeated: number };

/** A receiver that handles one after the other has the time for so many. */
function crowdOf({ receiver }: Probe): number {
  return Math.max(least, Math.min(most, Math.floor(2_000 / Math.max(1, receiver.usualMs))));
}

async function effectsOf(probe: Probe, sent: readonly Recorded[]): Promise<Omit<Lost, "sent">> {
  // One that is too slow, or limits its messages, confuses nothing.
  const refused = sent.filter(
    (one) => !isAccepted(one) && one.outcome !== "timeout" && askedToWaitMs(one) === null,
  );
  const accepted = sent.filter(isAccepted).flatMap(({ tokens }) => tokens);
  const counts = probe.hasEffects
    ? [...(await probe.effects(accepted, 1, null)).values()].map(({ count }) => count)
    : [];
  return {
    refused,
    missing: counts.filter((count) => count === 0).length,
    repeated: counts.filter((count) => count > 1).length,
  };
}

async function atOnce(probe: Probe): Promise<Lost | null> {
  const tokens = Array.from({ length: crowdOf(probe) }, () => probe.token());
  const sent = await probe.sendTogether(tokens.map((token) => probe.message(token)));
  const lost = await effectsOf(probe, sent);
  return lost.refused.length === 0 && lost.missing === 0 ? null : { ...lost, sent };
}

/** Whether all of as many count, one after the other. Effects are counted from the first of them. */
async function isRightInSequence(probe: Probe): Promise<boolean> {
  const sent: Recorded[] = [];
  const { receiver } = probe;
  for (let left = crowdOf(probe); left > 0; left -= 1)
    sent.push(await probe.send(probe.message(probe.token())));
  const [token] = sent[0]?.tokens ?? [];
  if (receiver.first !== null && receiver.first.count > 0 && token !== undefined)
    receiver.first = { ...receiver.first, token };
  const { refused, missing } = await effectsOf(probe, sent);
  return sent.every(isAccepted) && refused.length === 0 && missing === 0;
}

/** Whether it confuses messages that come at the same time, and none in sequence. */
export async function confusesMessages(probe: Probe): Promise<boolean> {
  const { receiver } = probe;
  const { first } = receiver;
  try {
    for (let round = 1; round <= rounds; round += 1) if (!(await isLost(probe))) return false;
    if (await isRightInSequence(probe)) return true;
  } catch (error) {
    if (!(error instanceof EffectsLost)) throw error;
  }
  receiver.first = first;
  return false;
}

/** What it did before may be lost with the messages, as when a file is written over. */
async function isLost(probe: Probe): Promise<boolean> {
  try {
    return (await atOnce(probe)) !== null;
  } catch (error) {
    if (error instanceof EffectsLost) return true;
    throw error;
  }
}

/** Why a message may be refused or lost only beside others. */
export const shared =
  "It probably shares something between requests that each needs for itself: a variable with the message, an object that computes the signature, a database connection, or a file that each writes as a whole.";

/** Null when none is lost for good: what is answered 5xx, 408 or 429 is sent again. */
export async function checkCrowd(probe: Probe): Promise<Outcome | null> {
  if (probe.receiver.crowds === "have broken it") {
    const [sent] = await probe.sendTogether([
      probe.message(probe.token()),
      probe.message(probe.token()),
    ]);
    if (sent !== undefined && isCrash(sent))
      return fail(
        briefOf(sent),
        `Since several different messages came at the same time, the receiver ${did(sent)} to every message, also to one alone. ${shared}`,
      );
  }
  for (let round = 0; round <= rounds; round += 1) {
    const lost = await atOnce(probe).catch((error: unknown) => {
      if (error instanceof EffectsLost) return "what was there" as const;
      throw error;
    });
    if (lost === null) continue;
    if (lost === "what was there")
      return fail(
        "earlier effects are gone",
        `After several different messages at the same time, the effects no longer show an earlier one. After as many one after the other they did. ${shared}`,
      );
    const { sent, missing, repeated } = lost;
    // What is retried may be a limit of requests at the same time.
    const refused = lost.refused.filter((one) => !isRetried(one));
    const [worst] = refused;
    const crowd = `${sent.length} different messages at the same time`;
    if (worst !== undefined)
      return fail(
        `${briefOf(worst)}, with others`,
        `The receiver ${did(worst)} to ${refused.length} of ${crowd}, and accepted as many one after the other. ${shared} Not every sender sends a message again after a 4xx, so such messages are lost.`,
      );
    if (missing > 0)
      return fail(
        `${missing} of ${sent.length} without effect`,
        `Of ${crowd}, ${missing} took no effect, although they were answered 2xx${repeated === 0 ? "" : `, and ${repeated} took effect more than ${times(1)}`}. As many one after the other took one each. ${shared} Or it drops what is too much for its queue: answer 503 to that.`,
      );
  }
  return null;
}
