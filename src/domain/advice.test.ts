import { expect, test } from "vitest";
import { adviceLanguages, fixes } from "./advice.ts";

test("the code for copies does each message once, and each of two deletions of a user", async () => {
  const seen = new Set<string>();
  const tx = {
    run(_: string, [id]: [unknown]) {
      if (typeof id !== "string") throw new Error("A primary key has a value.");
      const changes = seen.has(id) ? 0 : 1;
      seen.add(id);
      return { changes };
    },
  };
  const done: string[] = [];
  // oxlint-disable-next-line typescript/no-implied-eval -- the code that a report shows
  const handle = new Function(
    ...["db", "message", "bookOrder", "response"],
    `return (async () => { ${fixes.idempotency.code("node")} })();`,
  ) as (...given: unknown[]) => Promise<void>;
  const db = { transaction: (work: (one: typeof tx) => Promise<void>) => work(tx) };
  const response = { writeHead: () => response, end: () => undefined };
  const book = (_: typeof tx, { name }: { name: string }): void => void done.push(name);
  const deletion = { type: "delete", userId: "u1" };
  for (const message of [
    { name: "an order", messageId: "m1", userId: "u1" },
    { name: "a deletion", ...deletion, timestamp: "2026-11-21T10:00:00.000Z" },
    { name: "another order", messageId: "m2", userId: "u1" },
    { name: "another deletion", ...deletion, timestamp: "2026-11-22T10:00:00.000Z" },
  ])
    for (const copy of [message, message]) await handle(db, copy, book, response);
  expect(done).toEqual(["an order", "a deletion", "another order", "another deletion"]);
});

test.for(adviceLanguages)("the code for copies in %s knows deletions by user and time", (name) => {
  expect(fixes.idempotency.code(name)).toMatch(/delete .*userid.*timestamp/i);
});
