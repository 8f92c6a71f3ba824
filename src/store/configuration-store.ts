import {
  type CustomRetryProfile,
  type Destination,
  type Mapping,
  type Settings,
  type SimulatedClient,
  type Source,
  type TestEndpoint,
  defaultSettings,
} from "../domain/configuration.ts";
import type {
  ClientId,
  DestinationId,
  EndpointId,
  RetryProfileId,
  SourceId,
  WebhookId,
} from "../domain/ids.ts";
import type { ClockStore, StoredClock } from "../engine/clock/clock.ts";
import type {
  ClientStore,
  ConfigurationStore,
  DemoStore,
  EndpointStateStore,
  NewDestination,
  RefusedStore,
  StoredEndpointState,
  StoredRefusal,
} from "../engine/store-ports.ts";
import type { Db, Transactions } from "./transactions.ts";

type Row = { id: number; body: string };

/** What a run without a data file takes of the machine's memory, whatever is sent to it. */
const maxBytesInMemory = 250_000_000;

export function createConfigurationStore(
  db: Db,
  transactions: Transactions,
): ConfigurationStore & ClientStore & RefusedStore & EndpointStateStore & DemoStore {
  const meta = {
    get: db.prepare<[string], string>("SELECT value FROM meta WHERE key = ?").pluck(),
    set: db.prepare<[string, string]>(
      "INSERT INTO meta VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
    ),
  };
  const read = <T>(key: string): T | null => {
    const value = meta.get.get(key);
    return value === undefined ? null : (JSON.parse(value) as T);
  };

  const defaultMaxBytes = db.memory ? maxBytesInMemory : defaultSettings.maxBytes;

  return {
    ...sources(db, transactions),
    ...destinations(db, transactions),
    ...endpoints(db),
    ...retryProfiles(db),
    ...clients(db),
    defaultMaxBytes: () => defaultMaxBytes,
    settings: () => ({
      ...defaultSettings,
      maxBytes: defaultMaxBytes,
      ...read<Partial<Settings>>("settings"),
    }),
    // The default is another one when the data moves from memory to a file.
    saveSettings({ maxBytes, ...settings }) {
      const own = maxBytes === defaultMaxBytes ? settings : { ...settings, maxBytes };
      meta.set.run("settings", JSON.stringify(own));
    },
    setSynchronous: (mode) => void db.pragma(`synchronous = ${mode}`),
    refusedRequests: () => read<StoredRefusal[]>("refused") ?? [],
    saveRefusedRequests: (all) => void meta.set.run("refused", JSON.stringify(all)),
    endpointStates: () => read<StoredEndpointState[]>("endpoints") ?? [],
    saveEndpointStates: (all) => void meta.set.run("endpoints", JSON.stringify(all)),
    demo: () => read<{ next: number } | null>("demo"),
    saveDemo: (demo) => void meta.set.run("demo", JSON.stringify(demo)),
  };
}

/**
 * Rows as they were read last, by id. Every change of the configuration reads all of it, and of a
 * thousand rows one has changed.
 */
function cachedRows<Value>(
  transactions: Transactions,
  readAll: () => [id: number, Value][],
  readOne: (id: number) => Value | null,
) {
  let known: Map<number, Value> | null = null;
  const forget = (): void => {
    known = null;
  };
  transactions.onReload(forget);
  return {
    all(): Value[] {
      if (known === null) {
        transactions.onRollback(forget);
        known = new Map(readAll());
      }
      return [...known.values()];
    },
    /** Its row was written or removed. */
    changed(id: number): void {
      if (known === null) return;
      transactions.onRollback(forget);
      const value = readOne(id);
      if (value === null) known.delete(id);
      else known.set(id, value);
    },
  };
}

function sources(db: Db, transactions: Transactions) {
  const select = db.prepare<[], Row>("SELECT id, body FROM sources ORDER BY id");
  const selectOne = db.prepare<[number], Row>("SELECT id, body FROM sources WHERE id = ?");
  const insert = db.prepare<[string, string]>(
    "INSERT INTO sources (write_key, body) VALUES (?, ?)",
  );
  const update = db.prepare<[string, string, number]>(
    "UPDATE sources SET write_key = ?, body = ? WHERE id = ?",
  );
  const remove = db.prepare<[number]>("DELETE FROM sources WHERE id = ?");
  const sourceOf = ({ id, body }: Row): Source => ({
    plan: null,
    ...(JSON.parse(body) as Omit<Source, "plan"> & Partial<Pick<Source, "plan">>),
    id: id as SourceId,
  });
  const rows = cachedRows(
    transactions,
    () => select.all().map((row) => [row.id, sourceOf(row)]),
    (id) => {
      const row = selectOne.get(id);
      return row === undefined ? null : sourceOf(row);
    },
  );
  return {
    sources: () => rows.all(),
    insertSource: (source: Omit<Source, "id">): Source => {
      const { lastInsertRowid } = insert.run(source.writeKey, JSON.stringify(source));
      rows.changed(Number(lastInsertRowid));
      return { ...source, id: Number(lastInsertRowid) as SourceId };
    },
    updateSource: (source: Source): void => {
      update.run(source.writeKey, JSON.stringify(source), source.id);
      rows.changed(source.id);
    },
    deleteSource: (id: SourceId): void => {
      remove.run(id);
      rows.changed(id);
    },
  };
}

