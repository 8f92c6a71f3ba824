/**
 * Profiles, audiences, computed traits and deletions. `seen_names` has a row for each name: of
 * traits (kind 0), of events (1) and of their properties (2).
 */
export const profiles = `
CREATE TABLE profiles (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  user_id TEXT,
  first_seen_at INTEGER NOT NULL,
  last_seen_at INTEGER NOT NULL,
  events INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX profiles_by_last_seen ON profiles(last_seen_at, id);
CREATE INDEX profiles_by_user ON profiles(user_id) WHERE user_id IS NOT NULL;
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

CREATE TABLE profile_sources (
  profile_id INTEGER NOT NULL,
  source_id INTEGER NOT NULL,
  PRIMARY KEY (profile_id, source_id)
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
  name TEXT NOT NULL,
  n INTEGER NOT NULL,
  PRIMARY KEY (kind, event, name)
) WITHOUT ROWID;

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

CREATE TABLE computed_counts (source_id INTEGER PRIMARY KEY, n INTEGER NOT NULL);
CREATE TRIGGER computed_value_told AFTER INSERT ON computed_values BEGIN
  INSERT INTO computed_counts VALUES (NEW.source_id, NEW.value <> 'null') ON CONFLICT DO UPDATE SET n = n + excluded.n;
END;
CREATE TRIGGER computed_value_changed AFTER UPDATE OF value ON computed_values BEGIN
  UPDATE computed_counts SET n = n + (NEW.value <> 'null') - (OLD.value <> 'null') WHERE source_id = NEW.source_id;
END;
CREATE TRIGGER computed_value_removed AFTER DELETE ON computed_values BEGIN
  UPDATE computed_counts SET n = n - (OLD.value <> 'null') WHERE source_id = OLD.source_id;
END;

CREATE TABLE deletions (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  requested_at INTEGER NOT NULL,
  suppress INTEGER NOT NULL
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
