/** What parts of the pipeline announce to others that they do not know. Listeners run in the order in which they were added. */

import type { DestinationId } from "../domain/ids.ts";
import type { Origin } from "./clock/activity.ts";
import type { CommittedMessage } from "./ports.ts";
import type { ProfileChange } from "./profile-ports.ts";

type Signal<Args extends unknown[]> = { on(listener: (...args: Args) => void): void; emit(...args: Args): void };

export function createSignals() {
  return {
    /** Messages are in the store. */
    committed: signal<[messages: readonly CommittedMessage[], origin: Origin]>(),
    /** A slice of messages was applied to profiles; listeners write within its transaction. */
    profilesChanged: signal<[changes: readonly ProfileChange[]]>(),
    attemptsRecorded: signal<[count: number]>(),
    configurationChanged: signal<[]>(),
    destinationDeleted: signal<[id: DestinationId]>(),
    /** Due times were missed, because the machine slept or the process did not run. */
    overdue: signal<[]>(),
  };
}

function signal<Args extends unknown[]>(): Signal<Args> {
  const listeners: ((...args: Args) => void)[] = [];
  return {
    on: (listener) => void listeners.push(listener),
    emit: (...args) => {
      for (const listener of listeners) listener(...args);
    },
  };
}
