/**
 * Checks of effects: each message counts once, whatever happens to its requests. They compare what
 * the receiver says it has done with what it was sent.
 */

import type { JsonObject } from "../domain/json.ts";
import { pause } from "../receiver/wire.ts";
import { briefOf, did, fail, pass, times, warn, type Check, type Outcome } from "./outcome.ts";
import type { Effects } from "../receiver/effects.ts";
import { isAccepted, isCrash, saidYes } from "../receiver/request.ts";
import { oldMessageChecks } from "./old-messages.ts";
import type { Probe, Recorded } from "./probe.ts";
import type { HangUpManner } from "../receiver/request-spec.ts";

/** So many messages with a failed request are sent again at a time. */
const retriedAtOnce = 20;

/** Which token took effect other than once; of several the one that did it most often. */
async function wrongly(
  probe: Probe,
  tokens: readonly string[],
): Promise<{ count: number; token: string } | null> {
  const effects = await probe.effects(tokens);
  const wrong = tokens
    .map((token) => ({ token, count: effects.get(token)?.count ?? 0 }))
    .filter(({ count }) => count !== 1);
  wrong.sort((one, other) => other.count - one.count);
  return wrong[0] ?? null;
}

async function checkDuplicate(probe: Probe): Promise<Outcome> {
  const token = probe.token();
  const body = probe.message(token);
  const first = await probe.deliver(body);
  if (!isAccepted(first))
    return fail(briefOf(first), `The receiver ${did(first)} to a valid message.`);
  const second = await probe.deliver(body);
  const wrong = await wrongly(probe, [token]);
  if (wrong !== null && wrong.count > 1)
    return fail(
      `took effect ${times(wrong.count)}`,
      `The same message, sent twice, took effect ${times(wrong.count)}. A sender repeats a message whenever it misses the answer. Remember the messageId in the same transaction as the work.`,
      "idempotency",
    );
  if (wrong !== null)
    return fail(
      "no effect",
      "The message was answered 2xx twice and took no effect. If the first of a run does, the others are taken for its copies: remember the whole messageId, and nothing else.",
      "idempotency",
    );
  const ofUser = probe.receiver.model.isOfUser ? null : await checkSameUser(probe, body, token);
  if (ofUser !== null) return ofUser;
  if (!isAccepted(second))
    return warn(
      briefOf(second),
      `The message took effect once, but the receiver ${did(second)} to its copy, so the sender counts it as failed. Answer 2xx to a message that has been done already.`,
    );
  return pass("one effect");
}

/**
 * Null when a message that has only its id and token in place of those of the first takes effect
 * too, or nothing does any more. Effects may show the user of a message, its token, or both.
 */
async function checkSameUser(probe: Probe, body: string, user: string): Promise<Outcome | null> {
  const { timestamp = null } = JSON.parse(body) as JsonObject;
  const ofUser = (userId: string, token: string): string =>
    probe.message(token, { userId, timestamp });
  const next = probe.token();
  const sent = await probe.deliver(ofUser(user, next));
  const isShown = (effects: ReadonlyMap<string, Effects>): boolean =>
    (effects.get(next)?.count ?? 0) > 0 || (effects.get(user)?.count ?? 0) > 1;
  if (isShown(await probe.effects([user, next], isShown))) return null;
  // Effects that show users only may have one line for each.
  const other = probe.token();
  const sentOfOther = await probe.deliver(ofUser(probe.token(), other));
  if (!(await probe.isDone(other))) return checkSameTime(probe, sentOfOther, other);
  probe.found.delete(user);
  probe.found.set(next, { wanted: 1, found: [] });
  const what = `The receiver ${did(sent)} to a second message of a user, with the same time and event and another messageId`;
  if (isCrash(sent))
    return fail(
      `${briefOf(sent)}, second message of a user`,
      `${what}, three times, and accepted one of another user. A user has more than one message.`,
    );
  return fail(
    "a second message of a user has no effect",
    `${what}, and it took no effect. It treats the message as a copy of the first. Recognise copies by the messageId alone.`,
    "idempotency",
  );
}

