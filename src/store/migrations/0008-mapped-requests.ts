/**
 * Deliveries that a mapping made (shape 2): their requests are made when they are queued. A batch is
 * one delivery with a part for each of its messages, in the order in which they arrived;
 * `deliveries.message_id` is the first of those that are still kept. A part outlives its message,
 * because the others were sent with it.
 */
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
