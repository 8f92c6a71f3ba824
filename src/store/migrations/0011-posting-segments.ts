/** Postings of many blocks in one. */
export const postingSegments = `
CREATE TABLE posting_segments (
  id INTEGER PRIMARY KEY,
  level INTEGER NOT NULL,
  first INTEGER NOT NULL,
  end INTEGER NOT NULL,
  state INTEGER NOT NULL,
  entries INTEGER NOT NULL,
  left INTEGER NOT NULL
);
CREATE TABLE posting_pieces (id INTEGER PRIMARY KEY, entries BLOB NOT NULL);
`;
