/**
 * Which deliveries an advance of the clock waits for: its own, which are those that existed when it
 * began and those that the pipeline created since. Deliveries of messages that arrived meanwhile
 * are arrivals: they are sent and retried like any other, but the advance does not wait for them.
 * Without an advance all deliveries are own.
 */

import type { Destination } from "../../domain/configuration.ts";
import type { DestinationId, MessageRowId } from "../../domain/ids.ts";
import type { Activity, Origin } from "../clock/activity.ts";
import type { Clock } from "../clock/clock.ts";
import type { CommittedMessage, DeliveryStore } from "../ports.ts";

type OwnDeliveriesOptions = {
  store: Pick<DeliveryStore, "newestRows" | "hasRunnableUpTo" | "hasUnsettledUpTo" | "unsettledOf">;
  destinations: () => Destination[];
  clock: Pick<Clock, "now">;
  activity: Activity;
};

const noAdvance = { message: Infinity, delivery: Infinity };

export class OwnDeliveries {
  readonly #options: OwnDeliveriesOptions;
  /** The newest rows when the advance began. */
  #newest = noAdvance;
  /** The newest of the advance's own deliveries: up to here, deliveries are claimed in order. */
  #upTo = Infinity;
  /** The advance's own messages since, oldest first, without settled ones at the front. */
  readonly #later = new Set<MessageRowId>();

  constructor(options: OwnDeliveriesOptions) {
    this.#options = options;
    options.activity.onAdvance((isUnderWay) => {
      this.#newest = isUnderWay ? options.store.newestRows() : noAdvance;
      this.#upTo = this.#newest.delivery;
      this.#later.clear();
    });
  }

  /** Messages were committed. Arrivals need no entry. */
  add(messages: readonly CommittedMessage[], origin: Origin): void {
    if (origin === "arrival" || messages.length === 0 || this.#newest === noAdvance) return;
    for (const { id } of messages) this.#later.add(id);
    this.#upTo = this.#options.store.newestRows().delivery;
  }

  originOf(message: MessageRowId): Origin {
    return message <= this.#newest.message || this.#later.has(message) ? "own" : "arrival";
  }

  /** Whether one is queued or due and not claimed yet. */
  isRunnable(destination: DestinationId): boolean {
    return this.#options.store.hasRunnableUpTo(destination, this.#options.clock.now(), this.#upTo);
  }

  /**
   * Whether one is queued, sending or waiting that can still move. At a disabled destination a batch
   * that collects cannot, as what is queued.
   */
  areUnsettled(): boolean {
    const { store, destinations } = this.#options;
    const enabled = new Set<DestinationId>();
    for (const { id, enabled: isEnabled } of destinations()) {
      if (isEnabled) enabled.add(id);
      if (store.hasUnsettledUpTo(id, isEnabled, this.#newest.delivery)) return true;
    }
    for (const message of this.#later) {
      const unsettled = store.unsettledOf(message);
      if (unsettled.length === 0) this.#later.delete(message);
      if (
        unsettled.some(
          ({ destinationId, state, hasWindow }) =>
            state === "sending" || (state === "waiting" && hasWindow) || enabled.has(destinationId),
        )
      )
        return true;
    }
    return false;
  }
}
