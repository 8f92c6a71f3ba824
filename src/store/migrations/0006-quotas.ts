/**
 * What was not accepted (states 9 and 8) has a quota of its own, in bytes. The index holds their
 * sum, and the oldest of them.
 */
export const quotas = `
ALTER TABLE messages ADD COLUMN quota_bytes INTEGER;
UPDATE messages SET quota_bytes = size + 512 WHERE state IN (8, 9);
CREATE INDEX messages_in_quota ON messages(id, pinned, quota_bytes) WHERE quota_bytes IS NOT NULL;
`;
