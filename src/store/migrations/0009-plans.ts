/**
 * Whether a message meets the tracking plan of its source: 1, or 0 when it violates it; null without
 * a plan. What is wrong with it is in `extra`. And what the filters of a destination did with a
 * message: a delivery of shape 3 sends `after`, where they changed its payload. Deletion requests
 * may send nothing.
 */
export const plans = `
ALTER TABLE messages ADD COLUMN plan INTEGER;
ALTER TABLE deletions ADD COLUMN send INTEGER NOT NULL DEFAULT 1;
CREATE TABLE filtered (
  message_id INTEGER NOT NULL,
  destination_id INTEGER NOT NULL,
  filters TEXT NOT NULL,
  before BLOB,
  after BLOB,
  PRIMARY KEY (message_id, destination_id)
);
`;
