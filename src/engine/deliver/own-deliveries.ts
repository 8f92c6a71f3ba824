/**
 * Which deliveries an advance of the clock waits for: those that were there when it began, and those that the pipeline
 * made itself since. Deliveries of messages that came in meanwhile are arrivals: sent and retried like any other, waited for by
 * nobody. Used by the station; without an advance under way all deliveries are own.
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
  /** The newest delivery of the advance's own: up to here, what waits to be claimed is claimed in order. */
  #upTo = Infinity;
  /** The advance's own messages since, oldest first, without those at the front that are settled. */
  readonly #later = new Set<MessageRowId>();

  constructor(options: OwnDeliveriesOptions) {
    this.#options = options;
    options.activity.onAdvance((isUnderWay) => {
      this.#newest = isUnderWay ? options.store.newestRows() : noAdvance;
      this.#upTo = this.#newest.delivery;
      this.#later.clear();
    });
  }

  /** Messages were committed; of those that are arrivals nothing need be known. */
  add(messages: readonly CommittedMessage[], origin: Origin): void {
    if (origin === "arrival" || messages.length === 0 || this.#newest === noAdvance) return;
    for (const { id } of messages) this.#later.add(id);
    this.#upTo = this.#options.store.newestRows().delivery;
  }

  originOf(message: MessageRowId): Origin {
    return message <= this.#newest.message || this.#later.has(message) ? "own" : "arrival";
  }

  /** Whether one is queued or due that has not been claimed yet. */
  isRunnable(destination: DestinationId): boolean {
    return this.#options.store.hasRunnableUpTo(destination, this.#options.clock.now(), this.#upTo);
  }

  /** Whether one is queued, sending or waiting that can still move. */
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
      if (unsettled.some(({ destinationId, state }) => state !== "queued" || enabled.has(destinationId))) return true;
    }
    return false;
  }
}
