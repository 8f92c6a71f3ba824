/**
 * What was not accepted has a quota of its own, in bytes: `quota_bytes` is what a rejected or
 * duplicate message (states 9 and 8) takes of it, and null for all others. The index holds their
 * sum, and the oldest of them.
 */
export const quotas = `
ALTER TABLE messages ADD COLUMN quota_bytes INTEGER;
UPDATE messages SET quota_bytes = size + 512 WHERE state IN (8, 9);
CREATE INDEX messages_in_quota ON messages(id, pinned, quota_bytes) WHERE quota_bytes IS NOT NULL;
`;