/** Null when a message of another time has no effect either. */
async function checkSameTime(probe: Probe, sent: Recorded, token: string): Promise<Outcome | null> {
  const later = probe.token();
  if (!isAccepted(sent) || !isAccepted(await probe.deliver(probe.message(later)))) return null;
  if (!(await probe.isDone(later))) return null;
  probe.found.set(token, { wanted: 1, found: [] });
  return fail(
    "a second message with the same time has no effect",
    `The receiver ${did(sent)} to messages with the same timestamp as one before them, and another messageId, and they took no effect. One with a later timestamp did. It recognises copies by the timestamp, which two messages can share. Recognise them by the messageId alone.`,
    "idempotency",
  );
}

async function checkTogether(probe: Probe): Promise<Outcome> {
  const tokens: string[] = [];
  const { usualMs } = probe.receiver;
  // At the same time, and while the first is being worked on: a gap between looking and remembering
  // shows in one of these.
  const apart = [0, 0, 0, 0, 1, 2, 5, usualMs / 4, usualMs / 2, (usualMs * 3) / 4];
  const send = async (apartMs: number): Promise<void> => {
    const token = probe.token();
    tokens.push(token);
    const body = probe.message(token);
    const sent = await probe.sendAll(body, {
      copies: apartMs === 0 ? 3 : 2,
      apartMs: Math.min(Math.round(apartMs), 1_000),
    });
    if (!sent.some(isAccepted)) await probe.deliver(body);
  };
  await probe.inLanes(3, apart, send);
  const wrong = await wrongly(probe, tokens);
  if (wrong === null) return pass("one effect");
  if (wrong.count === 0)
    return fail(
      "no effect",
      "Of two copies of a message at the same time, none took effect, although one was answered 2xx.",
      "idempotency",
    );
  return fail(
    `took effect ${times(wrong.count)}`,
    `Copies of one message that arrived at the same time took effect ${times(wrong.count)}. The receiver looks whether it knows the messageId, and remembers it later: let a unique index decide instead.`,
    "idempotency",
  );
}

type Loss = { hangUp: HangUpManner; waitMs?: number };

/** Each loss, then the retry, as the sender makes it. */
async function checkRetryAfter(
  probe: Probe,
  losses: readonly Loss[],
  what: string,
): Promise<Outcome> {
  const { usualMs } = probe.receiver;
  const tokens: string[] = [];
  await probe.inLanes(losses.length, losses, async (loss) => {
    const token = probe.token();
    tokens.push(token);
    const body = probe.message(token);
    await probe.send(body, loss);
    // The receiver has the time to end what it began.
    await pause(Math.max(200, usualMs * 2));
    const retry = await probe.deliver(body);
    // A receiver that is still busy with the first may say so.
    if (!isAccepted(retry)) {
      await pause(1_000);
      await probe.deliver(body);
    }
  });
  const wrong = await wrongly(probe, tokens);
  if (wrong === null) return pass("one effect");
  if (wrong.count === 0)
    return fail(
      "no effect",
      `A message took no effect although it was sent again after ${what}. The receiver remembers the messageId before the work is done, and takes the retry for a copy: remember it in the same transaction.`,
      "idempotency",
    );
  return fail(
    `took effect ${times(wrong.count)}`,
    `The receiver did the work, ${what}, and the retry did the work again: the message took effect ${times(wrong.count)}. This happens each time a connection breaks after the handler has run.`,
    "idempotency",
  );
}

/** Valid messages that were answered 5xx, each with a token that no other message has. */
function failedMessages(sent: readonly Recorded[]): Map<string, string> {
  const bodies = new Map<string, string>();
  // What several messages carry, such as the user of an identify and a delete, tells nothing of one.
  const bodyOf = new Map<string, string | null>();
  for (const { tokens, spec } of sent)
    for (const token of tokens)
      bodyOf.set(token, !bodyOf.has(token) || bodyOf.get(token) === spec.body ? spec.body : null);
  for (const { status, tokens, spec } of sent) {
    const token = tokens.find((one) => bodyOf.get(one) === spec.body);
    const isValid = spec.signature === undefined || spec.signature === "valid";
    if (
      status !== null &&
      status >= 500 &&
      token !== undefined &&
      isValid &&
      (spec.method ?? "POST") === "POST"
    )
      bodies.set(token, spec.body);
  }
  return bodies;
}

