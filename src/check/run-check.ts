/**
 * Checks a receiver from the first request to the report. Called by the command line and by the
 * API; prints nothing, writes no file.
 *
 * The checks run in phases. Those that do not disturb each other run at the same time, as many as
 * the receiver answers beside each other.
 */

import { randomBytes, randomInt } from "node:crypto";
import { urlWithoutCredentials } from "../domain/credentials.ts";
import { isObject, type Json } from "../domain/json.ts";
import { drawUnit } from "../domain/random.ts";
import { createTrust, parseTarget, type Trust } from "../engine/deliver/dial.ts";
import { monotonic, wallClockNow } from "../engine/real-time.ts";
import { askEffects, parseJson, type EffectsSource } from "../receiver/effects.ts";
import { createWire, pause } from "../receiver/wire.ts";
import { badRequestChecks } from "./bad-requests.ts";
import { connectionChecks } from "./connection-checks.ts";
import { confusesMessages } from "./crowd.ts";
import { exactlyOnceChecks } from "./exactly-once.ts";
import { messageModel, orderCompleted, type MessageModel } from "./message-model.ts";
import { answerChecks, messageChecks } from "./messages.ts";
import {
  briefOf,
  did,
  fail,
  skipped,
  times,
  warn,
  type Check,
  type Outcome,
  type Verdict,
  type CheckReport,
  type CheckResult,
} from "./outcome.ts";
import { isAccepted, isCrash } from "../receiver/request.ts";
import {
  EffectsLost,
  learnOfCopies,
  learnOfEffects,
  Probe,
  type Receiver,
  type Recorded,
} from "./probe.ts";
import { scenarioOf } from "./scenario.ts";
import { effectsOf, shownRequests } from "./shown-requests.ts";
import { signatureChecks } from "./signature-checks.ts";

const groups = ["Answers", "Messages", "Signature", "Bad requests", "Exactly once", "Connections"];
export const checks: readonly Check[] = [
  ...answerChecks,
  ...messageChecks,
  ...signatureChecks,
  ...badRequestChecks,
  ...exactlyOnceChecks,
  ...connectionChecks,
].toSorted((one, other) => groups.indexOf(one.group) - groups.indexOf(other.group));

export type CheckOptions = {
  url: string;
  secret?: string | null;
  headers?: Readonly<Record<string, string>>;
  effects?: EffectsSource | null;
  /** The message that the receiver expects, in place of a track of a shop. */
  message?: Json;
  only?: readonly string[];
  skip?: readonly string[];
  timeoutMs?: number;
  seed?: number;
  trust?: Trust;
  /** Aborted: no further request is sent, and the run rejects. */
  signal?: AbortSignal | null;
  onStart?: (id: string) => void;
  onResult?: (result: CheckResult, done: number, of: number) => void;
};

/** The message is a sentence for the user. */
export class CannotCheck extends Error {}

const defaultTimeoutMs = 5_000;
/** As many at once as a small receiver answers without being under load. */
const besideEachOther = 8;
/**
 * A receiver that takes longer gets checks beside each other that might bring it down, or the whole
 * would take minutes.
 */
const slowMs = 500;
export async function runCheck(options: CheckOptions): Promise<CheckReport> {
  const { url, effects = null, seed = randomInt(2 ** 31) } = options;
  const chosen = chooseChecks(options);
  const model = modelOf(options.message);
  const began = monotonic();
  const startedAt = wallClockNow();
  const ask = effects === null ? null : shareAsking(() => askEffects(effects));
  if (ask !== null)
    await ask().catch((error: Error) => Promise.reject(new CannotCheck(error.message)));

  const receiver = receiverOf(options, { seed, ask, model });
  const results = new Map<string, CheckResult>();
  const run = new Run(receiver, options, chosen, results);
  try {
    await run.all();
  } finally {
    receiver.wire.close();
  }
  const list = checks.flatMap(({ id }) => results.get(id) ?? []);
  return reportOf({ url, startedAt, durationMs: monotonic() - began, seed, results: list });
}

