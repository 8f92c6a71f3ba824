/** Empties the pipeline: of messages and all that came of them, or of the configuration too. The settings stay. */

import type { Area, Changes, Endpoints, Pipeline } from "./pipeline.ts";
import type { UpkeepStore } from "./upkeep-ports.ts";

const ofMessages: Area[] = [
  "messages",
  "deliveries",
  "unknown-keys",
  "profiles",
  "audiences",
  "computed-traits",
  "deletions",
  "suppressions",
];
const ofConfiguration: Area[] = ["sources", "destinations", "endpoints", "retry-profiles"];

type Reloading = { reload(): void };

type ResetOptions = {
  store: Pick<UpkeepStore, "clearMessages" | "clearEverything">;
  workspaces: { stop(): void };
  clients: { reset: (what: "messages" | "everything") => void };
  station: { clear(empty: () => void): Promise<void> };
  configuration: Reloading;
  suppressions: Reloading;
  computations: Reloading;
  deletions: Reloading;
  endpoints: Pick<Endpoints, "list" | "clearReceived"> & Reloading;
  profiles: { kick(): void };
  changes: Changes;
};

export function createReset(options: ResetOptions): Pipeline["reset"] {
  const { store, workspaces, clients, station, configuration, suppressions, computations, deletions, endpoints, profiles, changes } =
    options;
  return async (what) => {
    const isAll = what === "everything";
    workspaces.stop();
    clients.reset(what);
    await station.clear(() => {
      if (isAll) store.clearEverything();
      else store.clearMessages();
    });
    for (const each of [configuration, suppressions, computations, deletions]) each.reload();
    for (const { id } of endpoints.list()) endpoints.clearReceived(id);
    if (isAll) endpoints.reload();
    profiles.kick();
    for (const area of isAll ? [...ofMessages, ...ofConfiguration] : ofMessages) changes.note(area, null);
  };
}
