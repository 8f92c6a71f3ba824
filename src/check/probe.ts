/**
 * What a check has in hand: tokens of its own, messages as a webhook gets them, requests that are
 * recorded, and the effects that the receiver reports. One probe per check; all probes of a run
 * share the receiver.
 */

import { monotonic } from "../engine/real-time.ts";
import { countEffects, stableEffects, type Effects } from "../receiver/effects.ts";
import {
  isAccepted,
  isRetried,
  isUnverified,
  performRequest,
  performTogether,
  waitMsOf,
  type Sent,
} from "../receiver/request.ts";
import { pause, type Connections, type Wire } from "../receiver/wire.ts";
import type { RequestSpec } from "../receiver/request-spec.ts";
import type { MessageModel } from "./message-model.ts";

export type Receiver = {
  wire: Wire;
  /** What it is sent. */
  model: MessageModel;
  secret: string | null;
  headers: Readonly<Record<string, string>>;
  timeoutMs: number;
  /** Null when nobody said where the effects are. */
  ask: (() => Promise<string>) | null;
  /**
   * The token of the first message, and how often they show it; known after the first check. A
   * message that was sent once may be in several places of what they list, and one that is done
   * twice in one only.
   */
  first: { token: string; count: number; isAddedTo: boolean } | null;
  /** Aborted: nothing is sent any more. */
  signal: AbortSignal | null;
  /** How long it usually takes to answer; known after the first check. */
  usualMs: number;
  /** How long after its answer its effects show at the latest; known after the first check. */
  effectMs: number;
  /**
   * What different messages at the same time do to it. If they confuse it, or it does not answer all
   * of four in time, each comes alone; if they have broken it, none is accepted any more.
   */
  crowds: "do no harm" | "are too much" | "confuse it" | "have broken it";
  now(): number;
  /** The next text that no other message has. */
  drawToken(): string;
  /** How much of what this run has sent the effects show. */
  workIn(text: string): number;
  /** Everything that was sent in any check. */
  sent: Recorded[];
};

export type Recorded = Sent & {
  /** The check that sent it, and the tokens in its body. */
  check: string;
  tokens: string[];
  /** From 0; later tries repeat a request that failed. */
  nthTry: number;
  nthCopy: number;
  /** How many different messages were sent at the same time as this one, and it. */
  atOnce: number;
};

/** The receiver no longer says what it has done. The message is a sentence for the user. */
export class EffectsLost extends Error {}

/**
 * A failed request is sent again as the pipeline does, so that one bad answer by chance is not
 * taken for a rule. Effects are asked for again too.
 */
const tries = 3;
const betweenTriesMs = 150;

/** What the effects of a message without others before it may take. */
const shownWithinMs = 3_000;
/** A worker that does one message after the other has hundreds before it after the load. */
const whileAtWorkMs = 60_000;

export class Probe {
  readonly check: string;
  readonly receiver: Receiver;
  readonly sent: Recorded[] = [];
  /** What the scenario of a failure writes instead of texts that each run draws again. */
  readonly names = new Map<string, string>();
  /** What was wanted of each token, and found last. */
  readonly found = new Map<string, { wanted: number; found: string[] }>();
  readonly #connections: Connections;

  constructor(check: string, receiver: Receiver) {
    this.check = check;
    this.receiver = receiver;
    this.#connections = receiver.wire.beside();
  }

  /** Closes its kept connections. Some receivers have few threads, and one for each connection. */
  close(): void {
    this.#connections.close();
  }

  token(): string {
    const token = this.receiver.drawToken();
    this.name(token);
    return token;
  }

  /** A token of another check, when one of its messages is sent again. */
  name(token: string): void {
    this.names.set(token, `token${this.names.size === 0 ? "" : this.names.size + 1}`);
  }

  /** A time before now, as the timestamp of a message. */
  time(agoMs = 0): string {
    return new Date(this.receiver.now() - agoMs).toISOString();
  }

  /** The body of a valid message that carries the token. */
  message(token: string, more: Parameters<MessageModel["write"]>[2] = {}): string {
    return this.receiver.model.write(token, this.time(), more);
  }