/** Also of a run that has not ended. */
export function reportOf({
  url,
  startedAt,
  durationMs,
  seed,
  results,
}: Pick<CheckReport, "url" | "durationMs" | "seed"> & {
  startedAt: number;
  results: CheckResult[];
}): CheckReport {
  return {
    url: urlWithoutCredentials(url),
    startedAt: new Date(startedAt).toISOString(),
    durationMs: Math.round(durationMs),
    seed,
    verdict: results.some(({ verdict }) => verdict === "fail") ? "fail" : "pass",
    score: scoreOf(results),
    checks: results,
  };
}

export function scoreOf(results: readonly Pick<CheckResult, "verdict">[]): number {
  const count = (wanted: Verdict): number =>
    results.filter(({ verdict }) => verdict === wanted).length;
  const all = count("pass") + count("warn") + count("fail");
  return all === 0 ? 0 : Math.floor((100 * (count("pass") + count("warn") / 2)) / all);
}

/** Throws `CannotCheck`. */
export function chooseChecks({
  url,
  only = [],
  skip = [],
}: Pick<CheckOptions, "url" | "only" | "skip">): Check[] {
  if (parseTarget(url) === null)
    throw new CannotCheck(`${urlWithoutCredentials(url)} is not a full http or https URL.`);
  const unknown = [...only, ...skip].find((id) => !checks.some((check) => check.id === id));
  if (unknown !== undefined)
    throw new CannotCheck(
      `No check is called ${unknown}. The checks are: ${checks.map(({ id }) => id).join(", ")}.`,
    );
  return checks.filter(
    ({ id, phase }) =>
      (only.length === 0 || only.includes(id) || phase === "first") && !skip.includes(id),
  );
}

/** Throws `CannotCheck`. */
export function modelOf(message: Json | undefined): MessageModel {
  if (message === undefined) return orderCompleted;
  const model = messageModel(message);
  if (typeof model === "string") throw new CannotCheck(model);
  return model;
}

function receiverOf(
  {
    url,
    secret = null,
    headers = {},
    timeoutMs = defaultTimeoutMs,
    trust = createTrust(),
    signal = null,
  }: CheckOptions,
  { seed, ask, model }: Pick<Receiver, "ask" | "model"> & { seed: number },
): Receiver {
  // Two runs with one seed draw the same, but a receiver must not take the second for copies of the
  // first.
  const ofThisRun = randomBytes(4).toString("hex");
  let drawn = 0;
  let latest = 0;
  return {
    wire: createWire({ url, trust, timeoutMs }),
    workIn: (text) => text.split(`tok${ofThisRun}`).length,
    model,
    secret,
    headers,
    timeoutMs,
    ask,
    first: null,
    signal,
    usualMs: 0,
    effectMs: 0,
    crowds: "do no harm",
    // No two messages have the same time, so that only `duplicate` sends such.
    now() {
      latest = Math.max(latest + 1, wallClockNow());
      return latest;
    },
    drawToken() {
      drawn += 1;
      return `tok${ofThisRun}${Math.floor(drawUnit(seed, drawn) * 2 ** 32)
        .toString(16)
        .padStart(8, "0")}`;
    },
    sent: [],
  };
}

/** One question at a time: those that come meanwhile share the next. */
function shareAsking(ask: () => Promise<string>): () => Promise<string> {
  let running: Promise<unknown> = Promise.resolve();
  let next: Promise<string> | null = null;
  return () => {
    next ??= running.then(() => {
      next = null;
      const answer = ask();
      running = answer.catch(() => undefined);
      return answer;
    });
    return next;
  };
}

/** A receiver that has gone down no longer shows its effects either. */
function withoutEffects(error: unknown, probe: Probe): Outcome {
  if (!(error instanceof EffectsLost)) throw error;
  const last = probe.sent.findLast(({ outcome }) => outcome !== "hung_up");
  if (last?.status !== null) return skipped(error.message);
  return fail(briefOf(last), `The receiver ${did(last)}. ${error.message}`);
}

