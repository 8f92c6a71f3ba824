import fc from "fast-check";
import { expect, test } from "vitest";
import { parseBody } from "../engine/ingest/read-request.ts";
import { follow } from "../engine/profiles/follow.ts";
import type { DestinationId, ProfileId } from "../domain/ids.ts";
import { createPayloadReader, withoutSharedPart } from "./shared-bytes.ts";
import {
  storedFacts,
  openTestStore,
  request,
  startOfTime,
  type TestStore,
} from "./store.fixture.ts";
import { anyCharacter } from "../../test/support/any-character.ts";

const long = Array.from({ length: 3000 }, (_, n) => `word${n}`).join(" ");

/** A message in a request beside others, and what is stored of a payload beside it. */
function roundTrip(payload: Buffer, before: string, message: string) {
  const { db } = openTestStore();
  const body = Buffer.from(`${before}${message},{}]`);
  const span = { body, offset: Buffer.byteLength(before), size: Buffer.byteLength(message) };
  db.prepare("INSERT INTO requests VALUES (7, 1, 0, 0, 'POST', '/', '[]', 5, 1, ?, NULL)").run(
    body,
  );
  db.prepare(
    `INSERT INTO messages (id, request_id, offset, size, message_id, source_id, type, state, received_at, timestamp)
     VALUES (5, 7, 0, 0, 'm', 1, 0, 0, 0, 0)`,
  ).run();
  const stored = Buffer.from(withoutSharedPart(payload, span));
  return { stored: stored.length, read: createPayloadReader(db)(5, stored) };
}

test("a payload is read as it was, whatever it has in common with its message", () => {
  const piece = fc.oneof(
    fc.string({ unit: anyCharacter, maxLength: 40 }),
    fc.constantFrom(
      long,
      long.slice(0, 6000),
      "x".repeat(9000),
      "ab".repeat(4000),
      long.slice(100),
    ),
  );
  const pieces = fc.array(piece, { maxLength: 5 });
  fc.assert(
    fc.property(pieces, pieces, piece, (ofPayload, ofMessage, before) => {
      const payload = Buffer.from(`{${ofPayload.join("")}`);
      const { read } = roundTrip(payload, `[${before}`, `{${ofMessage.join("")}`);
      expect(payload.equals(read)).toBe(true);
    }),
    { numRuns: 150 },
  );
});

test("the part in common is stored once, from 4 KB on", () => {
  const payload = Buffer.from(`{"version":1,"properties":{"text":"${long}"},"context":{}}`);
  const inMessage = roundTrip(payload, "[", `{"type":"track","properties":{"text":"${long}"}}`);
  expect(inMessage.stored).toBeLessThan(100);
  expect(roundTrip(payload, `["${long}",`, "{}").stored).toBe(payload.length);
  const small = Buffer.from(`{"text":"${long.slice(0, 3000)}"}`);
  expect(roundTrip(small, "[", small.toString()).stored).toBe(small.length);
});

function committed(one: TestStore, properties: string): void {
  const text = `{"type":"track","event":"Bought","userId":"ada","properties":${properties}}`;
  const payload = Buffer.from(
    `{"version":1,"properties":${JSON.stringify(JSON.parse(properties))}}`,
  );
  const made = request([{ text: "{}" }, { userId: "ada", event: "Bought", text, to: [1] }]);
  const [, message] = made.messages;
  if (message !== undefined) {
    const route = message.route.bind(message);
    message.route = () => ({ ...route(), payloads: { documented: payload } });
  }
  expect(parseBody(Buffer.from(made.body), true)).toBeDefined();
  one.store.commit([made]);
  one.store.atomically(() => follow({ store: one.store, limit: 100, isTimeUp: () => false }));
}

test.each([
  ["that a client wrote as we do", `{"total":3,"text":"${long}"}`, true],
  ["with a number that we write in another way", `{"total":3.0,"text":"${long}"}`, false],
  ["with a name twice", `{"total":1,"total":3,"text":"${long}"}`, false],
])("a delivery, a search and a profile have large properties %s", async (_, properties, isOnce) => {
  const one = openTestStore();
  committed(one, properties);
  const [claimed] = one.store.claim(1 as DestinationId, startOfTime, 10);
  const expected = JSON.parse(properties) as { total: number; text: string };
  expect(JSON.parse(Buffer.from(claimed?.payload ?? []).toString())).toEqual({
    version: 1,
    properties: expected,
  });
  const stored = one.db.prepare("SELECT length(documented) FROM payloads").pluck().get();
  expect(stored).toBeLessThan(200);
  const inEvent = one.db.prepare("SELECT length(properties) FROM profile_events").pluck().get();
  expect(Number(inEvent) < 20).toBe(isOnce);
  // Only in what is sent: the raw message has no version.
  const search = `version":1,"properties":{"total":3`;
  expect((await one.store.messages({ search }, 10, null)).items).toHaveLength(1);
  const profile = one.db.prepare("SELECT id FROM profiles").pluck().get() as ProfileId;
  const needs = { withinMs: null, newest: null, properties: ["total", "text"] };
  const facts = storedFacts(
    one.store,
    profile,
    { traits: new Set<string>(), events: new Map([["Bought", needs]]) },
    startOfTime,
  );
  expect(facts.events.get("Bought")?.[0]?.properties).toEqual(expected);
  const rows = one.store
    .walkRule(
      { event: "Bought", where: [{ property: "total", op: "is", value: 3 }] },
      startOfTime,
      { source: 9 as never, which: "present" },
    )
    .next(10);
  expect(JSON.stringify(rows)).toContain("ada");
  const sums = one.store
    .walkComputation({ aggregate: "sum", event: "Bought", property: "total" }, startOfTime, {
      source: 9 as never,
      which: "present",
    })
    .next(10);
  expect(JSON.stringify(sums)).toContain('"value":3');
});
