import { beforeAll, describe, expect, test } from "vitest";
import { drawUnit } from "../domain/random.ts";
import type {
  DeliveryId,
  DestinationId,
  MessageRowId,
  SourceId,
  WebhookId,
} from "../domain/ids.ts";
import type { MessageType } from "../domain/states.ts";
import type { MessageDetails, MessageFilter, MessageSummary } from "../engine/ports.ts";
import { nextTurn } from "../engine/real-time.ts";
import type { Store } from "../engine/store-ports.ts";
import { openDatabase } from "./open.ts";
import { createStore } from "./sqlite-store.ts";
import type { MessageDraft } from "./store.fixture.ts";
import { attempt, moveTo, openTestStore, request, startOfTime } from "./store.fixture.ts";

const types: (MessageType | null)[] = ["track", "identify", "page", null];

type Known = { id: number; text: string; summary: MessageSummary; details: MessageDetails };

/**
 * 6,000 messages, more than a block, of three sources in requests of one to forty, their deliveries in every state.
 */
function fillAtRandom(store: Store): string[] {
  const texts: string[] = [];
  let drawn = 0;
  const draw = (below: number): number => Math.floor(drawUnit(7, drawn++, 1) * below);
  const oneOf = <T>(values: readonly T[]): T => values[draw(values.length)] as T;
  while (texts.length < 6_000) {
    const drafts = Array.from({ length: 1 + draw(40) }, (): MessageDraft => {
      const text = JSON.stringify({
        n: texts.length,
        colour: oneOf(["Rot", "grün", "blau"]),
        place: draw(300) === 0 ? "Überlingen" : "Bonn",
      });
      texts.push(text);
      return {
        messageId: draw(20) === 0 ? `again-${draw(10)}` : `m-${texts.length}`,
        text,
        type: oneOf(types),
        userId: oneOf(["ada", "bob", `user-${draw(2000)}`, null]),
        anonymousId: oneOf(["ada", `anon-${draw(50)}`, null]),
        event: oneOf(["Bought", "Seen", `Event ${draw(500)}`, null]),
        rejection:
          draw(15) === 0 ? { reason: oneOf(["missing_event", "too_large"]), detail: "No." } : null,
        to: oneOf([[1], [1, 2], []]),
        notTo: oneOf([[3], []]),
      };
    });
    store.commit([request(drafts, { sourceId: 1 + draw(3), at: startOfTime + texts.length })]);
  }
  const ids = store.claim(1 as DestinationId, startOfTime, 2000).map(({ id }) => id);
  const moved = ids.flatMap((id) => {
    const to = oneOf([
      "delivered",
      "failed",
      "waiting",
      "expired",
      "cancelled",
      "sending",
    ] as const);
    return to === "sending" ? [] : [moveTo(id, to, to === "waiting" ? startOfTime : null)];
  });
  store.record(
    moved.flatMap(({ deliveryId }) =>
      Array.from({ length: 1 + draw(3) }, () =>
        attempt(deliveryId, { status: oneOf([200, 204, 404, 503]) }),
      ),
    ),
    moved,
  );
  return texts;
}

type Choices = { [Name in keyof MessageFilter]: MessageFilter[Name][] };

/** Each member left out, and with a value; states several at once too. */
const choices: Choices = {
  sourceId: [undefined, 2 as SourceId],
  type: [undefined, "track"],
  state: [undefined, ["queued", "delivered"], "filtered"],
  userId: [undefined, "ada"],
  event: [undefined, "bought"],
  reason: [undefined, ["disabled", "too_large"]],
  search: [undefined, "überLINGEN"],
};

/** What happened to a message, and when; and what is left out. */
const laterChoices: Choices = {
  status: [undefined, "503", "last=2xx"],
  outcome: [undefined, ["http_error", "timeout"]],
  destinationId: [undefined, 2 as DestinationId],
  search: [undefined, ["rot", "delivered"]],
  since: [undefined, startOfTime + 4000],
  until: [undefined, startOfTime + 5500],
  not: [
    undefined,
    { state: ["filtered", "rejected"], event: "bought" },
    { userId: "ada", search: ["grün"] },
    { destinationId: 1 as DestinationId, reason: "disabled" },
  ],
};