function destinations(db: Db, transactions: Transactions) {
  type Body = Omit<NewDestination, "webhooks">;
  type WebhookRow = { id: number; destination: number; url: string; headers: string };
  const select = db.prepare<[], Row>("SELECT id, body FROM destinations ORDER BY id");
  const selectOne = db.prepare<[number], Row>("SELECT id, body FROM destinations WHERE id = ?");
  const insert = db.prepare<[string]>("INSERT INTO destinations (body) VALUES (?)");
  const update = db.prepare<[string, number]>("UPDATE destinations SET body = ? WHERE id = ?");
  const remove = db.prepare<[number]>("DELETE FROM destinations WHERE id = ?");
  const columns = "id, destination_id AS destination, url, headers";
  const allWebhooks = db.prepare<[], WebhookRow>(
    `SELECT ${columns} FROM webhooks ORDER BY destination_id, position`,
  );
  const webhooks = db.prepare<[number], WebhookRow>(
    `SELECT ${columns} FROM webhooks WHERE destination_id = ? ORDER BY position`,
  );
  const insertWebhook = db.prepare<[number | undefined, number, number, string, string]>(
    "INSERT INTO webhooks VALUES (?, ?, ?, ?, ?)",
  );
  const removeWebhooks = db.prepare<[number]>("DELETE FROM webhooks WHERE destination_id = ?");

  const withWebhooks = (
    id: DestinationId,
    body: Body,
    stored: readonly WebhookRow[] = webhooks.all(id),
  ): Destination => {
    const rows = stored.map((row) => ({
      id: row.id as WebhookId,
      url: row.url,
      headers: JSON.parse(row.headers) as Record<string, string>,
    }));
    const mappings = (body.mappings ?? []).flatMap((mapping, place) => {
      const webhook = rows[place];
      return webhook === undefined ? [] : [{ ...mapping, id: webhook.id }];
    });
    // Stored before there were filters.
    const filters = (body as Partial<Body>).filters ?? [];
    return { ...body, id, kind: body.kind ?? "webhooks", webhooks: rows, mappings, filters };
  };
  const saveWebhooks = (id: DestinationId, list: NewDestination["webhooks"]): void => {
    removeWebhooks.run(id);
    for (const [position, webhook] of list.entries()) {
      insertWebhook.run(webhook.id, id, position, webhook.url, JSON.stringify(webhook.headers));
    }
  };
  const bodyOf = (destination: NewDestination & { id?: DestinationId }): Body => {
    const { webhooks: _webhooks, id: _id, ...body } = destination;
    const mappings = (body.mappings ?? []).map(
      ({ id: _own, ...mapping }: Partial<Mapping>) => mapping,
    );
    return { ...body, mappings: mappings as Body["mappings"] & {} };
  };

  const destinationOf = ({ id, body }: Row, stored?: readonly WebhookRow[]): Destination =>
    withWebhooks(id as DestinationId, JSON.parse(body) as Body, stored);
  const rows = cachedRows(
    transactions,
    () => {
      const ofDestination = Map.groupBy(allWebhooks.all(), ({ destination }) => destination);
      return select
        .all()
        .map((row) => [row.id, destinationOf(row, ofDestination.get(row.id) ?? [])]);
    },
    (id) => {
      const row = selectOne.get(id);
      return row === undefined ? null : destinationOf(row);
    },
  );

  return {
    destinations: () => rows.all(),
    insertDestination: transactions.wrap((destination: NewDestination): Destination => {
      const id = Number(
        insert.run(JSON.stringify(bodyOf(destination))).lastInsertRowid,
      ) as DestinationId;
      saveWebhooks(id, destination.webhooks);
      rows.changed(id);
      return withWebhooks(id, bodyOf(destination));
    }),
    updateDestination: transactions.wrap(
      (destination: NewDestination & { id: DestinationId }): Destination => {
        update.run(JSON.stringify(bodyOf(destination)), destination.id);
        saveWebhooks(destination.id, destination.webhooks);
        rows.changed(destination.id);
        return withWebhooks(destination.id, bodyOf(destination));
      },
    ),
    deleteDestination: (id: DestinationId): void => {
      remove.run(id);
      rows.changed(id);
    },
  };
}

