/**
 * The tables of a new data file. Older files get them from `migrations/`: whoever changes a table
 * here adds a migration, and `open.test.ts` compares the two.
 */
export const schema = `
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

-- Configuration.
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
CREATE TABLE clients (id INTEGER PRIMARY KEY AUTOINCREMENT, body TEXT NOT NULL);

-- Messages. Bodies are kept once per request, as they came; a message is a span of its request's body.
-- Messages of a request have consecutive ids from first_message. States, types and outcomes are
-- numbers: places in the lists of domain/states.ts. Message and delivery states share their numbers,
-- so that a message's state is the smallest of its deliveries'. quota_bytes is what a rejected or
-- duplicate message takes of its quota, and null for all others. outcomes: how the attempts ended,
-- each way once: the number of the outcome, a colon and the status if there was one, as in
-- 0:200,1:503,2:. plan: 1 meets the tracking plan of its source, 0 violates it; what is wrong with it
-- is in extra.
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
  body BLOB NOT NULL,
  ip TEXT
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
  pinned INTEGER NOT NULL DEFAULT 0,
  quota_bytes INTEGER,
  outcomes TEXT,
  plan INTEGER
);
CREATE INDEX messages_pinned ON messages(id) WHERE pinned = 1;
CREATE INDEX messages_in_quota ON messages(id, pinned, quota_bytes) WHERE quota_bytes IS NOT NULL;
CREATE TABLE message_counts (
  source_id INTEGER NOT NULL,
  type INTEGER NOT NULL,
  state INTEGER NOT NULL,
  n INTEGER NOT NULL,
  PRIMARY KEY (source_id, type, state)
) WITHOUT ROWID;
CREATE TABLE unknown_key_requests (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  write_key TEXT NOT NULL,
  received_at INTEGER NOT NULL,
  wall_at INTEGER NOT NULL,
  method TEXT NOT NULL,
  path TEXT NOT NULL,
  headers TEXT NOT NULL,
  body BLOB NOT NULL,
  ip TEXT
);
CREATE INDEX unknown_key_requests_by_key ON unknown_key_requests(write_key, id);

-- Users, events and message ids are found through these, not through indexes (docs/decisions/0004).
-- A segment has the postings of its messages from first to before end; its state is 0 while it is
-- being written, 1 in use, 2 when its pieces are to be removed. entries is how many messages it listed
-- when it was written, left how many of them still exist. Piece n of a field (0 users, 1 message ids)
-- has the id (segment * 2 + field) * 1048576 + n: 0 is the directory, which has the first entry of
-- each piece, and the entries begin at 1.
CREATE TABLE postings (
  block INTEGER PRIMARY KEY,
  users BLOB NOT NULL,
  events BLOB NOT NULL,
  message_ids BLOB NOT NULL
);
CREATE TABLE posting_segments (
  id INTEGER PRIMARY KEY,
  level INTEGER NOT NULL,
  first INTEGER NOT NULL,
  end INTEGER NOT NULL,
  state INTEGER NOT NULL,
  entries INTEGER NOT NULL,
  left INTEGER NOT NULL
);
CREATE TABLE posting_pieces (id INTEGER PRIMARY KEY, entries BLOB NOT NULL);

-- What was decided about a message for a destination, and what its filters did with it.
CREATE TABLE decisions (
  message_id INTEGER NOT NULL,
  destination_id INTEGER NOT NULL,
  reason TEXT NOT NULL,
  detail TEXT NOT NULL,
  warnings TEXT,
  shape INTEGER NOT NULL,
  mappings TEXT,
  PRIMARY KEY (message_id, destination_id)
) WITHOUT ROWID;
CREATE TABLE filtered (
  message_id INTEGER NOT NULL,
  destination_id INTEGER NOT NULL,
  filters TEXT NOT NULL,
  before BLOB,
  after BLOB,
  PRIMARY KEY (message_id, destination_id)
);

-- Deliveries. Shape 2 is made by a mapping: its requests are made when it is queued. A batch is one
-- delivery with a part for each of its messages, in the order in which they arrived;
-- deliveries.message_id is the first of those that are still kept. A part outlives its message, because
-- the others were sent with it. Shape 3 sends filtered.after.
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
CREATE INDEX deliveries_window_queued ON deliveries(destination_id, first_attempt_at) WHERE state = 1 AND first_attempt_at IS NOT NULL;
CREATE TABLE delivery_counts (
  destination_id INTEGER NOT NULL,
  state INTEGER NOT NULL,
  n INTEGER NOT NULL,
  PRIMARY KEY (destination_id, state)
) WITHOUT ROWID;
CREATE TABLE mapped_requests (
  delivery_id INTEGER PRIMARY KEY,
  webhook_id INTEGER NOT NULL,
  url TEXT NOT NULL,
  method TEXT NOT NULL,
  headers TEXT NOT NULL,
  body BLOB,
  batch_key TEXT,
  parts INTEGER NOT NULL,
  bytes INTEGER NOT NULL
);
CREATE INDEX mapped_batches ON mapped_requests(webhook_id, batch_key, delivery_id) WHERE batch_key IS NOT NULL;
CREATE TABLE batch_parts (
  id INTEGER PRIMARY KEY,
  delivery_id INTEGER NOT NULL,
  message_id INTEGER,
  body BLOB
);
CREATE INDEX batch_parts_by_delivery ON batch_parts(delivery_id, id);
CREATE INDEX batch_parts_by_message ON batch_parts(message_id, delivery_id) WHERE message_id IS NOT NULL;
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

-- Profiles follow the messages: the row followed of meta is the newest message that has been looked
-- at, written in the same transaction as what came of it. An identity belongs to one profile; kind 0 is
-- a userId, 1 an anonymousId. A profile's user_id is the newest known one, null while it is anonymous;
-- its sources are a JSON list. profiles_known has all that a walk over the known users needs of a
-- profile, and nothing of anonymous ones. An event's id is the row of its message. What retention
-- removes is gone here as well. profiles.events counts them. Values, traits and properties are JSON
-- texts. A group's traits are {name: [value, at]}. Audiences send the email addresses of a profile
-- beside its userId. seen_names is for suggestions: the names of all traits (kind 0), of all events (1)
-- and of the properties of each event (2), in a JSON list, each with how often it was seen.
CREATE TABLE profiles (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  user_id TEXT,
  first_seen_at INTEGER NOT NULL,
  last_seen_at INTEGER NOT NULL,
  events INTEGER NOT NULL DEFAULT 0,
  sources TEXT NOT NULL DEFAULT '[]'
);
CREATE INDEX profiles_known ON profiles(id, user_id) WHERE user_id IS NOT NULL;
CREATE TABLE identities (
  kind INTEGER NOT NULL,
  value TEXT NOT NULL,
  profile_id INTEGER NOT NULL,
  since INTEGER NOT NULL,
  message_id INTEGER NOT NULL,
  PRIMARY KEY (kind, value)
) WITHOUT ROWID;
CREATE INDEX identities_by_profile ON identities(profile_id);
CREATE TABLE profile_traits (
  profile_id INTEGER NOT NULL,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  at INTEGER NOT NULL,
  message_id INTEGER NOT NULL,
  PRIMARY KEY (profile_id, name)
) WITHOUT ROWID;
CREATE TABLE profile_emails (
  profile_id INTEGER NOT NULL,
  email TEXT NOT NULL,
  PRIMARY KEY (profile_id, email)
) WITHOUT ROWID;
CREATE TABLE profile_events (
  id INTEGER PRIMARY KEY,
  profile_id INTEGER NOT NULL,
  event TEXT NOT NULL,
  at INTEGER NOT NULL,
  properties TEXT NOT NULL
);
CREATE INDEX profile_events_by_profile ON profile_events(profile_id, event, at);
CREATE TABLE groups (
  group_id TEXT PRIMARY KEY,
  traits TEXT NOT NULL,
  at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE profile_groups (
  profile_id INTEGER NOT NULL,
  group_id TEXT NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (profile_id, group_id)
) WITHOUT ROWID;
CREATE TABLE profile_history (
  id INTEGER PRIMARY KEY,
  profile_id INTEGER NOT NULL,
  at INTEGER NOT NULL,
  kind TEXT NOT NULL,
  body TEXT NOT NULL,
  message_id INTEGER NOT NULL
);
CREATE INDEX profile_history_by_profile ON profile_history(profile_id);
CREATE TABLE seen_names (
  kind INTEGER NOT NULL,
  event TEXT NOT NULL,
  names TEXT NOT NULL,
  PRIMARY KEY (kind, event)
) WITHOUT ROWID;

-- What receivers have been sent last about a user: true for an audience, else the value. It goes by
-- user and not by profile, because that is who receivers know. A row with null says only when to look
-- at a user again. computed_counts counts the other rows of each source; triggers keep it.
CREATE TABLE audiences (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  source_id INTEGER NOT NULL,
  body TEXT NOT NULL,
  members TEXT
);
CREATE TABLE computed_traits (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  source_id INTEGER NOT NULL,
  body TEXT NOT NULL
);
CREATE TABLE computed_values (
  source_id INTEGER NOT NULL,
  user_id TEXT NOT NULL,
  value TEXT NOT NULL,
  since INTEGER NOT NULL,
  recheck_at INTEGER,
  PRIMARY KEY (source_id, user_id)
) WITHOUT ROWID;
CREATE INDEX computed_values_by_user ON computed_values(user_id);
CREATE INDEX computed_values_to_recheck ON computed_values(source_id, recheck_at) WHERE recheck_at IS NOT NULL;
CREATE TRIGGER computed_value_told AFTER INSERT ON computed_values BEGIN
  INSERT INTO computed_counts VALUES (NEW.source_id, NEW.value <> 'null') ON CONFLICT DO UPDATE SET n = n + excluded.n;
END;
CREATE TRIGGER computed_value_changed AFTER UPDATE OF value ON computed_values BEGIN
  UPDATE computed_counts SET n = n + (NEW.value <> 'null') - (OLD.value <> 'null') WHERE source_id = NEW.source_id;
END;
CREATE TRIGGER computed_value_removed AFTER DELETE ON computed_values BEGIN
  UPDATE computed_counts SET n = n - (OLD.value <> 'null') WHERE source_id = OLD.source_id;
END;
CREATE TABLE computed_counts (source_id INTEGER PRIMARY KEY, n INTEGER NOT NULL);

-- A deletion request's user without a body is still to be deleted. state is that of a delete message
-- which retention has removed. send: whether receivers get the request.
CREATE TABLE deletions (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  requested_at INTEGER NOT NULL,
  suppress INTEGER NOT NULL,
  send INTEGER NOT NULL DEFAULT 1
);
CREATE TABLE deletion_users (
  deletion_id INTEGER NOT NULL,
  place INTEGER NOT NULL,
  user_id TEXT NOT NULL,
  body TEXT,
  PRIMARY KEY (deletion_id, place)
) WITHOUT ROWID;
CREATE INDEX deletion_users_left ON deletion_users(deletion_id) WHERE body IS NULL;
CREATE TABLE deletion_messages (
  message_id INTEGER PRIMARY KEY,
  deletion_id INTEGER NOT NULL,
  state INTEGER
);
CREATE INDEX deletion_messages_by_deletion ON deletion_messages(deletion_id);
CREATE TABLE suppressions (
  user_id TEXT PRIMARY KEY,
  since INTEGER NOT NULL,
  deletion_id INTEGER
) WITHOUT ROWID;
`;

/** The tables, indexes and triggers. */
export const schemaNames = [...schema.matchAll(/^CREATE (?:TABLE|INDEX|TRIGGER) (\w+)/gm)].map(
  ([, name = ""]) => name,
);