/** Null when copies can be counted. */
function whyUncounted({ count, isAddedTo }: NonNullable<Receiver["first"]>): Outcome | null {
  if (count > 1)
    return warn(
      `shown ${times(count)}`,
      `The effects show the first message, which was sent once, ${times(count)}: they list it in several places, or the receiver processed it twice. Copies cannot be counted this way. Give an address that lists each message once.`,
    );
  if (isAddedTo) return null;
  return warn(
    "not one effect each",
    "The effects list no more after a second message of the same user: they have one line for each user, or are one text. Copies cannot be counted this way. Give an address that lists each message once.",
  );
}

function typeOf({ spec }: Recorded): Json {
  const message = parseJson(spec.body);
  return isObject(message) ? (message["type"] ?? null) : null;
}

const ofType = (one: Recorded): string => `a message of the type ${JSON.stringify(typeOf(one))}`;

class Run {
  readonly #receiver: Receiver;
  readonly #options: CheckOptions;
  readonly #chosen: readonly Check[];
  readonly #results: Map<string, CheckResult>;
  /** Why the rest makes no sense. */
  #reason: string | null = null;

  constructor(
    receiver: Receiver,
    options: CheckOptions,
    chosen: readonly Check[],
    results: Map<string, CheckResult>,
  ) {
    this.#receiver = receiver;
    this.#options = options;
    this.#chosen = chosen;
    this.#results = results;
  }

  async all(): Promise<void> {
    const first = this.#of("first");
    for (const check of first) {
      await this.#one(check);
      if (check === first[0]) await this.#learn();
    }
    await this.#together(this.#of("together"), await this.#atOnce());
    // What is no message at all brings most receivers down.
    const isBad = ({ group }: Check): number => Number(group === "Bad requests");
    const alone = this.#of("alone").toSorted((one, other) => isBad(one) - isBad(other));
    const { usualMs, crowds } = this.#receiver;
    await this.#together(alone, usualMs > slowMs && crowds === "do no harm" ? 3 : 1);
    await this.#together(this.#of("load"), 1);
    const down = this.#reason;
    for (const check of this.#of("last")) {
      // Whether it came back is what this check is for.
      if (check.id === "alive-after" && this.#results.get("answers")?.verdict !== "fail")
        this.#reason = null;
      await this.#one(check);
      this.#reason = down;
    }
  }

  #of(phase: Check["phase"]): Check[] {
    return this.#chosen.filter((check) => check.phase === phase);
  }