  /** Signed rightly unless the spec says otherwise. */
  async send(
    body: string,
    spec: Omit<Partial<RequestSpec>, "body"> = {},
    nthTry = 0,
  ): Promise<Recorded> {
    const [first] = await this.sendAll(body, spec, nthTry);
    if (first === undefined) throw new Error("A request was sent no times.");
    return first;
  }

  async sendAll(
    body: string,
    spec: Omit<Partial<RequestSpec>, "body"> = {},
    nthTry = 0,
  ): Promise<Recorded[]> {
    const { secret, signal } = this.receiver;
    signal?.throwIfAborted();
    const request = this.#specOf(body, spec);
    return this.#record(await performRequest(this.#connections, request, secret), nthTry);
  }

  /** Several messages at the same time, each on a connection of its own. */
  async sendTogether(bodies: readonly string[]): Promise<Recorded[]> {
    const { secret, signal } = this.receiver;
    signal?.throwIfAborted();
    const specs = bodies.map((body) => this.#specOf(body, {}));
    return this.#record(await performTogether(this.#connections, specs, secret), 0, bodies.length);
  }

  /** So many at a time; one after the other when messages at the same time harm the receiver. */
  async inLanes<Item>(
    most: number,
    items: readonly Item[],
    run: (item: Item) => Promise<void>,
  ): Promise<void> {
    const waiting = [...items];
    const lanes = this.receiver.crowds === "do no harm" ? most : 1;
    await Promise.all(
      Array.from({ length: lanes }, async () => {
        while (waiting.length > 0) await run(waiting.shift() as Item);
      }),
    );
  }

  #specOf(body: string, spec: Omit<Partial<RequestSpec>, "body">): RequestSpec {
    const { secret, headers } = this.receiver;
    const own = Object.keys(spec.headers ?? {}).map((name) => name.toLowerCase());
    const others = Object.entries(headers).filter(([name]) => !own.includes(name.toLowerCase()));
    return {
      ...(secret === null ? {} : { signature: "valid" }),
      ...spec,
      headers: { ...Object.fromEntries(others), ...spec.headers },
      body,
    };
  }

