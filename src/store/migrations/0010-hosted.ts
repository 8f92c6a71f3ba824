/**
 * Retry profiles from before they had `honourRetryAfter`; and the email addresses of each profile,
 * to which audiences send beside its userId: one of them is known from its trait.
 */
export const hosted = `
UPDATE retry_profiles SET body = json_set(body, '$.honourRetryAfter', json('false'));
CREATE TABLE profile_emails (
  profile_id INTEGER NOT NULL,
  email TEXT NOT NULL,
  PRIMARY KEY (profile_id, email)
) WITHOUT ROWID;
INSERT INTO profile_emails
  SELECT profile_id, json_extract(value, '$') FROM profile_traits
  WHERE name = 'email' AND json_type(value) = 'text' AND json_extract(value, '$') <> '';
`;
