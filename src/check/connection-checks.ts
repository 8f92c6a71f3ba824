/** Checks of connections: kept, fresh, slow, many at once, and under load. */

import type { JsonObject } from "../domain/json.ts";
import { monotonic } from "../engine/real-time.ts";
import { pause } from "../receiver/wire.ts";
import {
  briefOf,
  did,
  fail,
  pass,
  warn,
  type Check,
  type Outcome,
  deadlineMs,
  tooSlow,
} from "./outcome.ts";
import { askedToWaitMs, isAccepted, isCrash, isUnverified, waitMsOf } from "../receiver/request.ts";
import type { RequestSpec } from "../receiver/request-spec.ts";
import { checkCrowd, shared } from "./crowd.ts";
import { EffectsLost, type Probe, type Recorded } from "./probe.ts";

/**
 * Enough to show a receiver that closes, leaks or mixes up connections, and what a slow one can
 * answer meanwhile.
 */
function howMany(probe: Probe): number {
  return Math.max(4, Math.min(20, Math.floor(6_000 / Math.max(1, probe.receiver.usualMs))));
}

const load = { requests: 200, atOnce: 20 };
const connectionsAtOnce = 100;

/** A receiver that is sent too much in a second may say so, also because of other checks. */
const isLimited = (sent: Recorded): boolean => askedToWaitMs(sent) !== null;

async function sendPatiently(
  probe: Probe,
  spec: Pick<RequestSpec, "connection" | "signature">,
): Promise<Recorded> {
  let last = await probe.send(probe.message(probe.token()), spec);
  for (let nth = 1; nth < 3 && isLimited(last); nth += 1) {
    await pause(waitMsOf(last));
    last = await probe.send(probe.message(probe.token()), spec);
  }
  return last;
}

/** What a refusal with `Retry-After` is a limit of. */
type Limit = "messages" | "connections" | "unknown";

function limited(brief: string, what: string, limit: "messages" | "unknown"): Outcome {
  const why =
    limit === "messages"
      ? "so this is a limit of messages and no fault of the connections"
      : "and the check did not find out whether this is a limit of messages or of connections";
  return warn(
    brief,
    `${what} It asks its sender to wait, with Retry-After, ${why}. Not every sender waits, and a message that is not sent again is lost. Store the message, answer, and do the work afterwards.`,
  );
}

async function inSequence(
  probe: Probe,
  connection: "kept" | "close",
  apartMs: number,
): Promise<Recorded[]> {
  const sent: Recorded[] = [];
  for (let nth = 0; nth < howMany(probe); nth += 1) {
    if (nth > 0 && apartMs > 0) await pause(apartMs);
    const one = await sendPatiently(probe, { connection });
    sent.push(one);
    if (one.outcome === "timeout" || isCrossed(one) || isLimited(one)) break;
  }
  return sent;
}

/**
 * A receiver may end a kept connection at any time (RFC 9112, 9.5), also while a request is on its
 * way. One that ends it because of the request does so after any pause.
 */
const isCrossed = ({ error }: Recorded): boolean => error?.code === "kept_connection_closed";

/**
 * One bad answer among good ones can be chance, the same failure at the second round is not. Null
 * when a round succeeds.
 */
async function failsEachRound(
  round: (apartMs: number) => Promise<Recorded | undefined>,
): Promise<Recorded | null> {
  let apartMs = 0;
  for (let nth = 1; ; nth += 1) {
    const failed = await round(apartMs);
    if (failed === undefined) return null;
    if (nth >= (isCrossed(failed) ? 3 : 2) || isLimited(failed)) return failed;
    apartMs = isCrossed(failed) ? 100 * nth : 0;
  }
}

/**
 * Whether it answers so to one of several messages, one after the other, on connections where the
 * check found no fault. No answer at all may be chance there.
 */
async function failsAnyway(
  probe: Probe,
  failed: Recorded,
  connection: "kept" | "close",
): Promise<boolean> {
  if (failed.status === null || failed.error !== null || isLimited(failed)) return false;
  for (let left = 3 * howMany(probe); left > 0; left -= 1) {
    const one = await probe.send(probe.message(probe.token()), { connection });
    if (one.status === failed.status && one.error === null) return true;
  }
  return false;
}

