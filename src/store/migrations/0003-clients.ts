/** Simulated clients, as they were set up; what they hold is in memory only. */
export const clients = `
CREATE TABLE clients (id INTEGER PRIMARY KEY AUTOINCREMENT, body TEXT NOT NULL);
`;
