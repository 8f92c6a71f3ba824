/**
 * One mark for each message on its way: when it leaves, where it is, how its attempt ended. It
 * replays what the record says a second later, so that a mark always knows where to go. It knows no
 * canvas and no clock: `now` is the time of the animation, which stands while the clock is paused.
 */

import type { Outcome } from "../../../domain/states.ts";
import { lineKey, type FlowAnswer } from "./flow-model.ts";
import { positionOn, type Position, type Way } from "./route-path.ts";

/** How long after the record a mark leaves. */
const replayMs = 1000;

/** At a destination, before it splits. */
const stopMs = 120;

/** How long the shape of an outcome stands at its webhook. */
const endMs = 600;

/** In front of a webhook that does not answer. */
const pileGap = 12;

const maxMarks = 600;

type Leg = {
  messageId: string;
  line: string;
  startAt: number;
  endAt: number;
  /** Of a leg to a webhook: how it ended; null while nobody knows. */
  outcome: Outcome | null;
  /** When the outcome was known, or the mark arrived, whichever was later. */
  endedAt: number | null;
  isSend: boolean;
};

export type Mark = Position & {
  messageId: string;
  line: string;
  /** `moves`: a mark; `waits`: in front of a webhook; else the outcome's shape. */
  shows: "moves" | "waits" | Outcome;
};

export class MovingMarks {
  #ways: ReadonlyMap<string, Way> = new Map();
  readonly #legs = new Map<string, Leg>();
  /** What came before, so that the next answer does not start it again. */
  readonly #seen = new Map<string, number>();
  #held: { messageId: string; at: number } | null = null;

  /** The lines moved; marks stay on theirs. */
  setWays(ways: ReadonlyMap<string, Way>): void {
    this.#ways = ways;
  }

  get isEmpty(): boolean {
    return this.#legs.size === 0;
  }

  /** What an answer of `flow.get` says; `pixelsPerSecond` as fast as the clock goes. */
  add({ moving }: FlowAnswer, now: number, pixelsPerSecond: number): void {
    for (const { id, sourceId, destinationIds, agoMs } of moving.messages) {
      if (this.#isKnown(id, now)) continue;
      for (const destinationId of destinationIds)
        this.#start({
          key: `${id} ${destinationId}`,
          messageId: id,
          line: lineKey(sourceId, destinationId),
          startAt: now - agoMs + replayMs,
          pixelsPerSecond,
          outcome: null,
          isSend: false,
        });
    }
    const named = new Set<string>();
    for (const { messageId, destinationId, webhookId, round, outcome, agoMs } of moving.attempts) {
      const key = `${messageId} ${webhookId} ${round}`;
      named.add(key);
      const known = this.#legs.get(key);
      if (known !== undefined) {
        known.outcome ??= outcome;
        continue;
      }
      if (this.#isKnown(key, now)) continue;
      const before = this.#legs.get(`${messageId} ${destinationId}`);
      const recorded = now - agoMs + replayMs;
      this.#start({
        key,
        messageId,
        line: lineKey(destinationId, webhookId),
        startAt:
          round === 1 && before !== undefined ? Math.max(before.endAt + stopMs, now) : recorded,
        pixelsPerSecond,
        outcome,
        isSend: true,
      });
    }
    // An attempt that is neither in flight nor recent any more ended while nobody looked.
    for (const [key, { isSend, outcome }] of this.#legs)
      if (isSend && outcome === null && !named.has(key)) this.#legs.delete(key);
  }

  #isKnown(key: string, now: number): boolean {
    if (this.#seen.has(key)) return true;
    this.#seen.set(key, now);
    if (this.#seen.size > 8 * maxMarks)
      for (const [old] of [...this.#seen].slice(0, 4 * maxMarks)) this.#seen.delete(old);
    return false;
  }

  #start({
    key,
    pixelsPerSecond,
    ...leg
  }: Omit<Leg, "endAt" | "endedAt"> & { key: string; pixelsPerSecond: number }): void {
    const way = this.#ways.get(leg.line);
    if (way === undefined || this.#legs.size >= maxMarks) return;
    const endAt = leg.startAt + (way.length / pixelsPerSecond) * 1000;
    this.#legs.set(key, { ...leg, endAt, endedAt: null });
  }

  /** Takes one message out of the animation's time; the others go on. */
  hold(messageId: string, now: number): void {
    this.#held = { messageId, at: now };
  }

  release(): void {
    this.#held = null;
  }

  /** All of them, and forgets those whose way is over. */
  at(now: number): Mark[] {
    const marks: Mark[] = [];
    const piles = new Map<string, number>();
    for (const [key, leg] of this.#legs) {
      const isHeld = this.#held?.messageId === leg.messageId;
      const time = isHeld ? Math.min(now, (this.#held as { at: number }).at) : now;
      const way = this.#ways.get(leg.line);
      if (way === undefined) {
        this.#legs.delete(key);
        continue;
      }
      if (time < leg.startAt) continue;
      const { messageId, line } = leg;
      if (time < leg.endAt) {
        const share = (time - leg.startAt) / (leg.endAt - leg.startAt);
        marks.push({ ...positionOn(way, share * way.length), messageId, line, shows: "moves" });
      } else if (!leg.isSend) {
        if (time < leg.endAt + stopMs)
          marks.push({ ...positionOn(way, way.length), messageId, line, shows: "moves" });
        // The attempts of round 1 start where it ended: it is kept for as long as they may come.
        else if (time > leg.endAt + stopMs + 2 * replayMs) this.#legs.delete(key);
      } else if (leg.outcome === null) {
        const place = (piles.get(line) ?? 0) + 1;
        piles.set(line, place);
        const pixels = way.length - Math.min(place, 12) * pileGap;
        marks.push({ ...positionOn(way, pixels), messageId, line, shows: "waits" });
      } else {
        leg.endedAt ??= time;
        if (time < leg.endedAt + endMs)
          marks.push({ ...positionOn(way, way.length), messageId, line, shows: leg.outcome });
        else this.#legs.delete(key);
      }
    }
    return marks;
  }
}

/** Pixels a second for how the clock goes: faster, but never sixty times. */
export function markSpeed(mode: string, speed: number): number {
  if (mode !== "faster") return 150;
  return speed >= 600 ? 270 : speed >= 60 ? 230 : 190;
}
