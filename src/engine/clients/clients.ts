/**
 * The simulated clients: what is set up is in the store, what they hold and have done is in memory, as with the clients of
 * other programs. Used through the control API. What they send arrives at the ingest port like anybody's.
 */

import type { SimulatedClient } from "../../domain/configuration.ts";
import { clientIds, type ClientId } from "../../domain/ids.ts";
import { conflict, isProblem, notFound, type Problem } from "../../domain/problem.ts";
import type { ClientStore } from "../store-ports.ts";
import type { Changes, ClientDetails, Clients, ClientView, Configuration } from "../pipeline.ts";
import { checkClient } from "./client-draft.ts";
import type { WireOptions } from "./client-wire.ts";
import { RunningClient } from "./simulated-client.ts";

/** A batch to our own port takes milliseconds; what is waiting for a retry is lost with the process, as with any client. */
const stopDeadlineMs = 1500;

/** Of a client that was deleted: for its tries, on the clock. */
const deletedDeadlineMs = 60_000;

type ClientsOptions = WireOptions & {
  store: ClientStore;
  configuration: Pick<Configuration, "source" | "sourceByWriteKey">;
  changes: Changes;
  seed: () => number;
  /** Asked again at the start. */
  ingestUrl: () => string;
};

type RunningClients = Clients & {
  /** The ingest port listens. */
  start(): void;
  /** Sends what they hold, under a deadline. */
  stop(): Promise<void>;
  /** What they hold and have done is gone; of `everything`, they too. */
  reset(what: "messages" | "everything"): void;
};

export function createClients({ store, configuration, changes, ...options }: ClientsOptions): RunningClients {
  const byId = new Map<ClientId, RunningClient>();
  /** Deleted ones, until they have sent what they held. */
  const leaving = new Set<RunningClient>();

  const note = (id: ClientId): void => changes.note("clients", clientIds.format(id));

  function run(settings: SimulatedClient): RunningClient {
    const client = new RunningClient({ ...options, settings, changed: () => note(settings.id) });
    byId.set(settings.id, client);
    return client;
  }

  const sourceOf = ({ settings }: RunningClient): Pick<ClientView, "sourceId"> => ({
    sourceId: configuration.sourceByWriteKey(settings.writeKey)?.id ?? null,
  });
  const view = (client: RunningClient): ClientView => ({ ...client.view(), ...sourceOf(client) });
  const details = (client: RunningClient): ClientDetails => ({ ...client.details(), ...sourceOf(client) });

  /** Does it with the client, and answers how it stands then. */
  function after(id: ClientId, act: (client: RunningClient) => void): ClientDetails | Problem {
    const client = byId.get(id);
    if (client === undefined) return missing(id);
    act(client);
    return details(client);
  }

  for (const settings of store.clients()) run(settings);

  return {
    list: () => Array.from(byId.values(), view),
    get(id) {
      const client = byId.get(id);
      return client === undefined ? undefined : details(client);
    },
    create(draft) {
      const checked = checkClient(draft, null, configuration);
      if (isProblem(checked)) return checked;
      const client = run(store.insertClient({ ...checked, createdAt: options.clock.now() }));
      note(client.settings.id);
      return details(client);
    },
    update(id, draft) {
      const client = byId.get(id);
      if (client === undefined) return missing(id);
      const checked = checkClient(draft, client.settings, configuration);
      if (isProblem(checked)) return checked;
      const settings = { ...client.settings, ...checked };
      store.updateClient(settings);
      client.change(settings);
      note(id);
      return details(client);
    },
    delete(id) {
      const client = byId.get(id);
      if (client === undefined) return missing(id);
      store.deleteClient(id);
      byId.delete(id);
      leaving.add(client);
      void client.close(deletedDeadlineMs).then(() => leaving.delete(client));
      note(id);
      return null;
    },
    call(id, type, call) {
      const client = byId.get(id);
      if (client === undefined) return missing(id);
      const made = client.call(type, call);
      return isProblem(made) ? made : { ...made, client: details(client) };
    },
    flush: (id) => after(id, (client) => client.flush()),
    close: (id, timeoutMs) => after(id, (client) => void client.close(timeoutMs)),
    reopen: (id) => after(id, (client) => client.reopen()),
    generate(id, count, perSecond) {
      const client = byId.get(id);
      if (client === undefined) return missing(id);
      if (client.view().state !== "running") return conflict("closed", "The client is closed. Start it again to let it make calls.");
      client.generate(count, perSecond);
      return details(client);
    },
    stopGenerating: (id) => after(id, (client) => client.stopGenerating()),
    batches: (id, limit, before) => byId.get(id)?.record.batches(limit, before) ?? missing(id),
    log: (id, limit, before) => byId.get(id)?.record.log(limit, before) ?? missing(id),
    start() {
      for (const client of byId.values()) client.arrived();
    },
    async stop() {
      await Promise.all([...byId.values(), ...leaving].map((client) => client.stop(stopDeadlineMs)));
    },
    reset(what) {
      for (const client of leaving) client.abandon();
      if (what === "messages") {
        for (const client of byId.values()) client.restart();
        return;
      }
      for (const client of byId.values()) client.abandon();
      byId.clear();
      changes.note("clients", null);
    },
  };
}

function missing(id: ClientId): Problem {
  return notFound("client", clientIds.format(id));
}