function endpoints(db: Db) {
  const select = db.prepare<[], Row>("SELECT id, body FROM endpoints ORDER BY id");
  const insert = db.prepare<[string, string]>("INSERT INTO endpoints (path, body) VALUES (?, ?)");
  const update = db.prepare<[string, string, number]>(
    "UPDATE endpoints SET path = ?, body = ? WHERE id = ?",
  );
  const remove = db.prepare<[number]>("DELETE FROM endpoints WHERE id = ?");
  return {
    endpoints: (): TestEndpoint[] =>
      select
        .all()
        .map(({ id, body }) => ({ ...(JSON.parse(body) as TestEndpoint), id: id as EndpointId })),
    insertEndpoint: (endpoint: Omit<TestEndpoint, "id">): TestEndpoint => {
      const { lastInsertRowid } = insert.run(endpoint.path, JSON.stringify(endpoint));
      return { ...endpoint, id: Number(lastInsertRowid) as EndpointId };
    },
    updateEndpoint: (endpoint: TestEndpoint): void =>
      void update.run(endpoint.path, JSON.stringify(endpoint), endpoint.id),
    deleteEndpoint: (id: EndpointId): void => void remove.run(id),
  };
}

function retryProfiles(db: Db) {
  const select = db.prepare<[], Row>("SELECT id, body FROM retry_profiles ORDER BY id");
  const insert = db.prepare<[string, string]>(
    "INSERT INTO retry_profiles (name, body) VALUES (?, ?)",
  );
  const update = db.prepare<[string, string, number]>(
    "UPDATE retry_profiles SET name = ?, body = ? WHERE id = ?",
  );
  const remove = db.prepare<[number]>("DELETE FROM retry_profiles WHERE id = ?");
  return {
    retryProfiles: (): CustomRetryProfile[] =>
      select.all().map(({ id, body }) => ({
        ...(JSON.parse(body) as CustomRetryProfile),
        id: id as RetryProfileId,
      })),
    insertRetryProfile: (profile: Omit<CustomRetryProfile, "id">): CustomRetryProfile => {
      const { lastInsertRowid } = insert.run(profile.name, JSON.stringify(profile));
      return { ...profile, id: Number(lastInsertRowid) as RetryProfileId };
    },
    updateRetryProfile: (profile: CustomRetryProfile): void =>
      void update.run(profile.name, JSON.stringify(profile), profile.id),
    deleteRetryProfile: (id: RetryProfileId): void => void remove.run(id),
  };
}

function clients(db: Db) {
  const select = db.prepare<[], Row>("SELECT id, body FROM clients ORDER BY id");
  const insert = db.prepare<[string]>("INSERT INTO clients (body) VALUES (?)");
  const update = db.prepare<[string, number]>("UPDATE clients SET body = ? WHERE id = ?");
  const remove = db.prepare<[number]>("DELETE FROM clients WHERE id = ?");
  return {
    clients: (): SimulatedClient[] =>
      select
        .all()
        .map(({ id, body }) => ({ ...(JSON.parse(body) as SimulatedClient), id: id as ClientId })),
    insertClient: (client: Omit<SimulatedClient, "id">): SimulatedClient => {
      const { lastInsertRowid } = insert.run(JSON.stringify(client));
      return { ...client, id: Number(lastInsertRowid) as ClientId };
    },
    updateClient: (client: SimulatedClient): void =>
      void update.run(JSON.stringify(client), client.id),
    deleteClient: (id: ClientId): void => void remove.run(id),
  };
}

/**
 * Rows are in the order in which they were written. Those written close together may be out of the
 * order of their times.
 */
const newestRows = 256;

export function createClockStore(db: Db): ClockStore {
  const load = db.prepare<[], string>("SELECT value FROM meta WHERE key = 'clock'").pluck();
  const save = db.prepare<[string]>(
    "INSERT INTO meta VALUES ('clock', ?) ON CONFLICT DO UPDATE SET value = excluded.value",
  );
  /**
   * Times of the clock that the pipeline has written; what users and receivers say in a message is
   * none of them.
   */
  const recorded: readonly [table: string, time: string][] = [
    ["messages", "received_at"],
    ["attempts", "started_at"],
    ["transitions", "at"],
    ["unknown_key_requests", "received_at"],
    ["deletions", "requested_at"],
  ];
  const latest = recorded.map(([table, time]) =>
    db
      .prepare<[], number>(
        `SELECT coalesce(max(${time}), 0) FROM ${table} WHERE id > (SELECT max(id) FROM ${table}) - ${newestRows}`,
      )
      .pluck(),
  );

  return {
    loadClock() {
      const value = load.get();
      return value === undefined ? null : (JSON.parse(value) as StoredClock);
    },
    saveClock: (clock) => void save.run(JSON.stringify(clock)),
    latestRecordedAt: () => Math.max(...latest.map((each) => each.get() as number)),
  };
}
