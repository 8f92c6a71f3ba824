/**
 * The simulated clients, for the control API. Their settings are in the store; what they hold and
 * have done is in memory, as with the clients of other programs. What they send arrives at the
 * ingest port like that of any client.
 */

import type { SimulatedClient } from "../../domain/configuration.ts";
import { clientIds, sourceIds, type ClientId } from "../../domain/ids.ts";
import { conflict, invalid, isProblem, notFound, type Problem } from "../../domain/problem.ts";
import type { ClientStore } from "../store-ports.ts";
import type {
  Changes,
  ClientDetails,
  ClientDraft,
  Clients,
  ClientView,
  Configuration,
} from "../pipeline.ts";
import type { WireOptions } from "./client-wire.ts";
import { RunningClient } from "./simulated-client.ts";

/**
 * A batch to our own port takes milliseconds; a batch that waits for a retry is lost with the
 * process, as with any client.
 */
const stopDeadlineMs = 1500;

/** The time on the clock that a deleted client has to send what it holds. */
const deletedDeadlineMs = 60_000;

type ClientsOptions = WireOptions & {
  store: ClientStore;
  configuration: Pick<Configuration, "source" | "sourceByWriteKey">;
  changes: Changes;
  seed: () => number;
  /** Read again at the start. */
  ingestUrl: () => string;
  log: (sentence: string) => void;
};

type RunningClients = Clients & {
  /** Called when the ingest port listens. */
  start(): void;
  /** Sends what they hold, under a deadline. */
  stop(): Promise<void>;
  /** Removes what they hold and have done; with `everything`, the clients too. */
  reset(what: "messages" | "everything"): void;
};

