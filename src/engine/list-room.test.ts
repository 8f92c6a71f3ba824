import { expect, test } from "vitest";
import type { SourceId } from "../domain/ids.ts";
import { roomFor, roomForConnections } from "./list-room.ts";

/** A thing that takes so many bytes of the list. */
function thing(bytes: number): { text: string } {
  const rest = 100 + JSON.stringify({ text: "" }).length;
  return { text: "x".repeat(bytes - rest) };
}

const roomOf = (all: { text: string }[], next: { text: string }, before?: { text: string }) =>
  roomFor({ what: "things", all }, next, before ?? null);

const full = { status: 409, code: "list_full" };

test("all things of a kind take 900,000 bytes together, and what does not grow fits always", () => {
  const all = [thing(500_000), thing(300_000)];
  expect(roomOf(all, thing(100_000))).toBeNull();
  expect(roomOf(all, thing(100_001))).toMatchObject({
    ...full,
    message: expect.stringContaining(
      "all things together would take 900,001 bytes as JSON; the limit is 900,000",
    ) as string,
  });
  const [, second = thing(200)] = all;
  expect(roomOf(all, thing(400_000), second)).toBeNull();
  expect(roomOf(all, thing(400_001), second)).toMatchObject(full);
  const tooMany = [...all, thing(200_000)];
  expect(roomOf(tooMany, thing(300_000), second)).toBeNull();
  expect(roomOf(tooMany, thing(299_999), second)).toBeNull();
  expect(roomOf(tooMany, thing(300_001), second)).toMatchObject(full);
});

test("connections take the room of their sources' ids in the list of destinations", () => {
  const all = [{ sourceIds: [1 as SourceId] }];
  expect(roomForConnections(all, 50_000)).toBeNull();
  expect(roomForConnections(all, 60_000)).toMatchObject(full);
  const tooMany = [{ sourceIds: new Array<SourceId>(70_000).fill(1 as SourceId) }];
  expect(roomForConnections(tooMany, 0)).toBeNull();
  expect(roomForConnections(tooMany, 1)).toMatchObject(full);
});
