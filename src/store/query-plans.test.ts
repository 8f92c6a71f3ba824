import { expect, test } from "vitest";
import type {
  AttemptId,
  DeliveryId,
  DestinationId,
  MessageRowId,
  SourceId,
  WebhookId,
} from "../domain/ids.ts";
import type { PropertyCondition, Rule } from "../domain/rules.ts";
import type { Store } from "../engine/store-ports.ts";
import { openDatabase } from "./open.ts";
import { createStore } from "./sqlite-store.ts";
import { storedFacts, attempt, moveTo, request, startOfTime } from "./store.fixture.ts";

/**
 * Everything that the store asks of the database while it does each of its things once, and
 * SQLite's plan for it.
 */
const plans = (): Promise<Plan[]> => (planned ??= plansOfAll());

type Plan = { sql: string; plan: string };
let planned: Promise<Plan[]> | null = null;

async function plansOfAll(): Promise<Plan[]> {
  const opened = openDatabase(":memory:");
  const { db, close } = opened;
  const asked = new Set<string>();
  const prepare = db.prepare.bind(db);
  db.prepare = (sql: string) => {
    asked.add(sql);
    return prepare(sql);
  };

  const store = createStore(opened);
  const destination = 1 as DestinationId;
  store.commit([
    request([{ messageId: "a", userId: "ada", event: "Bought", to: [1] }, { messageId: "a" }]),
  ]);
  store.commit([request([{ mappedTo: [{ to: 2, key: "k" }] }])]);
  store.claim(destination, startOfTime, 10);
  store.record(
    [attempt(1 as DeliveryId, { status: 503 })],
    [moveTo(1 as DeliveryId, "waiting", startOfTime + 1)],
  );
  store.requeueInterrupted(startOfTime);
  store.spreadOverdue(startOfTime + 10, 1, 1);
  store.nextDueAt([destination]);
  store.countRunnable(destination, startOfTime, 1);
  store.pausedPastWindow(destination, startOfTime, 1, 9);
  store.nextWindowEnd(destination, 1);
  store.countByState();
  store.newestRows();
  store.hasRunnableUpTo(destination, startOfTime, 1);
  store.hasUnsettledUpTo(destination, true, 1);
  store.hasUnsettledUpTo(destination, false, 1);
  store.unsettledOf(1 as MessageRowId);
  store.latestRecordedAt();
  for (const filter of [
    {},
    { userId: "ada" },
    { event: "Bought" },
    { search: "b" },
    { type: "track" as const },
    { reason: "x" },
    { destinationId: destination },
    { webhookId: 1 as WebhookId, not: { destinationId: destination } },
    { batch: 1 as MessageRowId },
    { since: startOfTime },
    { search: "made", not: { search: "b", userId: "ada" } },
  ]) {
    await store.messages(filter, 1, null);
  }
  await store.messageValues("event");
  await store.usersNamed("a", 1);
  store.messagesBySource();
  store.deliveriesOf(1 as MessageRowId);
  store.lastOutcome(1 as DeliveryId);
  store.message(1 as MessageRowId);
  store.messageSource(1 as MessageRowId);
  store.deliveries({}, 1, null);
  const [listed] = store.deliveriesByDue({}, 1, null).items;
  if (listed !== undefined) store.listed(listed);
  store.dueTimes(destination, 1);
  store.deliveryDetails(1 as DeliveryId);
  store.attempt(1 as DeliveryId, 1 as AttemptId);
  store.stats();
  follow(store);
  store.markFollowed(1 as MessageRowId);
  store.removeRejected(0, 10);
  store.removeOld({ maxMessages: 0, maxBytes: 1, olderThanWall: 0 }, 10);

  const source = 1 as SourceId;
  store.lastSentFor("ada");
  store.lastSent(source, "ada");
  store.putLastSent({
    sourceId: source,
    userId: "ada",
    value: true,
    since: startOfTime,
    recheckAt: startOfTime,
  });
  store.countLastSent(source);
  store.lastSentAfter(source, "", 1);
  store.strandedAfter(source, "", 1);
  store.nextRecheckAt(source);
  store.dueForRecheck(source, startOfTime, 1);
  store.removeLastSentFor("ada");
  store.removeLastSentFor("ada");
  store.removeLastSentBy(source, 1);
  const deletion = store.insertDeletion({
    suppress: true,
    requestedAt: startOfTime,
    userIds: ["ada"],
  });
  store.unfinishedDeletions();
  store.usersToDelete(deletion, 1);
  store.putDeleted(deletion, 0, {
    userId: "ada",
    known: true,
    detail: "",
    sourceIds: [source],
    messageIds: [1 as MessageRowId],
  });
  store.stateOfMessages(deletion);
  store.deletions(1, null);
  store.deleteDeletion(deletion);
  store.suppress("ada", startOfTime, null);
  store.suppressions("a", 1, null);
  store.suppression("ada");
  store.lift("ada");

  store.countKnownUsers();
  const ofAda: PropertyCondition[] = [{ property: "total", op: "greater", value: 1 }];
  const conditions: Rule[] = [
    { not: { trait: "plan", op: "is", value: "pro" } },
    {
      any: [
        { trait: "plan", op: "isNot", value: "pro" },
        { trait: "plan", op: "contains", value: "pro" },
      ],
    },
    {
      any: [
        { trait: "plan", op: "exists" },
        { trait: "plan", op: "exists", value: false },
      ],
    },
    { event: "Bought", atLeast: 2, withinDays: 7, where: ofAda },
  ];
  for (const which of ["present", "differing", "unsettled"] as const) {
    store.walkRule({ all: conditions }, startOfTime, { source, which }).next(10);
    store
      .walkComputation({ aggregate: "count", event: "Bought" }, startOfTime, { source, which })
      .next(10);
    store
      .walkComputation(
        { aggregate: "sum", event: "Bought", property: "total", withinDays: 7 },
        startOfTime,
        { source, which },
      )
      .next(10);
  }

  const explained = [...asked].map((sql) => {
    const rows = prepare(`EXPLAIN QUERY PLAN ${sql.replaceAll(/\?|@\w+/g, "1")}`).all() as {
      detail: string;
    }[];
    return { sql: sql.replaceAll(/\s+/g, " "), plan: rows.map(({ detail }) => detail).join("; ") };
  });
  close();
  return explained;
}

