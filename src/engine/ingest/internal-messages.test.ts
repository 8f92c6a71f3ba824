/** Messages that Hookyard makes itself, from their commit on. */

import { expect, test } from "vitest";
import { openTestStore, request, startOfTime } from "../../store/store.fixture.ts";
import { createSteppedClock } from "../../../test/support/stepped-clock.ts";
import { createChangeFeed } from "../changes.ts";
import type { Cause } from "../../domain/cause.ts";
import { causeIn, createInternalMessages, internalPayload } from "./internal-messages.ts";
import { openConfiguration } from "../configuration.fixture.ts";

const causeOf = (userId: string): Cause => ({ reason: "deletion", sentence: `${userId} left.` });

function start() {
  const { db, store } = openTestStore();
  const clock = createSteppedClock(startOfTime);
  const changes = createChangeFeed();
  const configuration = openConfiguration({ store, clock, changes });
  const source = configuration.createOwnSource("Big");
  configuration.createDestination({
    name: "Out",
    sourceIds: [source.id],
    webhooks: [{ url: "http://127.0.0.1/", headers: {} }],
  });
  const { commit } = createInternalMessages({ store, configuration, clock, onCommitted: () => {} });
  return { db, store, source, commit };
}

test("they are on record as a request that says whose it is, routed and queued, and each can be found in its bytes", () => {
  const { db, store, source, commit } = start();
  const messages = ["ada", "名前"].map((userId) => ({
    message: {
      type: "identify" as const,
      userId,
      traits: { big: true },
      context: {},
      integrations: {},
    },
    cause: causeOf(userId),
  }));
  const [committed = []] = commit([{ source, messages }]);
  const found = committed.map(({ id }) => store.message(id));
  expect(found).toMatchObject(
    [{ userId: "ada" }, { userId: "名前" }].map((who) => ({
      ...who,
      state: "queued",
      type: "identify",
    })),
  );
  for (const message of found) {
    const raw = JSON.parse(Buffer.from(message?.raw ?? []).toString()) as object;
    expect(raw).toMatchObject({
      type: "identify",
      userId: message?.userId,
      messageId: message?.messageId,
      traits: { big: true },
    });
  }
  expect(db.prepare("SELECT method, path FROM requests").all()).toEqual([
    { method: "POST", path: "/v1/batch" },
  ]);
});

test("each has its cause beside it, which no request from an address has", () => {
  const { store, source, commit } = start();
  const messages = ["ada", "名前"].map((userId) => ({
    message: { type: "delete" as const, userId },
    cause: causeOf(userId),
  }));
  const [committed = []] = commit([{ source, messages }]);
  const origins = committed.flatMap(({ id }) => store.messageSource(id) ?? []);
  expect(origins.map(({ request: own, span }) => causeIn(own, span.offset))).toEqual([
    causeOf("ada"),
    causeOf("名前"),
  ]);
  for (const { request: own, span } of origins) {
    expect(causeIn({ ...own, ip: "127.0.0.1" }, span.offset)).toBeNull();
    expect(causeIn(own, 0)).toBeNull();
  }
});

test("a delete is three members to receivers", () => {
  expect(
    JSON.parse(
      Buffer.from(internalPayload({ type: "delete", userId: "ada" }, startOfTime)).toString(),
    ),
  ).toEqual({
    type: "delete",
    userId: "ada",
    timestamp: "2026-11-21T00:00:00.000Z",
  });
});

test("profiles that had followed everything still have, and those that had not still have to", () => {
  const { store, source, commit } = start();
  const message = { type: "delete" as const, userId: "ada" };
  const own = [{ source, messages: [{ message, cause: causeOf("ada") }] }];
  commit(own);
  expect(store.followed().upTo).toBe(store.followed().newest);
  store.commit([request([{ userId: "bob" }])]);
  const { upTo, newest } = store.followed();
  expect(upTo).toBeLessThan(newest);
  commit(own);
  expect(store.followed().upTo).toBe(upTo);
});