function combinations(of: Choices): MessageFilter[] {
  let made: MessageFilter[] = [{}];
  for (const [name, values] of Object.entries(of)) {
    made = made.flatMap((filter) =>
      values.map((value) => (value === undefined ? filter : { ...filter, [name]: value })),
    );
  }
  return made;
}

/** The same sixth each time, spread so that no member keeps one value. */
const aSixthOf = (all: MessageFilter[]): MessageFilter[] =>
  all.filter((_, place) => Math.imul(place, 0x9e3779b1) >>> 0 < 2 ** 32 / 6);

const asList = <T extends string | number>(value: T | readonly T[]): readonly T[] =>
  typeof value === "object" ? value : [value];

/** Null: the filter does not name the member. */
function memberMatches(
  { text, summary, details }: Known,
  name: keyof NonNullable<MessageFilter["not"]>,
  value: string | number,
): boolean {
  const attempts = details.deliveries.flatMap((delivery) => delivery.attempts);
  const isStatus = (wanted: string, status: number | null | undefined): boolean => {
    if (wanted.startsWith(">=")) return (status ?? 0) >= Number(wanted.slice(2));
    if (wanted.startsWith("<")) return (status ?? 999) < Number(wanted.slice(1));
    return wanted.endsWith("xx")
      ? Math.floor((status ?? 0) / 100) === Number(wanted[0])
      : status === Number(wanted);
  };
  const shown = [summary.state, summary.type, summary.reason, summary.event, summary.userId];
  switch (name) {
    case "userId":
      return summary.userId === value || summary.anonymousId === value;
    case "event":
      return String(value).endsWith("*")
        ? summary.event?.toLowerCase().startsWith(String(value).slice(0, -1)) === true
        : summary.event?.toLowerCase() === String(value).toLowerCase();
    case "status":
      return String(value).startsWith("last=")
        ? isStatus(String(value).slice(5), summary.lastStatus)
        : attempts.some(({ response }) => isStatus(String(value), response?.status));
    case "outcome":
      return attempts.some(({ outcome }) => outcome === value);
    case "destinationId":
      return details.deliveries.some(({ destinationId }) => destinationId === value);
    case "webhookId":
      return attempts.some(({ webhookId }) => webhookId === value);
    case "attempts":
      return value === ">=2" && summary.attempts >= 2;
    case "search":
      return [text, ...shown].some((each) =>
        each?.toLowerCase().includes(String(value).toLowerCase()),
      );
    case "batch":
      throw new Error("batches have a test of their own");
    default:
      return summary[name] === value;
  }
}

function matches(known: Known, { since, until, not = {}, ...members }: MessageFilter): boolean {
  const entries = (of: typeof members) =>
    Object.entries(of) as [keyof typeof members, string | readonly string[]][];
  return (
    known.summary.receivedAt >= (since ?? 0) &&
    known.summary.receivedAt < (until ?? Infinity) &&
    entries(members).every(([name, value]) =>
      name === "search"
        ? asList(value).every((each) => memberMatches(known, name, each))
        : asList(value).some((each) => memberMatches(known, name, each)),
    ) &&
    !entries(not).some(([name, value]) =>
      asList(value).some((each) => memberMatches(known, name, each)),
    )
  );
}

async function walkPages(
  store: Store,
  filter: MessageFilter,
  limit: number,
  between: () => void = () => {},
): Promise<number[]> {
  const seen: number[] = [];
  for (let before: MessageRowId | null = null; ;) {
    const page = await store.messages(filter, limit, before);
    seen.push(...page.items.map(({ id }) => id));
    before = page.nextCursor;
    if (before === null) return seen;
    expect(page.items).toHaveLength(limit);
    between();
  }
}