export function createClients({
  store,
  configuration,
  changes,
  log,
  ...options
}: ClientsOptions): RunningClients {
  const { view, details } = createViews(configuration);
  const byId = new Map<ClientId, RunningClient>();
  /** Deleted clients, until they have sent what they held. */
  const closing = new Set<RunningClient>();

  const note = (id: ClientId): void => changes.note("clients", clientIds.format(id));

  function run(settings: SimulatedClient): RunningClient {
    const client = new RunningClient({ ...options, settings, changed: () => note(settings.id) });
    byId.set(settings.id, client);
    return client;
  }

  function withClient<Result>(
    id: ClientId,
    act: (client: RunningClient) => Result,
  ): Result | Problem {
    const client = byId.get(id);
    return client === undefined ? missing(id) : act(client);
  }
  const detailsAfter = (
    id: ClientId,
    act: (client: RunningClient) => void,
  ): ClientDetails | Problem =>
    withClient(id, (client) => {
      act(client);
      return details(client);
    });

  for (const settings of store.clients()) {
    try {
      run(settings);
    } catch (error) {
      // As one that an older version stored without a full check.
      const { message } = error as Error;
      log(
        `The simulated client ${settings.name} was removed, because it cannot run: ${message} Create it again.`,
      );
      store.deleteClient(settings.id);
    }
  }

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
    update: (id, draft) =>
      withClient(id, (client) => {
        const checked = checkClient(draft, client.settings, configuration);
        if (isProblem(checked)) return checked;
        const settings = { ...client.settings, ...checked };
        store.updateClient(settings);
        client.change(settings);
        note(id);
        return details(client);
      }),
    delete: (id) =>
      withClient(id, (client) => {
        store.deleteClient(id);
        byId.delete(id);
        closing.add(client);
        void client.close(deletedDeadlineMs).then(() => closing.delete(client));
        note(id);
        return null;
      }),
    call: (id, type, call) =>
      withClient(id, (client) => {
        const queued = client.call(type, call);
        return isProblem(queued) ? queued : { ...queued, client: details(client) };
      }),
    flush: (id) => detailsAfter(id, (client) => client.flush()),
    close: (id, timeoutMs) => detailsAfter(id, (client) => void client.close(timeoutMs)),
    reopen: (id) => detailsAfter(id, (client) => client.reopen()),
    generate: (id, count, perSecond) =>
      withClient(id, (client) => client.generate(count, perSecond) ?? details(client)),
    stopGenerating: (id) => detailsAfter(id, (client) => client.stopGenerating()),
    batches: (id, limit, before) =>
      withClient(id, (client) => client.record.batches(limit, before)),
    log: (id, limit, before) => withClient(id, (client) => client.record.log(limit, before)),
    start() {
      for (const client of byId.values()) client.useIngestUrl();
    },
    async stop() {
      await Promise.all(
        [...byId.values(), ...closing].map((client) => client.stop(stopDeadlineMs)),
      );
    },
    reset(what) {
      for (const client of closing) client.abandon();
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

/** What a client is, with the source that has its write key. */
function createViews(configuration: Pick<Configuration, "sourceByWriteKey">) {
  const sourceOf = ({ settings }: RunningClient): Pick<ClientView, "sourceId"> => ({
    sourceId: configuration.sourceByWriteKey(settings.writeKey)?.id ?? null,
  });
  return {
    view: (client: RunningClient): ClientView => ({ ...client.view(), ...sourceOf(client) }),
    details: (client: RunningClient): ClientDetails => ({
      ...client.details(),
      ...sourceOf(client),
    }),
  };
}

function missing(id: ClientId): Problem {
  return notFound("client", clientIds.format(id));
}

// Checks what a user wrote about a client, and fills in what was left out.

/** More than a batch of 500 KB can contain. */
const maxMessages = 10_000;
const maxFlushMs = 86_400_000;
const maxTextLength = 2_000;

type CheckedClient = Omit<SimulatedClient, "id" | "createdAt">;

function checkClient(
  draft: Partial<ClientDraft>,
  before: SimulatedClient | null,
  configuration: Pick<Configuration, "source">,
): CheckedClient | Problem {
  const { sourceId, name = before?.name ?? "" } = draft;
  if (name.trim() === "") return invalid("A client needs a name.");
  if (sourceId !== undefined && draft.writeKey !== undefined)
    return invalid("Pass either sourceId or writeKey, not both.");
  const source = sourceId === undefined ? undefined : configuration.source(sourceId);
  if (sourceId !== undefined && source === undefined)
    return invalid(`There is no source ${sourceIds.format(sourceId)}.`);
  if (source?.kind === "audience")
    return conflict(
      "audience_source",
      `Only the audience or computed trait ${source.name} sends from this source. Choose another one.`,
    );
  const writeKey = source?.writeKey ?? draft.writeKey ?? before?.writeKey;
  if (writeKey === undefined)
    return invalid("A client needs a source, or a write key: pass sourceId or writeKey.");
  const { wire = before?.wire ?? "v2.1" } = draft;
  const { strict = before?.strict ?? wire !== "v3" } = draft;
  const {
    flushAt = before?.flushAt ?? (wire === "v3" ? 250 : 20),
    flushAfter = before?.flushAfter ?? 5000,
  } = draft;
  if (!(Number.isInteger(flushAt) && flushAt >= 1 && flushAt <= maxMessages)) {
    return invalid(`flushAt must be a whole number of messages from 1 to ${maxMessages}.`);
  }
  if (!(Number.isInteger(flushAfter) && flushAfter >= 1 && flushAfter <= maxFlushMs)) {
    return invalid(`flushAfter must be a whole number of milliseconds from 1 to ${maxFlushMs}.`);
  }
  const endpoint = draft.endpoint === undefined ? (before?.endpoint ?? null) : draft.endpoint;
  if (endpoint !== null && !isHttp(endpoint)) {
    return invalid(
      "endpoint must be a full http or https URL, such as http://127.0.0.1:4700, or null for Hookyard's own ingest port.",
    );
  }
  if (Math.max(name.length, writeKey.length, endpoint?.length ?? 0) > maxTextLength) {
    return invalid(
      `The name, the write key and the endpoint may have at most ${maxTextLength} characters each.`,
    );
  }
  return { name, writeKey, wire, flushAt, flushAfter, endpoint, strict };
}

/** Also with the path that the client library appends: a space between port and path is invalid. */
function isHttp(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && URL.canParse(`${text}/v1/batch`);
}
