/** Tracking plans, filters of destinations, and deletion requests that send nothing. */
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
