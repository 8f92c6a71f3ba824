/** The first tables. What is not obvious from the names is in `schema.ts`. */
export const first = `
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE sources (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  write_key TEXT NOT NULL UNIQUE,
  body TEXT NOT NULL
);
CREATE TABLE destinations (id INTEGER PRIMARY KEY AUTOINCREMENT, body TEXT NOT NULL);
CREATE TABLE webhooks (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  destination_id INTEGER NOT NULL REFERENCES destinations(id) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  url TEXT NOT NULL,
  headers TEXT NOT NULL
);
CREATE INDEX webhooks_by_destination ON webhooks(destination_id, position);
CREATE TABLE endpoints (id INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT NOT NULL UNIQUE, body TEXT NOT NULL);
CREATE TABLE retry_profiles (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, body TEXT NOT NULL);

CREATE TABLE requests (
  id INTEGER PRIMARY KEY,
  source_id INTEGER NOT NULL,
  received_at INTEGER NOT NULL,
  wall_at INTEGER NOT NULL,
  method TEXT NOT NULL,
  path TEXT NOT NULL,
  headers TEXT NOT NULL,
  first_message INTEGER NOT NULL,
  messages INTEGER NOT NULL,
  body BLOB NOT NULL
);

CREATE TABLE messages (
  id INTEGER PRIMARY KEY,
  request_id INTEGER NOT NULL,
  offset INTEGER NOT NULL,
  size INTEGER NOT NULL,
  message_id TEXT NOT NULL,
  source_id INTEGER NOT NULL,
  type INTEGER NOT NULL,
  state INTEGER NOT NULL,
  user_id TEXT,
  anonymous_id TEXT,
  event TEXT,
  received_at INTEGER NOT NULL,
  timestamp INTEGER NOT NULL,
  reason TEXT,
  extra TEXT,
  attempts INTEGER NOT NULL DEFAULT 0,
  last_status INTEGER,
  pinned INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX messages_by_kind ON messages(source_id, type, state);
CREATE INDEX messages_pinned ON messages(id) WHERE pinned = 1;

CREATE TABLE message_counts (
  source_id INTEGER NOT NULL,
  type INTEGER NOT NULL,
  state INTEGER NOT NULL,
  n INTEGER NOT NULL,
  PRIMARY KEY (source_id, type, state)
) WITHOUT ROWID;

CREATE TABLE postings (
  block INTEGER PRIMARY KEY,
  users BLOB NOT NULL,
  events BLOB NOT NULL,
  message_ids BLOB NOT NULL
);

CREATE TABLE decisions (
  message_id INTEGER NOT NULL,
  destination_id INTEGER NOT NULL,
  reason TEXT NOT NULL,
  detail TEXT NOT NULL,
  warnings TEXT,
  shape INTEGER NOT NULL,
  PRIMARY KEY (message_id, destination_id)
) WITHOUT ROWID;

CREATE TABLE payloads (message_id INTEGER PRIMARY KEY, documented BLOB, full BLOB);

CREATE TABLE deliveries (
  id INTEGER PRIMARY KEY,
  message_id INTEGER NOT NULL,
  destination_id INTEGER NOT NULL,
  state INTEGER NOT NULL,
  shape INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  rounds INTEGER NOT NULL DEFAULT 0,
  window_round INTEGER NOT NULL DEFAULT 1,
  first_attempt_at INTEGER,
  next_attempt_at INTEGER,
  reason TEXT
);
CREATE INDEX deliveries_by_message ON deliveries(message_id);
CREATE INDEX deliveries_by_state ON deliveries(destination_id, state);
CREATE INDEX deliveries_due ON deliveries(destination_id, next_attempt_at) WHERE state = 2;
CREATE INDEX deliveries_window ON deliveries(destination_id, first_attempt_at) WHERE state = 2;

CREATE TABLE delivery_counts (
  destination_id INTEGER NOT NULL,
  state INTEGER NOT NULL,
  n INTEGER NOT NULL,
  PRIMARY KEY (destination_id, state)
) WITHOUT ROWID;

CREATE TABLE attempts (
  id INTEGER PRIMARY KEY,
  delivery_id INTEGER NOT NULL,
  round INTEGER NOT NULL,
  webhook_id INTEGER NOT NULL,
  webhook_url TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  duration_ms REAL NOT NULL,
  phases TEXT NOT NULL,
  simulated INTEGER NOT NULL,
  outcome INTEGER NOT NULL,
  retryable INTEGER NOT NULL,
  error_code TEXT,
  error_message TEXT,
  request_head TEXT NOT NULL,
  status INTEGER,
  response_head TEXT,
  response_body BLOB,
  response_length INTEGER
);
CREATE INDEX attempts_by_delivery ON attempts(delivery_id);

CREATE TABLE transitions (
  id INTEGER PRIMARY KEY,
  delivery_id INTEGER NOT NULL,
  at INTEGER NOT NULL,
  state INTEGER NOT NULL,
  reason TEXT NOT NULL,
  next_attempt_at INTEGER
);
CREATE INDEX transitions_by_delivery ON transitions(delivery_id);

CREATE TABLE unknown_key_requests (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  write_key TEXT NOT NULL,
  received_at INTEGER NOT NULL,
  wall_at INTEGER NOT NULL,
  method TEXT NOT NULL,
  path TEXT NOT NULL,
  headers TEXT NOT NULL,
  body BLOB NOT NULL
);
CREATE INDEX unknown_key_requests_by_key ON unknown_key_requests(write_key, id);
`;