describe("the list of 6,000 messages", () => {
  const opened = openDatabase(":memory:");
  const { close } = opened;
  const store = createStore(opened);
  const all: Known[] = [];
  beforeAll(() => {
    for (const [place, text] of fillAtRandom(store).entries()) {
      const details = store.message((place + 1) as MessageRowId);
      if (details === null) throw new Error("a message is missing");
      if (Buffer.from(details.raw).toString() !== text)
        throw new Error("a message carries another's bytes");
      all.unshift({ id: details.id, text, summary: details, details });
    }
    return close;
  });

  const idsByMember = new Map<string, ReadonlySet<number>>();

  /** A message matches a filter when it matches each member alone. */
  function idsOf(filter: MessageFilter): number[] {
    const sets = Object.entries(filter).map(([name, value]) => {
      const member = JSON.stringify([name, value]);
      const ids =
        idsByMember.get(member) ??
        new Set(all.flatMap((each) => (matches(each, { [name]: value }) ? [each.id] : [])));
      idsByMember.set(member, ids);
      return ids;
    });
    return all.flatMap(({ id }) => (sets.every((ids) => ids.has(id)) ? [id] : []));
  }

  test.each<[string, Choices, number]>([
    ["what a message is", choices, 8],
    ["what happened to it, and when, and what it is not", laterChoices, 12],
  ])(
    "shows for combinations of filters the newest that match, and how many there are: %s",
    async (_what, of, full) => {
      const found: number[] = [];
      for (const [place, filter] of aSixthOf(combinations(of)).entries()) {
        const expected = idsOf(filter);
        const before = place % 2 === 0 ? null : (expected[Math.floor(expected.length / 2)] ?? 1);
        const page = await store.messages(filter, 5, before as MessageRowId | null);
        expect({ filter, ids: page.items.map(({ id }) => id) }).toEqual({
          filter,
          ids: expected.filter((id) => before === null || id < before).slice(0, 5),
        });
        // Counting ends early where rows have to be read for it.
        if (page.totalCapped) expect(page.total).toBeLessThanOrEqual(expected.length);
        else expect({ filter, total: page.total }).toEqual({ filter, total: expected.length });
        found.push(page.items.length);
      }
      expect(found.filter((items) => items === 5).length).toBeGreaterThan(full);
    },
  );

  test.each<[string, MessageFilter, number]>([
    ["all of them", {}, 333],
    ["those of a source and a state", { sourceId: 1 as SourceId, state: "delivered" }, 60],
    ["those of a user", { userId: "ada" }, 100],
    ["those of a user in a state", { userId: "ada", state: "filtered" }, 150],
    ["those of several users", { userId: ["ada", "bob", "user-17"] }, 300],
    ["those of a user at a destination", { userId: "ada", destinationId: 2 as DestinationId }, 50],
    ["those with a reason", { reason: "too_large" }, 100],
    ["those that carry a text", { search: "Überlingen" }, 20],
    [
      "those with an answer, tried more than once",
      { status: ["last=2xx", "404"], attempts: ">=2" },
      100,
    ],
    ["those that a server refused", { status: ">=500" }, 20],
    ["those whose newest answer is below a status", { status: "last=<404", event: "b*" }, 20],
    [
      "those of a user with an answer, tried more than once",
      { userId: "ada", status: ["2xx", "404"], attempts: ">=2" },
      20,
    ],
  ])("is walked page by page without one twice or missing: %s", async (_what, filter, limit) => {
    const ids = all.filter((each) => matches(each, filter)).map(({ id }) => id);
    expect(await walkPages(store, filter, limit)).toEqual(ids);
    const { total, totalCapped } = await store.messages(filter, 1, null);
    if (totalCapped) expect(total).toBeLessThanOrEqual(ids.length);
    else expect(total).toBe(ids.length);
  });
});