  async #together(list: readonly Check[], atOnce: number): Promise<void> {
    const waiting = [...list];
    await Promise.all(
      Array.from({ length: atOnce }, async () => {
        for (let check = waiting.shift(); check !== undefined; check = waiting.shift()) {
          await this.#one(check);
          if (check.phase !== "together") await this.#noticeEnd(`the check ${check.id}`);
        }
      }),
    );
  }

  async #one(check: Check): Promise<void> {
    this.#options.signal?.throwIfAborted();
    this.#options.onStart?.(check.id);
    const probe = new Probe(check.id, this.#receiver);
    const outcome =
      this.#whySkipped(check) ??
      (await check
        .run(probe)
        .catch((error: unknown) => withoutEffects(error, probe))
        .finally(() => probe.close()));
    const result = this.#resultOf(check, (await this.#ofEnded(check, probe)) ?? outcome, probe);
    this.#results.set(check.id, result);
    this.#options.onResult?.(result, this.#results.size, this.#chosen.length);
  }

  #whySkipped({ id, needs, phase }: Check): Outcome | null {
    const isWhy = id === "in-time-under-load" && this.#receiver.crowds === "have broken it";
    if (this.#reason !== null && phase !== "first" && !isWhy) return skipped(this.#reason);
    if (needs === "secret" && this.#receiver.secret === null)
      return skipped("The receiver's shared secret is not known: give it (--secret).");
    const { ask, model, first } = this.#receiver;
    if (needs !== "effects") return null;
    if (ask === null)
      return skipped(
        "Nobody can tell from outside what the receiver has done: give a URL (--effects) or, on the command line, a command (--effects-command) that lists it.",
      );
    // A receiver of profiles has no use for a track, and shows the identifies of `order`.
    if (first?.count === 0 && id !== "order")
      return skipped(
        `The check waited for three seconds, and the effects do not show the first message, ${model.name}. None of them contains its token, so they cannot be counted. ${model.isOfUser ? "Does the receiver have a use for it? The effects have to show its userId, or a member that has {{token}} in the file." : "If the receiver has no use for it, give a message that it expects (--message)."}`,
      );
    const uncounted = first === null || id === "order" ? null : whyUncounted(first);
    return uncounted === null || id === "duplicate" ? uncounted : skipped(uncounted.detail);
  }

  /**
   * From the first message that was accepted: how long the receiver takes, and whether its effects show what it did.
   */
  async #learn(): Promise<void> {
    const { sent } = this.#receiver;
    const first = sent.find(isAccepted) ?? sent[0];
    if (first === undefined) return;
    this.#receiver.usualMs = first.durationMs;
    // It may have accepted one that is written otherwise.
    if (!isAccepted(first) || this.#results.get("answers")?.verdict === "fail") {
      this.#reason = "The receiver does not accept a valid message: the check `answers` says why.";
      return;
    }
    const [token] = first.tokens;
    if (this.#receiver.ask === null || token === undefined) return;
    await learnOfEffects(this.#receiver, token).catch((error: unknown) => {
      throw error instanceof EffectsLost ? new CannotCheck(error.message) : error;
    });
  }

  /**
   * A receiver that handles one request after the other must not be under load in checks that are
   * about something else.
   */
  async #atOnce(): Promise<number> {
    if (this.#reason !== null) return 1;
    const probe = new Probe("answers", this.#receiver);
    const { first, model, sent: before } = this.#receiver;
    const wasBroken = before.some(isCrash);
    const [next, other, user] = [probe.token(), probe.token(), probe.token()];
    const ofUser = (token: string): Record<string, string> => ({ userId: model.userIdOf(token) });
    const sent = await Promise.all([
      probe.send(probe.message(next, first?.count === 1 ? ofUser(first.token) : {})),
      probe.send(probe.message(other, ofUser(user))),
      probe.send(probe.message(probe.token())),
      probe.send(probe.message(probe.token())),
    ]);
    if (sent.every(isAccepted))
      await learnOfCopies(probe, { next, other, user }).catch((error: unknown) => {
        // Checks ask again, and say so.
        if (!(error instanceof EffectsLost)) throw error;
      });
    const single = Math.max(1, this.#receiver.usualMs);
    this.#receiver.usualMs = Math.min(single, ...sent.map(({ durationMs }) => durationMs));
    const slowest = Math.max(...sent.map(({ durationMs }) => durationMs));
    const isMore = this.#chosen.some(({ phase }) => phase !== "first");
    const { timeoutMs, signal } = this.#receiver;
    if (sent.some(({ outcome }) => outcome === "timeout")) {
      this.#receiver.crowds = "are too much";
      // It may be at work on them, one after the other.
      await pause(Math.max(0, sent.length * single - timeoutMs), signal);
    } else if (isMore && (await confusesMessages(probe))) this.#receiver.crowds = "confuse it";
    if (!wasBroken) await this.#noticeEnd("several different messages at the same time");
    if (this.#reason !== null) this.#receiver.crowds = "have broken it";
    if (this.#receiver.crowds !== "do no harm") return 1;
    const isOneByOne = slowest > 250 && slowest > 2.5 * single;
    return isOneByOne
      ? Math.max(1, Math.min(besideEachOther, Math.floor(2_000 / single)))
      : besideEachOther;
  }

  /**
   * A receiver that has gone down, or that a check has broken for good, cannot be checked further.
   * It may be started again by whatever watches it.
   */
  async #noticeEnd(after: string): Promise<void> {
    const last = this.#receiver.sent.at(-1);
    if (this.#reason !== null || last === undefined || !isCrash(last)) return;
    const probe = new Probe("answers", this.#receiver);
    const again = await probe.deliver(probe.message(probe.token()));
    if (again.error?.code === "ECONNREFUSED")
      this.#reason = `The receiver no longer listens after ${after}.`;
    else if (isCrash(again))
      this.#reason = `The receiver ${did(again)} to a valid message after ${after}.`;
  }

  /**
   * When the receiver has ended during checks beside each other: those whose requests it left without
   * an answer may be why, the others are not. Null when it listens.
   */
  async #ofEnded({ phase, id }: Check, probe: Probe): Promise<Outcome | null> {
    if (phase !== "together" || !probe.sent.some(({ error }) => error?.code === "ECONNREFUSED"))
      return null;
    const { sent } = this.#receiver;
    const answered = sent.filter(({ status }) => status !== null);
    const lastAnswered = Math.max(...answered.map(({ startedAt }) => startedAt));
    const unanswered = sent.filter(
      ({ status, outcome, error, startedAt, durationMs }) =>
        status === null &&
        outcome === "connection_error" &&
        error?.code !== "ECONNREFUSED" &&
        // It lived on after the others.
        Math.ceil(startedAt + durationMs) >= lastAnswered,
    );
    const unusual = unanswered.filter((one) => this.#whatIsUnusual(one) !== null);
    const suspects = unusual.length === 0 ? unanswered : unusual;
    if (this.#reason === null) {
      const again = await new Probe("answers", this.#receiver).deliver("{}");
      if (again.error?.code !== "ECONNREFUSED") return null;
      const ids = [...new Set(suspects.map(({ check }) => check))].join(", ");
      this.#reason = `The receiver no longer listens. It ended during checks beside each other${ids === "" ? "" : `, probably because of ${ids}`}.`;
    }
    const own = suspects.find(({ check }) => check === id);
    if (own === undefined) return skipped(this.#reason);
    return fail(
      `${briefOf(own)}, and ended`,
      `The receiver broke off without an answer at ${this.#whatIsUnusual(own) ?? ofType(own)}, and has not listened since then. It probably ended: catch the errors of each message, also in workers.${suspects.length === 1 ? "" : " Others were in progress at the same time, and one of them may be why."}`,
    );
  }

  /** Null for a message like those that it accepted before. */
  #whatIsUnusual(one: Recorded): string | null {
    const { sent, model } = this.#receiver;
    const { signature = "valid", body } = one.spec;
    if (signature === "missing" || signature === "empty") return "a message without a signature";
    if (signature !== "valid") return "a message with a signature that does not match its bytes";
    if (typeOf(one) !== model.type) return ofType(one);
    const isCopy = sent.find(({ spec }) => spec.body === body) !== one;
    return isCopy ? "a copy of an earlier message" : null;
  }

  /** What is remembered by a member of the user's message has been done by the first of a run. */
  #whySame({ verdict }: Outcome, { found }: Probe): string {
    const { isOfUser, hasPlaceBesideIds } = this.#receiver.model;
    const isMissing = [...found.values()].some((one) => one.wanted > 0 && one.found.length === 0);
    return verdict === "fail" && isOfUser && !hasPlaceBesideIds && isMissing
      ? " The messages of a check differ in their ids, time and token only: if the receiver counts something else once, such as an order_id, write {{token}} in its place."
      : "";
  }

  #resultOf(check: Check, outcome: Outcome, probe: Probe): CheckResult {
    const { id, title, group } = check;
    const { verdict, brief, advice = null } = outcome;
    const detail = `${outcome.detail}${this.#whySame(outcome, probe)}`;
    return {
      id,
      title,
      group,
      verdict,
      brief,
      detail,
      advice,
      effects: effectsOf(probe),
      requests: shownRequests(probe),
      scenario:
        verdict === "fail" ? scenarioOf({ check, detail, probe, options: this.#options }) : null,
    };
  }
}
