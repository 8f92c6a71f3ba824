/**
 * Profiles, audiences, computed traits and deletions. What is not obvious from the names:
 *
 * - Profiles follow the messages: `meta.followed` is the newest message that has been looked at, written in the
 *   same transaction as what came of it.
 * - An identity belongs to one profile; kind 0 is a userId, 1 an anonymousId. A profile's `user_id` is the newest
 *   known one, null while it is anonymous.
 * - An event's id is the row of its message. What retention removes is gone here as well.
 * - Values, traits and properties are JSON texts.
 * - `computed_values` says what receivers were told last about a user: `true` and `false` for audiences, else the
 *   value. It goes by user and not by profile, because that is who receivers know.
 */
export const profiles = `
CREATE TABLE profiles (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  user_id TEXT,
  first_seen_at INTEGER NOT NULL,
  last_seen_at INTEGER NOT NULL
);
CREATE INDEX profiles_by_last_seen ON profiles(last_seen_at, id);
CREATE INDEX profiles_by_user ON profiles(user_id) WHERE user_id IS NOT NULL;

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

CREATE TABLE audiences (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  key TEXT NOT NULL,
  source_id INTEGER NOT NULL,
  body TEXT NOT NULL
);
CREATE TABLE computed_traits (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  key TEXT NOT NULL,
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
CREATE INDEX computed_values_to_recheck ON computed_values(recheck_at) WHERE recheck_at IS NOT NULL;

CREATE TABLE deletions (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  requested_at INTEGER NOT NULL,
  body TEXT NOT NULL
);
CREATE TABLE deletion_messages (
  deletion_id INTEGER NOT NULL,
  user_id TEXT NOT NULL,
  message_id INTEGER NOT NULL,
  PRIMARY KEY (deletion_id, message_id)
) WITHOUT ROWID;
CREATE TABLE suppressions (
  user_id TEXT PRIMARY KEY,
  since INTEGER NOT NULL,
  deletion_id INTEGER
) WITHOUT ROWID;
`;