async function checkFailedMeansNotDone(probe: Probe): Promise<Outcome> {
  const sent = [...probe.receiver.sent];
  const requestsWith = (body: string): Recorded[] => sent.filter(({ spec }) => spec.body === body);
  // What was accepted more than once says nothing about its 5xx: other checks ask for its effects.
  const chosen = [...failedMessages(sent)].filter(
    ([, body]) => requestsWith(body).filter(mayBeDone).length < 2,
  );
  if (chosen.length === 0)
    return pass("no 5xx", `None of ${probe.receiver.sent.length} requests was answered 5xx.`);
  const mustShow: string[] = [];
  await probe.inLanes(retriedAtOnce, chosen, async ([token, body]) => {
    probe.name(token);
    // Once accepted, it is not sent again: a receiver may have forgotten it by now.
    const last = requestsWith(body).find(isAccepted) ?? (await probe.deliver(body));
    if (isAccepted(last) && isPlain(probe, body, token)) mustShow.push(token);
  });
  const wrong = await wrongly(
    probe,
    chosen.map(([token]) => token),
  );
  const lost = mustShow.find((token) => probe.found.get(token)?.found.length === 0);
  const shown = chosen.find(([token]) => token === (wrong?.count === 0 ? lost : wrong?.token));
  if (shown !== undefined) probe.sent.unshift(...requestsWith(shown[1]));
  if (wrong?.count === 0 && lost !== undefined)
    return fail(
      "5xx, and no effect after it",
      "A message that was answered 5xx took no effect, although it was answered 2xx when it was sent again. The receiver remembers the messageId before the work is done, and takes the retry for a copy: remember it in the same transaction.",
      "idempotency",
    );
  if (wrong === null || wrong.count < 2)
    return pass(
      `${chosen.length} answered 5xx`,
      `Each message that was answered 5xx took effect once at most.`,
    );
  return fail(
    `5xx, and took effect ${times(wrong.count)}`,
    `The receiver answered 5xx to a message that it had done all the same, and did it again at the retry: ${times(wrong.count)} in all. Undo the work when it fails, or remember the messageId with it.`,
    "idempotency",
  );
}

/** The receiver took it, or nobody knows. */
function mayBeDone(sent: Recorded): boolean {
  return sent.status === null || saidYes(sent);
}

/** A message like the very first, whose effect is known to show. */
function isPlain(probe: Probe, body: string, token: string): boolean {
  const { timestamp = null } = JSON.parse(body) as JsonObject;
  return body === probe.message(token, { timestamp });
}

export const exactlyOnceChecks: Check[] = [
  {
    id: "duplicate",
    title: "The same message twice counts once",
    group: "Exactly once",
    needs: "effects",
    answers: "any",
    phase: "together",
    run: checkDuplicate,
  },
  {
    id: "duplicate-together",
    title: "Copies at the same time count once",
    group: "Exactly once",
    needs: "effects",
    answers: "any",
    phase: "together",
    run: checkTogether,
  },
  {
    id: "retry-after-lost-answer",
    title: "A retry after a lost answer counts once",
    group: "Exactly once",
    needs: "effects",
    answers: "any",
    phase: "together",
    run: (probe) =>
      checkRetryAfter(
        probe,
        [
          { hangUp: "when-sent" },
          { hangUp: "when-sent-reset" },
          {
            hangUp: "while-working",
            waitMs: Math.min(2_000, Math.round(probe.receiver.usualMs / 2)),
          },
          { hangUp: "at-first-byte" },
          { hangUp: "when-sent" },
          { hangUp: "when-sent-reset" },
        ],
        "its answer was lost",
      ),
  },
  {
    id: "retry-after-timeout",
    title: "A retry after a late answer counts once",
    group: "Exactly once",
    needs: "effects",
    answers: "any",
    phase: "together",
    run: (probe) =>
      checkRetryAfter(
        probe,
        // Clearly before and clearly after its answer: at that moment itself, chance would decide.
        [
          0.4 * probe.receiver.usualMs,
          1.5 * probe.receiver.usualMs + 300,
          1.5 * probe.receiver.usualMs + 1_000,
        ].map((waitMs) => ({
          hangUp: "without-reading",
          waitMs: Math.round(waitMs),
        })),
        "its answer came too late",
      ),
  },
  {
    id: "failed-means-not-done",
    title: "A message that was answered 5xx has not been done",
    group: "Exactly once",
    needs: "effects",
    answers: "any",
    phase: "last",
    run: checkFailedMeansNotDone,
  },
  ...oldMessageChecks,
];