describe("while the list is walked", () => {
  const fill = (store: Store, count: number, draft: MessageDraft): void =>
    void store.commit([
      request(Array.from({ length: count }, () => ({ text: '{"colour":"red"}', ...draft }))),
    ]);

  test.each<[string, MessageFilter]>([
    ["all", {}],
    ["a type", { type: "track" }],
    ["a user", { userId: "ada" }],
    ["a text", { search: "red" }],
  ])("new messages come in: each that was there is shown once (%s)", async (_what, filter) => {
    const { store } = openTestStore();
    fill(store, 2500, { userId: "ada" });
    fill(store, 3, { type: "page", text: "{}" });
    const seen = await walkPages(store, filter, 400, () => fill(store, 300, { userId: "ada" }));
    expect(seen.filter((id) => id <= 2500)).toEqual(
      Array.from({ length: 2500 }, (_, n) => 2500 - n),
    );
    expect(seen.filter((id) => id > 2503)).toEqual([]);
  });
});

describe("a total", () => {
  test.each([9_999, 10_000, 10_001])(
    "of %i is exact up to ten thousand, for every way of walking",
    async (count) => {
      const { store } = openTestStore();
      for (let left = count; left > 0; left -= 2000) {
        store.commit([
          request(
            Array.from({ length: Math.min(left, 2000) }, () => ({
              userId: "ada",
              event: "Bought",
              text: '{"a":"needle"}',
            })),
          ),
        ]);
      }
      store.commit([request([{ type: "page", userId: "bob", event: "Home" }])]);
      const total = { total: Math.min(count, 10_000), totalCapped: count > 10_000 };
      for (const filter of [
        { type: "track" },
        { userId: "ada" },
        { event: "Bought" },
        { userId: "ada", event: "Bought" },
        { search: "NEEDLE" },
        { reason: "no_destination", type: "track" },
      ] as MessageFilter[]) {
        expect({ filter, ...(await store.messages(filter, 1, null)) }).toMatchObject({
          filter,
          ...total,
        });
      }
    },
  );
});

test("a walk gives the event loop a turn at every fourth piece of what it reads", async () => {
  const { store } = openTestStore();
  store.commit([request(Array.from({ length: 5120 }, () => ({ userId: "ada", text: "{}" })))]);
  let turns = 0;
  let walks = true;
  const count = (): void => {
    turns += 1;
    if (walks) setImmediate(count);
  };
  setImmediate(count);
  expect((await store.messages({ userId: "ada", webhookId: 9 as WebhookId }, 10, null)).total).toBe(
    0,
  );
  walks = false;
  // Two blocks, with 41 pieces of 128 messages in all.
  expect(turns).toBeGreaterThanOrEqual(10);
  expect(turns).toBeLessThanOrEqual(14);
});

test("a page ends with the message that brings its attempts to 100,000, and the event loop has turns while it is read", async () => {
  const { db, store } = openTestStore();
  store.commit([request(Array.from({ length: 60 }, () => ({ to: [1] })))]);
  for (let id = 1; id <= 60; id += 1)
    store.record([attempt(id as DeliveryId, { status: 503 })], []);
  const columns = (round: string): string =>
    `delivery_id, ${round}, webhook_id, webhook_url, started_at, duration_ms, phases, simulated, outcome, retryable, request_head`;
  db.exec(`WITH RECURSIVE rounds (n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM rounds WHERE n < 2000)
    INSERT INTO attempts (${columns("round")}) SELECT ${columns("n")} FROM attempts, rounds;
    UPDATE messages SET attempts = 2000`);
  let turns = 0;
  let isRead = false;
  const reading = store.messages({}, 100, null).finally(() => (isRead = true));
  for (; !isRead; turns += 1) await nextTurn();
  const { items, nextCursor, total } = await reading;
  expect([items.length, items[0]?.marks.length, total]).toEqual([50, 2000, 60]);
  expect(turns).toBeGreaterThan(10);
  const rest = await store.messages({}, 100, nextCursor);
  expect(rest.items.map(({ id }) => id)).toEqual([10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
  expect(rest.nextCursor).toBeNull();
});
