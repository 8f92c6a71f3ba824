/** Deliveries that a mapping made, and their batches. */
export const mappedRequests = `
ALTER TABLE decisions ADD COLUMN mappings TEXT;
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
`;
