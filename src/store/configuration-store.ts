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
import type { ClockStore, StoredClock } from "../engine/ports.ts";
import type {
  ClientStore,
  ConfigurationStore,
  DemoStore,
  NewDestination,
  RefusedStore,
  StoredRefusal,
} from "../engine/store-ports.ts";
import type { Db } from "./transactions.ts";

type Row = { id: number; body: string };

export function createConfigurationStore(
  db: Db,
): ConfigurationStore & ClientStore & RefusedStore & DemoStore {
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

  return {
    ...sources(db),
    ...destinations(db),
    ...endpoints(db),
    ...retryProfiles(db),
    ...clients(db),
    settings: () => ({ ...defaultSettings, ...read<Partial<Settings>>("settings") }),
    saveSettings: (settings) => void meta.set.run("settings", JSON.stringify(settings)),
    setSynchronous: (mode) => void db.pragma(`synchronous = ${mode}`),
    refusedRequests: () => read<StoredRefusal[]>("refused") ?? [],
    saveRefusedRequests: (all) => void meta.set.run("refused", JSON.stringify(all)),
    demo: () => read<{ next: number } | null>("demo"),
    saveDemo: (demo) => void meta.set.run("demo", JSON.stringify(demo)),
  };
}

function sources(db: Db) {
  const select = db.prepare<[], Row>("SELECT id, body FROM sources ORDER BY id");
  const insert = db.prepare<[string, string]>(
    "INSERT INTO sources (write_key, body) VALUES (?, ?)",
  );
  const update = db.prepare<[string, string, number]>(
    "UPDATE sources SET write_key = ?, body = ? WHERE id = ?",
  );
  const remove = db.prepare<[number]>("DELETE FROM sources WHERE id = ?");
  return {
    sources: (): Source[] =>
      select.all().map(({ id, body }) => ({
        plan: null,
        ...(JSON.parse(body) as Omit<Source, "plan"> & Partial<Pick<Source, "plan">>),
        id: id as SourceId,
      })),
    insertSource: (source: Omit<Source, "id">): Source => {
      const { lastInsertRowid } = insert.run(source.writeKey, JSON.stringify(source));
      return { ...source, id: Number(lastInsertRowid) as SourceId };
    },
    updateSource: (source: Source): void =>
      void update.run(source.writeKey, JSON.stringify(source), source.id),
    deleteSource: (id: SourceId): void => void remove.run(id),
  };
}

function destinations(db: Db) {
  type Body = Omit<NewDestination, "webhooks">;
  const select = db.prepare<[], Row>("SELECT id, body FROM destinations ORDER BY id");
  const insert = db.prepare<[string]>("INSERT INTO destinations (body) VALUES (?)");
  const update = db.prepare<[string, number]>("UPDATE destinations SET body = ? WHERE id = ?");
  const remove = db.prepare<[number]>("DELETE FROM destinations WHERE id = ?");
  const webhooks = db.prepare<[number], { id: number; url: string; headers: string }>(
    "SELECT id, url, headers FROM webhooks WHERE destination_id = ? ORDER BY position",
  );
  const insertWebhook = db.prepare<[number | undefined, number, number, string, string]>(
    "INSERT INTO webhooks VALUES (?, ?, ?, ?, ?)",
  );
  const removeWebhooks = db.prepare<[number]>("DELETE FROM webhooks WHERE destination_id = ?");

  const withWebhooks = (id: DestinationId, body: Body): Destination => {
    const rows = webhooks.all(id).map((row) => ({
      id: row.id as WebhookId,
      url: row.url,
      headers: JSON.parse(row.headers) as Record<string, string>,
    }));
    const mappings = (body.mappings ?? []).flatMap((mapping, place) => {
      const webhook = rows[place];
      return webhook === undefined ? [] : [{ ...mapping, id: webhook.id }];
    });
    return { ...body, id, kind: body.kind ?? "webhooks", webhooks: rows, mappings };
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

  return {
    destinations: (): Destination[] =>
      select
        .all()
        .map(({ id, body }) => withWebhooks(id as DestinationId, JSON.parse(body) as Body)),
    insertDestination: db.transaction((destination: NewDestination): Destination => {
      const id = Number(
        insert.run(JSON.stringify(bodyOf(destination))).lastInsertRowid,
      ) as DestinationId;
      saveWebhooks(id, destination.webhooks);
      return withWebhooks(id, bodyOf(destination));
    }),
    updateDestination: db.transaction(
      (destination: NewDestination & { id: DestinationId }): Destination => {
        update.run(JSON.stringify(bodyOf(destination)), destination.id);
        saveWebhooks(destination.id, destination.webhooks);
        return withWebhooks(destination.id, bodyOf(destination));
      },
    ),
    deleteDestination: (id: DestinationId): void => void remove.run(id),
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
