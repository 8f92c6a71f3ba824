import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { markerName } from "./marker.ts";
import { openStore } from "./sqlite-store.ts";
import { openTestStore, request, temporaryDirectory } from "./store.fixture.ts";

const markerIn = (data: string): { beat: number; hasLog: boolean } =>
  JSON.parse(readFileSync(join(data, markerName), "utf8")) as { beat: number; hasLog: boolean };

test("the marker is never ahead of the data: it follows each second in which something was written", () => {
  const data = temporaryDirectory();
  const { db, store, health } = openTestStore(data);
  const beat = (): number =>
    Number(db.prepare("SELECT value FROM meta WHERE key = 'beat'").pluck().get());
  const first = markerIn(data);
  expect(first).toMatchObject({ beat: beat(), hasLog: true });
  health.tick();
  expect(markerIn(data)).toEqual(first);
  store.commit([request([{}])]);
  health.tick();
  expect(markerIn(data)).toMatchObject({ beat: first.beat + 1, hasLog: true });
  expect(beat()).toBe(first.beat + 1);
});

test("after a clean end no log is asked for", () => {
  const data = temporaryDirectory();
  openStore(data).close();
  expect(markerIn(data).hasLog).toBe(false);
});