  #record(sent: readonly Sent[], nthTry: number, atOnce = 1): Recorded[] {
    const recorded = sent.map((one, nthCopy) => ({
      ...one,
      check: this.check,
      tokens: [...this.names.keys()].filter((token) => one.spec.body.includes(token)),
      nthTry,
      nthCopy,
      atOnce,
    }));
    this.sent.push(...recorded);
    this.receiver.sent.push(...recorded);
    return recorded;
  }

  /**
   * Sends it again while it fails in a way that the pipeline retries, or its right signature is
   * refused: `in-time-under-load` reports those that are accepted then. Returns the last.
   */
  async deliver(body: string, spec: Omit<Partial<RequestSpec>, "body"> = {}): Promise<Recorded> {
    let last = await this.send(body, { ...spec, tries });
    for (let nth = 1; nth < tries && (isRetried(last) || isUnverified(last)); nth += 1) {
      await pause(Math.max(betweenTriesMs * nth, waitMsOf(last)));
      last = await this.send(body, { ...spec, tries }, nth);
    }
    return last;
  }

  /**
   * The same with a new message at each try: a receiver that broke on the first may take a copy of
   * it for one that it has done. Returns the first that did not fail, or the last.
   */
  async deliverNew(
    write: (token: string) => string,
    spec: Omit<Partial<RequestSpec>, "body"> = {},
  ): Promise<Recorded> {
    let last = await this.send(write(this.token()), spec);
    for (let nth = 1; nth < tries && isRetried(last); nth += 1) {
      await pause(Math.max(betweenTriesMs * nth, waitMsOf(last)));
      last = await this.send(write(this.token()), spec);
    }
    return last;
  }

  get hasEffects(): boolean {
    const { ask, first } = this.receiver;
    return ask !== null && (first === null || first.count > 0);
  }

  /**
   * Of each token, once the numbers are stable: what a receiver with a queue does again, or has
   * refused, shows as late as its other effects. Rejects with `EffectsLost`.
   */
  async effects(
    tokens: readonly string[],
    wanted: number | ((effects: ReadonlyMap<string, Effects>) => boolean) = 1,
    settleMs: number | null = 2 * this.receiver.effectMs,
  ): Promise<Map<string, Effects>> {
    let answer = "";
    const effects = await stableEffects({
      ask: async () => (answer = await this.#ask()),
      wanted: new Map(tokens.map((token) => [token, typeof wanted === "number" ? wanted : 0])),
      ...(typeof wanted === "number" ? {} : { isEnough: wanted }),
      settleMs,
      whileAtWorkMs,
      workIn: this.receiver.workIn,
      atMostMs: Math.max(shownWithinMs, 2 * this.receiver.effectMs),
    });
    if (typeof wanted === "number")
      for (const [token, { found }] of effects) this.found.set(token, { wanted, found });
    const { first } = this.receiver;
    const isMissing = wanted !== 0 && [...effects.values()].some(({ count }) => count === 0);
    if (isMissing && first !== null && first.count > 0)
      if (countEffects(answer, first.token).count === 0)
        throw new EffectsLost(
          "The effects no longer show the first message of the check, so they list only a part of what the receiver did, or it has lost the message. Give an address that lists everything.",
        );
    return effects;
  }

  /** Whether the message of this token took effect at all. */
  async isDone(token: string): Promise<boolean> {
    const effects = await this.effects([token], 1, null);
    return (effects.get(token)?.count ?? 0) > 0;
  }

  async #ask(): Promise<string> {
    const { ask } = this.receiver;
    if (ask === null) throw new Error("Nobody said where the effects are.");
    for (let nth = 1; ; nth += 1) {
      try {
        return await ask();
      } catch (error) {
        if (nth === tries)
          throw new EffectsLost(error instanceof Error ? error.message : String(error));
        await pause(betweenTriesMs * nth);
      }
    }
  }
}

/** `204 in 4 ms`, or what went wrong. */
export function answerOf({ status, error, durationMs, outcome }: Sent): string {
  if (outcome === "hung_up") return "no answer read";
  const took = `${Math.round(durationMs)} ms`;
  return status !== null && error === null
    ? `${status} in ${took}`
    : (error?.message ?? "no answer");
}

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
  receiver.first = { token: first, count: 0, isAddedTo: true };
  if (shownAfterMs === null) return;
  receiver.effectMs = shownAfterMs;
  // A worker that looks every second may have been about to: the next message waits longest.
  const next = probe.token();
  if (shownAfterMs > 0 && isAccepted(await probe.deliver(probe.message(next))))
    receiver.effectMs = Math.max(shownAfterMs, (await showAfter(next)) ?? shownWithinMs);
  // It was there a moment ago, even if it has dropped off a page.
  receiver.first.count = Math.max(1, (await probe.effects([first])).get(first)?.count ?? 0);
}

/**
 * Whether copies of a message would show at all: a second message of the first user has to. `next`
 * is its token, `other` and `user` those of a message of another user, which was sent with it.
 */
export async function learnOfCopies(
  probe: Probe,
  { next, other, user }: Record<"next" | "other" | "user", string>,
): Promise<void> {
  const { first } = probe.receiver;
  if (first?.count !== 1) return;
  const isAdded = (effects: ReadonlyMap<string, Effects>): boolean => {
    const of = effects.get(first.token)?.found ?? [];
    const more = effects.get(next)?.found.filter((one) => !one.includes(first.token)) ?? [];
    return of.length + more.length > 1;
  };
  const effects = await probe.effects([first.token, next, other, user], isAdded, null);
  const has = (token: string): boolean => (effects.get(token)?.count ?? 0) > 0;
  // When they show the tokens of messages, the receiver has ignored the second of the user.
  first.isAddedTo = isAdded(effects) || (!has(next) && (has(other) || !has(user)));
}
