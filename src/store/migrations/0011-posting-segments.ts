/**
 * Postings of many blocks in one. A segment has the entries of its messages from `first` to before
 * `end`; `state` is 0 while it is being written, 1 in use, 2 when its pieces are to be removed.
 * `entries` is how many messages it listed when it was written, `left` how many of them still exist.
 * Piece `n` of a field (0 users, 1 message ids) has the id `(segment * 2 + field) * 1048576 + n`:
 * 0 is the directory, which has the first entry of each piece, and the entries begin at 1.
 */
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