function failedAnyway(brief: string, what: string): Outcome {
  return fail(
    brief,
    `${what} It answers so to some messages on other connections too, one after the other, so the connections are not why. Look for the cause in the log of the receiver.`,
  );
}

async function mustAllBeAccepted(
  probe: Probe,
  connection: "kept" | "close",
  where: string,
): Promise<Outcome> {
  let sent: Recorded[] = [];
  const failed = await failsEachRound(async (apartMs) => {
    sent = await inSequence(probe, connection, apartMs);
    return sent.find((one) => !isAccepted(one));
  });
  if (failed === null) return pass(`${sent.length} of ${sent.length}`);
  const nth = sent.indexOf(failed) + 1;
  const brief = `${briefOf(failed)}, request ${nth}`;
  const what = `The receiver ${did(failed)} to request ${nth} of ${howMany(probe)} ${where}.`;
  const other = connection === "kept" ? "close" : "kept";
  if (await failsAnyway(probe, failed, other)) return failedAnyway(brief, what);
  if (!isLimited(failed)) return fail(brief, `${what} All of them were valid.`);
  const others = await inSequence(probe, other, 0);
  return limited(brief, what, others.some(isLimited) ? "messages" : "unknown");
}

/** Null when it still reads rightly what comes on the connection after a request that it refuses. */
async function checkAfterRefusal(probe: Probe): Promise<Outcome | null> {
  if (probe.receiver.secret === null) return null;
  const failed = await failsEachRound(async (apartMs) => {
    await probe.send(probe.message(probe.token()), { connection: "kept", signature: "missing" });
    if (apartMs > 0) await pause(apartMs);
    const sent = await sendPatiently(probe, { connection: "kept" });
    return isAccepted(sent) || isLimited(sent) ? undefined : sent;
  });
  if (failed === null) return null;
  return fail(
    `${briefOf(failed)}, after a refused one`,
    `The receiver ${did(failed)} to a valid message on a connection on which it had just refused one. It probably refuses before it has read the body, and takes the body for the next request: read all of it first, or close the connection.`,
  );
}

/** The next one may be too much too, until the receiver has done what it had accepted. */
async function isNextShown(probe: Probe): Promise<boolean> {
  const next = probe.token();
  return isAccepted(await probe.deliver(probe.message(next))) && (await probe.isDone(next));
}

/**
 * How many were accepted and took no effect; none when nobody can tell. A list that is cut off does
 * not show the next message either, and a receiver that is at work still shows more.
 */
async function droppedOf(probe: Probe, sent: readonly Recorded[]): Promise<number> {
  if (!probe.hasEffects) return 0;
  const missingOf = async (tokens: readonly string[]): Promise<string[]> => {
    const effects = await probe.effects(tokens, 1, null);
    return tokens.filter((token) => effects.get(token)?.count === 0);
  };
  try {
    if (!(await isNextShown(probe)) && !(await isNextShown(probe))) return 0;
    const missing = await missingOf(sent.filter(isAccepted).flatMap(({ tokens }) => tokens));
    const still = missing.length === 0 ? missing : await missingOf(missing);
    return still.length === missing.length ? still.length : 0;
  } catch (error) {
    if (error instanceof EffectsLost) return 0;
    throw error;
  }
}

