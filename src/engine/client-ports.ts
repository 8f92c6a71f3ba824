/** What the simulated clients need of a store: how they are set up. What they hold is in memory only. See `ports.ts`. */

import type { SimulatedClient } from "../domain/configuration.ts";
import type { ClientId } from "../domain/ids.ts";

export type ClientStore = {
  clients(): SimulatedClient[];
  insertClient(client: Omit<SimulatedClient, "id">): SimulatedClient;
  updateClient(client: SimulatedClient): void;
  deleteClient(id: ClientId): void;
};
