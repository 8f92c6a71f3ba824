/**
 * Fewer pages for a message that profiles follow. The list of profiles has its order in memory, and
 * a userId is found among the identities, so `profiles` needs neither index. Its sources are in its
 * own row, and names for suggestions in one row for each list.
 */
export const following = `
DROP INDEX profiles_by_last_seen;
DROP INDEX profiles_by_user;
ALTER TABLE profiles ADD COLUMN sources TEXT NOT NULL DEFAULT '[]';
UPDATE profiles SET sources = (
  SELECT json_group_array(source_id) FROM (
    SELECT source_id FROM profile_sources WHERE profile_id = profiles.id ORDER BY source_id
  )
);
DROP TABLE profile_sources;
ALTER TABLE seen_names RENAME TO seen_one_by_one;
CREATE TABLE seen_names (
  kind INTEGER NOT NULL,
  event TEXT NOT NULL,
  names TEXT NOT NULL,
  PRIMARY KEY (kind, event)
) WITHOUT ROWID;
INSERT INTO seen_names
  SELECT kind, event, json_group_array(json_array(name, n)) FROM seen_one_by_one GROUP BY kind, event;
DROP TABLE seen_one_by_one;
`;