function follow(store: Store): void {
  const row = 1 as MessageRowId;
  const [profile, other] = [
    store.createProfile(startOfTime, null),
    store.createProfile(startOfTime, "eve"),
  ];
  for (const { id } of store.nextToFollow(1).messages)
    store.addEvent(profile, "Bought", startOfTime, {}, id);
  store.followed();
  store.addIdentity(profile, { kind: "userId", value: "ada" }, startOfTime, row);
  store.profileOf({ kind: "userId", value: "ada" });
  store.setUser(profile, "ada");
  store.user(profile);
  store.putTraits(profile, [["plan", "pro"]], { at: startOfTime, messageId: row });
  store.putGroup(profile, "acme", {}, startOfTime);
  store.putSources(profile, [1 as SourceId]);
  store.addHistory(profile, startOfTime, "created", "It is new.", row);
  store.touch(profile, { firstAt: startOfTime, lastAt: startOfTime, events: 1 });
  store.noteSeen({
    traits: new Map([["plan", 1]]),
    events: new Map([["Bought", { times: 1, properties: new Map([["total", 1]]) }]]),
  });
  store.merge(other, profile);
  store.profileWithUser("ada");
  store.knownAs(profile);
  store.profileDetails(profile);
  const need = { withinMs: 1, newest: 1 };
  for (const properties of [["total"], ['to"tal'], []]) {
    storedFacts(
      store,
      profile,
      { traits: new Set(["plan"]), events: new Map([["Bought", { ...need, properties }]]) },
      startOfTime,
    );
  }
  for (const filter of [{}, { userId: "ada" }, { search: "a" }, { members: 1 as SourceId }])
    store.profiles(filter, 1, null);
  store.removeProfile(other);
  store.removeRest();
}

/** The tables that grow with the messages and the users, under the names that queries give them. */
const growing =
  /SCAN (messages|requests|deliveries|attempts|transitions|decisions|payloads|postings|posting_pieces|d|computed_values|deletion_users(?! USING INDEX deletion_users_left)|deletion_messages|sent|suppressions|profiles(?! USING COVERING INDEX profiles_known$)|gone|identities|profile_\w+|groups|user|last_sent)\b/;

/** Read whole at a start, to be kept in memory. */
const readAtStart = [
  "SELECT user_id FROM suppressions",
  "SELECT message_id AS messageId, deletion_id AS deletionId FROM deletion_messages",
];

/** No further than to where a total is exact. */
const bounded = [
  "SELECT count(*) FROM (SELECT 1 FROM profiles LIMIT ?)",
  // A quota's worth of them.
  "SELECT coalesce(sum(quota_bytes), 0) FROM messages INDEXED BY messages_in_quota WHERE quota_bytes IS NOT NULL",
];