async function checkLoad(probe: Probe): Promise<Outcome> {
  const { crowds } = probe.receiver;
  const isHarmed = crowds === "confuse it" || crowds === "have broken it";
  const confused = isHarmed ? await checkCrowd(probe) : null;
  if (confused !== null) return confused;
  const sent: Recorded[] = [];
  let left = load.requests;
  let slow: Recorded | undefined;
  await Promise.all(
    Array.from({ length: load.atOnce }, async () => {
      while (left > 0 && slow === undefined) {
        left -= 1;
        const one = await probe.send(probe.message(probe.token()));
        sent.push(one);
        if (one.outcome === "timeout" || one.durationMs > deadlineMs) slow = one;
      }
    }),
  );
  if (slow !== undefined) return tooSlow(slow, ` with ${load.atOnce} requests at a time`);
  const lost = sent.filter(({ status, error }) => status === null || error !== null);
  if (lost[0] !== undefined)
    return fail(
      `${lost.length} of ${sent.length} without an answer`,
      `The receiver ${did(lost[0])} under ${load.atOnce} requests at a time.`,
    );
  const slowest = Math.round(Math.max(...sent.map(({ durationMs }) => durationMs)));
  const dropped = await droppedOf(probe, sent);
  if (dropped > 0)
    return fail(
      `${dropped} of ${sent.length} without effect`,
      `The receiver answered 2xx to ${dropped} of ${sent.length} messages, ${load.atOnce} at a time, that took no effect, and one that was sent after them did. A message answered 2xx is not sent again, so it is lost. Answer 503 to what is too much.`,
      "answer-first",
    );
  const refused = refusedOf(sent);
  const unsteady = await unsteadyOf(probe, refused);
  const [first] = unsteady;
  if (first !== undefined)
    return fail(
      `${briefOf(first)}, with others`,
      `The receiver ${did(first)} to ${unsteady.length} of the messages of this run that came beside others, and accepted them when they came again. Their signatures were right. ${shared} Not every sender sends a message again after a 4xx, so such messages are lost.`,
      "verify-signature",
    );
  const worst = refused.find((one) => !isCrash(one)) ?? refused[0];
  if (worst !== undefined)
    return warn(
      `${refused.length} of ${sent.length} refused`,
      `The receiver ${did(worst)} to ${refused.length} of ${sent.length} messages, ${load.atOnce} at a time. ${isCrash(worst) ? "The sender sends those again later." : "Not every sender sends a message again after a 4xx, so such messages are lost. Answer 503 to what is too much."}`,
    );
  return pass(
    `${slowest} ms`,
    `The slowest of ${sent.length} answers, ${load.atOnce} at a time, took ${slowest} ms.`,
  );
}

/** Of the whole run: right signatures that it refused, and accepted when they came again. */
async function unsteadyOf(probe: Probe, refused: readonly Recorded[]): Promise<Recorded[]> {
  // A few show it.
  for (const { spec } of refused.filter(isUnverified).slice(0, 5)) await probe.deliver(spec.body);
  const { sent } = probe.receiver;
  const accepted = new Set(sent.filter(isAccepted).map(({ spec }) => spec.body));
  return sent.filter((one) => isUnverified(one) && accepted.has(one.spec.body));
}

const newMessages = (probe: Probe, count: number): string[] =>
  Array.from({ length: count }, () => probe.message(probe.token()));
const refusedOf = (sent: readonly Recorded[]): Recorded[] => sent.filter((one) => !isAccepted(one));

const waitAsAsked = (refused: readonly Recorded[]): Promise<void> =>
  pause(Math.max(...refused.map(waitMsOf)));

async function checkManyConnections(probe: Probe): Promise<Outcome> {
  // The same message on every connection: what counts here is that each gets its answer.
  const [body = ""] = newMessages(probe, 1);
  let refused = refusedOf(await probe.sendAll(body, { copies: connectionsAtOnce }));
  // A copy of a message in progress may be refused, but not because there are too many.
  if (refused.length > 0) {
    await waitAsAsked(refused);
    refused = refusedOf(await probe.sendTogether(newMessages(probe, connectionsAtOnce)));
  }
  const [first] = refused;
  if (first === undefined) return pass(`${connectionsAtOnce} of ${connectionsAtOnce}`);
  const what = `With ${connectionsAtOnce} connections at once, ${refused.length} of ${connectionsAtOnce} requests failed: the receiver ${did(first)}.`;
  const brief = `${refused.length} of ${connectionsAtOnce} failed`;
  const limit = refused.every(isLimited) ? await limitOf(probe, refused) : "connections";
  if (limit !== "connections") return limited(brief, what, limit);
  if (await failsAnyway(probe, first, "close")) return failedAnyway(brief, what);
  return fail(
    brief,
    `${what} A sender keeps up to 64 connections to a webhook, and there may be several senders.`,
  );
}

/**
 * A limit of messages shows on half as many connections as it accepted, too. One of connections does
 * not: there it accepts more than twice as many messages, so that they are too many for a limit of
 * messages also where it begins to count again meanwhile.
 */
