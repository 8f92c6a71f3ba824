/** Timers in the order in which they are due; those of one time in the order in which they were set. */

export type Timer = { at: number; background: boolean; run: () => void };

export class Timers {
  /** Latest first, so that the next one is taken off the end. */
  #sorted: Timer[] = [];
  #foreground = 0;

  add(timer: Timer): void {
    let low = 0;
    let high = this.#sorted.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#sorted[middle]?.at ?? 0) > timer.at) low = middle + 1;
      else high = middle;
    }
    this.#sorted.splice(low, 0, timer);
    if (!timer.background) this.#foreground += 1;
  }

  remove(timer: Timer): void {
    const place = this.#sorted.indexOf(timer);
    if (place < 0) return;
    this.#sorted.splice(place, 1);
    if (!timer.background) this.#foreground -= 1;
  }

  next(): Timer | undefined {
    return this.#sorted.at(-1);
  }

  takeDue(now: number): Timer | undefined {
    const next = this.next();
    if (next === undefined || next.at > now) return undefined;
    this.#sorted.pop();
    if (!next.background) this.#foreground -= 1;
    return next;
  }

  hasForeground(): boolean {
    return this.#foreground > 0;
  }
}