const mayBeSorted = [
  // A thousand at most, and counts, which have a row for each kind.
  /FROM unknown_key_requests/,
  /_counts GROUP BY/,
  /FROM seen_names/,
  // The few attempts of one delivery, or of one message.
  /FROM (deliveries JOIN )?attempts .*WHERE (delivery_id|deliveries\.message_id) = \? ORDER BY/,
  // The few deliveries of one message, and their attempts.
  /FROM \(SELECT \? AS message\) AS of/,
  // The sources of two profiles that are merged.
  /UNION SELECT value FROM json_each\(gone\.sources\)/,
  // At a start: all that are overdue are read and moved, so that sorting them is the least of it.
  /WHERE c\.state = 2/,
];

test("no question walks through a table that grows, and none but the few named sorts what it found", async () => {
  const all = await plans();
  expect(
    all.filter(
      ({ sql, plan }) => growing.test(plan) && ![...readAtStart, ...bounded].includes(sql),
    ),
  ).toEqual([]);
  expect(
    all.filter(
      ({ sql, plan }) =>
        plan.includes("TEMP B-TREE") && !mayBeSorted.some((known) => known.test(sql)),
    ),
  ).toEqual([]);
});

test.each<[string, RegExp, string]>([
  [
    "queued deliveries to claim",
    /FROM deliveries .*destination_id = \? AND state = 1 AND id > \? ORDER BY id/s,
    "deliveries_by_state (destination_id=? AND state=? AND rowid>?)",
  ],
  [
    "due deliveries to claim",
    /FROM deliveries .*next_attempt_at <= \? ORDER BY/s,
    "deliveries_due (destination_id=? AND next_attempt_at<?)",
  ],
  [
    "the next due time",
    /SELECT next_attempt_at FROM deliveries/,
    "COVERING INDEX deliveries_due (destination_id=?)",
  ],
  [
    "what is queued again in a window",
    /state = 1 AND first_attempt_at IS NOT NULL AND first_attempt_at <= \?/,
    "INDEX deliveries_window_queued (destination_id=?",
  ],
  [
    "the window of what is queued again",
    /state = 1 AND first_attempt_at IS NOT NULL\s+ORDER BY/,
    "COVERING INDEX deliveries_window_queued (destination_id=?",
  ],
  [
    "the window of a held destination",
    /SELECT first_attempt_at FROM deliveries WHERE destination_id = \? AND state = 2/,
    "COVERING INDEX deliveries_window (destination_id=? AND first_attempt_at>?)",
  ],
  [
    "the rows of a page",
    /SELECT \* FROM messages WHERE id IN \(SELECT value/,
    "INTEGER PRIMARY KEY (rowid=?)",
  ],
  [
    "a block of what happened to messages",
    /SELECT id, coalesce\(reason[^?]*FROM messages WHERE id >= \? AND id < \?/,
    "INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
  ],
  [
    "messages of a destination",
    /SELECT id, message_id AS message FROM deliveries/,
    "deliveries_by_state (destination_id=? AND state=? AND rowid<?)",
  ],
  [
    "whether a message goes to a destination",
    /WHERE message_id = messages.id AND destination_id/,
    "deliveries_by_message (message_id=?)",
  ],
  [
    "whether a message was tried at a webhook",
    /messages.id AND webhook_id IN/,
    "attempts_by_delivery (delivery_id=?)",
  ],
  [
    "payloads to search",
    /FROM payloads WHERE message_id >= \?/,
    "INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
  ],
  [
    "users whose ids begin with a text",
    /FROM identities WHERE kind = \? AND value >= \?/,
    "PRIMARY KEY (kind=? AND value>? AND value<?)",
  ],
  [
    "a block of kinds",
    /SELECT id, source_id \* 256[^?]*WHERE id >= \?/,
    "INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
  ],
  [
    "a page of deliveries",
    /INDEXED BY deliveries_by_state/,
    "deliveries_by_state (destination_id=? AND state=? AND rowid<?)",
  ],
  [
    "a page of waiting deliveries by due time",
    /next_attempt_at > \? ORDER BY/,
    "deliveries_due (destination_id=? AND next_attempt_at>?)",
  ],
  [
    "those of one due time",
    /next_attempt_at = \? AND id > \? ORDER BY id/,
    "deliveries_due (destination_id=? AND next_attempt_at=? AND rowid>?)",
  ],
  ["the marks of a delivery", /SELECT round, started_at/, "attempts_by_delivery (delivery_id=?)"],
  [
    "the attempts of a delivery",
    /FROM attempts WHERE delivery_id = \? ORDER BY round DESC, started_at DESC/,
    "attempts_by_delivery (delivery_id=?)",
  ],
  [
    "the request of a message to search",
    /SELECT first_message AS first, body\s+FROM messages JOIN requests/,
    "INTEGER PRIMARY KEY (rowid=?)",
  ],
  [
    "rows of messages to search",
    /SELECT id, request_id[^?]*FROM messages WHERE id >= \? AND id <= \?/,
    "INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
  ],
  [
    "payloads to search",
    /FROM payloads WHERE message_id >= \? AND message_id <= \?/,
    "INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
  ],
  [
    "a block of postings",
    /SELECT max\(block\) FROM postings WHERE block < \?/,
    "INTEGER PRIMARY KEY (rowid<?)",
  ],
  [
    "blocks of postings to merge",
    /message_ids, block FROM postings WHERE block >= \?/,
    "INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
  ],
  [
    "a piece of merged postings",
    /SELECT entries FROM posting_pieces WHERE id = \?/,
    "INTEGER PRIMARY KEY (rowid=?)",
  ],
  [
    "what was last sent of a user",
    /FROM computed_values WHERE user_id = \?/,
    "computed_values_by_user (user_id=?)",
  ],
  [
    "the next recheck",
    /SELECT recheck_at FROM computed_values/,
    "computed_values_to_recheck (source_id=? AND recheck_at>?)",
  ],
  [
    "users to recheck",
    /recheck_at <= \? ORDER BY/,
    "computed_values_to_recheck (source_id=? AND recheck_at<?)",
  ],
  [
    "users in the order of a source's last sent values",
    /FROM computed_values WHERE source_id = \? AND user_id > \?/,
    "PRIMARY KEY (source_id=? AND user_id>?)",
  ],
  [
    "users of a rule's slice",
    /AS MATERIALIZED/,
    "SEARCH user USING COVERING INDEX profiles_known (id>? AND id<?)",
  ],
  [
    "a trait of a rule",
    /AS MATERIALIZED.*profile_traits/,
    "SEARCH profile_traits USING PRIMARY KEY (profile_id=? AND name=?)",
  ],
  [
    "events of a rule",
    /profile_traits.*@now/,
    "profile_events_by_profile (profile_id=? AND event=? AND at>?)",
  ],
  [
    "events of a computation",
    /hookyard_compute/,
    "profile_events_by_profile (profile_id=? AND event=?",
  ],
  [
    "what was last sent of a slice's users",
    /AS MATERIALIZED/,
    "SEARCH last_sent USING PRIMARY KEY (source_id=? AND user_id=?)",
  ],
  ["where a slice ends", /max\(id\) AS upTo/, "COVERING INDEX profiles_known (id>?)"],
  [
    "whether a user has a profile",
    /^SELECT id FROM profiles WHERE user_id =/,
    "identities USING PRIMARY KEY (kind=? AND value=?)",
  ],
  [
    "messages to follow",
    /FROM messages WHERE id > \? ORDER BY id LIMIT/,
    "INTEGER PRIMARY KEY (rowid>?)",
  ],
  [
    "events that count for a rule",
    /SELECT id, at, 0 AS size, '{}' AS properties FROM profile_events/,
    "COVERING INDEX profile_events_by_profile (profile_id=? AND event=? AND at>? AND at<?)",
  ],
  [
    "whose properties count too",
    /(, properties\)|'}') AS properties FROM profile_events.*@after/,
    "profile_events_by_profile (profile_id=? AND event=? AND at>?",
  ],
  [
    "when the next profiles were last seen",
    /SELECT id, last_seen_at FROM profiles/,
    "INTEGER PRIMARY KEY (rowid>?)",
  ],
  ["the state of a deletion", /min\(coalesce/, "deletion_messages_by_deletion (deletion_id=?)"],
  [
    "users still to be deleted",
    /body IS NULL ORDER BY place/,
    "deletion_users_left (deletion_id=?)",
  ],
  [
    "a page of suppressions",
    /SELECT user_id, .* FROM suppressions WHERE user_id >= \?/,
    "PRIMARY KEY (user_id>? AND user_id<?)",
  ],
  [
    "what a crash interrupted",
    /WHERE c\.state = 0/,
    "deliveries_by_state (destination_id=? AND state=?)",
  ],
])("%s: by its index", async (_what, question, index) => {
  const found = (await plans()).filter(({ sql }) => question.test(sql));
  expect(found).not.toEqual([]);
  for (const { plan } of found) expect(plan).toContain(index);
});