async function limitOf(probe: Probe, refused: readonly Recorded[]): Promise<Limit> {
  const accepted = connectionsAtOnce - refused.length;
  const atOnce = Math.max(1, Math.floor(accepted / 2));
  const asked = Math.max(...refused.map((one) => askedToWaitMs(one) ?? 0));
  // The header has whole seconds.
  const withinMs = Math.min(5_000, Math.max(1_000, asked));
  await waitAsAsked(refused);
  if (accepted === 0) return "unknown";
  for (let tries = 3; tries > 0; tries -= 1) {
    const began = monotonic();
    let fastest = Infinity;
    const rounds = Math.ceil(Math.max(connectionsAtOnce, 2 * accepted + 1) / atOnce);
    let made = 0;
    for (; made < rounds && monotonic() - began <= withinMs; made += 1) {
      const roundBegan = monotonic();
      const still = refusedOf(await probe.sendTogether(newMessages(probe, atOnce)));
      if (still.length > 0) return still.every(isLimited) ? "messages" : "unknown";
      fastest = Math.min(fastest, monotonic() - roundBegan);
    }
    if (made === rounds && monotonic() - began <= withinMs) return "connections";
    // A slow receiver takes as long again; a machine that stood still does not.
    if (fastest * rounds > withinMs) return "unknown";
  }
  return "unknown";
}

/**
 * The ends of pieces that are inside a character in one half are beside one in the other. Enough
 * for each half to have one, with a message of 5 KB around it.
 */
const charactersToCut = ["€".repeat(100), "€".repeat(100)].join("-");

async function checkSlowRequest(probe: Probe): Promise<Outcome> {
  const send = (inside: JsonObject, slow: boolean): Promise<Recorded> =>
    probe.deliver(probe.message(probe.token(), { inside }), { slow });
  const withCharacters = await send({ text: charactersToCut }, true);
  if (isAccepted(withCharacters)) return pass(briefOf(withCharacters));
  // A receiver that expects a message of its own may refuse one with more in it.
  const plain = await send(
    probe.receiver.model.isOfUser ? {} : { text: "a body that arrives in pieces ".repeat(10) },
    true,
  );
  if (!isAccepted(plain))
    return fail(
      briefOf(plain),
      `The receiver ${did(plain)} to a valid message that arrived in small pieces over half a second. Read until the whole body is there: as many bytes as Content-Length says.`,
    );
  // If it refuses them at once too, the pieces are not why.
  if (!isAccepted(await send({ text: charactersToCut }, false))) return pass(briefOf(plain));
  return fail(
    briefOf(withCharacters),
    `The receiver ${did(withCharacters)} to a valid message that arrived in small pieces, some of which ended inside a character of several bytes. It accepts the same text in one piece. It probably decodes each piece by itself, so that a character between two pieces is lost: collect the bytes, and decode them once.`,
  );
}

export const connectionChecks: Check[] = [
  {
    id: "keep-alive",
    title: "Answers again and again on one connection",
    group: "Connections",
    phase: "together",
    async run(probe) {
      const all = await mustAllBeAccepted(probe, "kept", "on a connection that it kept open");
      return (all.verdict === "pass" ? await checkAfterRefusal(probe) : null) ?? all;
    },
  },
  {
    id: "connection-per-request",
    title: "Answers on a new connection for each request",
    group: "Connections",
    phase: "together",
    run: (probe) => mustAllBeAccepted(probe, "close", "on a connection of its own"),
  },
  {
    id: "slow-request",
    title: "Reads a request that arrives slowly",
    group: "Connections",
    phase: "alone",
    run: checkSlowRequest,
  },
  {
    id: "in-time-under-load",
    title: "Answers within 5 s, 20 requests at a time",
    group: "Answers",
    phase: "load",
    atOnce: load.atOnce,
    run: checkLoad,
  },
  {
    id: "many-connections",
    title: "Serves 100 connections at once",
    group: "Connections",
    phase: "load",
    run: checkManyConnections,
  },
  {
    id: "alive-after",
    title: "Still answers after all of this",
    group: "Connections",
    phase: "last",
    async run(probe) {
      const token = probe.token();
      let sent = await probe.deliver(probe.message(token));
      // A supervisor may be starting it again.
      for (let nth = 0; nth < 4 && sent.status === null; nth += 1) {
        await pause(500);
        sent = await probe.send(probe.message(token));
      }
      if (!isAccepted(sent))
        return fail(
          briefOf(sent),
          `After all checks the receiver ${did(sent)} to a valid message that it accepted at the beginning.`,
        );
      if (probe.hasEffects && !(await probe.isDone(token)))
        return fail(
          "without effect",
          `After all checks the receiver ${did(sent)} to a valid message, and it took no effect.`,
        );
      return pass(briefOf(sent));
    },
  },
];
