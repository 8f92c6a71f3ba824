/**
 * The address that a request came from, for messages that are accepted again; and the way to what
 * is queued again in an open window, which ends while its destination is disabled.
 */
export const held = `
ALTER TABLE requests ADD COLUMN ip TEXT;
ALTER TABLE unknown_key_requests ADD COLUMN ip TEXT;
CREATE INDEX deliveries_window_queued ON deliveries(destination_id, first_attempt_at) WHERE state = 1 AND first_attempt_at IS NOT NULL;
`;
