/**
 * An audience from its first sync to a deletion, at two receivers: one gets track calls, the other
 * is connected later. Every request is listed, with the cause of its message.
 */

import { expect, test as base } from "vitest";
import { starting, type Message, type RunningApp } from "../support/running-app.ts";
import type { WebhookReceiver } from "../support/webhook-receiver.ts";

const test = base.extend("start", starting);

const dayMs = 24 * 60 * 60 * 1000;
const rule = { event: "Order Completed", withinDays: 7 };

/** Requests since the last look, without what every call has. */
function reader(receiver: WebhookReceiver) {
  let seen = 0;
  return (): Message[] => {
    const fresh = receiver.requests.slice(seen);
    seen = receiver.requests.length;
    return fresh.map(({ body }) => {
      const { type, userId, event, traits, properties, context } = JSON.parse(body) as Message;
      const { traits: known } = (context ?? {}) as { traits?: Message };
      return Object.fromEntries(
        Object.entries({ type, userId, event, traits, properties, known }).filter(
          ([, value]) => value !== undefined,
        ),
      );
    });
  };
}

const identify = (userId: string, value: boolean, email?: string): Message => ({
  type: "identify",
  userId,
  traits: { big_spenders: value, ...(email === undefined ? {} : { email }) },
});
const track = (userId: string, value: boolean, email?: string): Message => ({
  type: "track",
  userId,
  event: value ? "Audience Entered" : "Audience Exited",
  properties: { audience_key: "big_spenders", big_spenders: value },
  ...(email === undefined ? {} : { known: { email } }),
});

const byText = (list: Message[]): string[] => list.map((one) => JSON.stringify(one)).toSorted();

async function causesOf(app: RunningApp, sourceId: string): Promise<Message[]> {
  const { items } = await app.call("messages.list", { sourceId, limit: 100 });
  const messages = await Promise.all(items.map(({ id }) => app.message(id)));
  return messages.map(({ userId, type, cause }) => ({ userId, type, ...cause }));
}

test("a destination that is connected late, track events, two identifiers, and a deletion", async ({
  start,
}) => {
  const app = await start.app({ clock: "paused" });
  const source = await app.source();
  const early = await start.receiver(200);
  const late = await start.receiver(200);
  const atEarly = reader(early);
  const atLate = reader(late);
  const events = await app.destination([early.url], {
    name: "Events",
    sourceIds: [],
    audienceCalls: "track",
  });
  const order = (userId: string, total: number): Message => ({
    type: "track",
    userId,
    event: "Order Completed",
    properties: { total },
  });
  const who = (userId: string, email: string): Message => ({
    type: "identify",
    userId,
    traits: { email },
  });
  const batch = async (...messages: Message[]): Promise<void> => {
    await app.ingest("/v1/batch", { batch: messages });
    await app.settle();
  };

  await batch(who("ada", "ada@a.example"), order("ada", 120), order("bob", 30), who("cyd", "c@c"));
  const audience = await app.call("audiences.create", {
    name: "Big spenders",
    rule,
    sync: "each-event",
    destinationIds: [events.id],
  });
  await app.settle();
  expect(byText(atEarly())).toEqual(
    byText([track("ada", true), track("ada", true, "ada@a.example"), track("bob", true)]),
  );

  // Connected later: everybody who is in, to that destination alone.
  const crm = await app.destination([late.url], {
    name: "CRM",
    sourceIds: [],
    audienceCalls: "both",
  });
  const connected = await app.call("audiences.update", {
    id: audience.id,
    destinationIds: [events.id, crm.id],
  });
  expect(connected).toMatchObject({ firstSyncs: [], destinationIds: [events.id, crm.id] });
  await app.settle();
  expect(byText(atLate())).toEqual(
    byText([
      ...[identify("ada", true), identify("ada", true, "ada@a.example"), identify("bob", true)],
      ...[track("ada", true), track("ada", true, "ada@a.example"), track("bob", true)],
    ]),
  );
  expect(atEarly()).toEqual([]);

  // A new identifier: the value again, to that address.
  await app.advance({ byMs: dayMs });
  await batch(who("ada", "ada@b.example"));
  expect(byText(atEarly())).toEqual(byText([track("ada", true, "ada@b.example")]));
  expect(byText(atLate())).toEqual(
    byText([identify("ada", true, "ada@b.example"), track("ada", true, "ada@b.example")]),
  );
  await batch(who("ada", "ada@a.example"), who("cyd", "cyd@c.example"));
  expect([atEarly(), atLate()]).toEqual([[], []]);

  // By time alone, each identifier leaves.
  await app.advance({ byMs: 6 * dayMs });
  const emails = [undefined, "ada@a.example", "ada@b.example"];
  const left = [...emails.map((email) => track("ada", false, email)), track("bob", false)];
  expect(byText(atEarly())).toEqual(byText(left));
  expect(byText(atLate())).toEqual(
    byText([
      ...left,
      ...emails.map((email) => identify("ada", false, email)),
      identify("bob", false),
    ]),
  );

  // The receivers know ada only from the audience, and each is told once.
  await app.call("deletions.create", { userIds: ["ada", "cyd"] });
  await app.settle();
  const gone = [{ type: "delete", userId: "ada" }];
  expect([atEarly(), atLate()]).toEqual([gone, gone]);

  const causes = await causesOf(app, audience.sourceId);
  const sentences = (wanted: string): string[] => [
    ...new Set(
      causes.flatMap(({ reason, sentence }) => (reason === wanted ? [String(sentence)] : [])),
    ),
  ];
  expect(sentences("first_sync").toSorted()).toEqual([
    "ada is in Big spenders at the first sync.",
    "bob is in Big spenders at the first sync.",
  ]);
  expect(sentences("destination_connected").toSorted()).toEqual([
    "ada is in Big spenders, and CRM was connected later.",
    "bob is in Big spenders, and CRM was connected later.",
  ]);
  expect(sentences("new_identifier")).toEqual([
    "ada is in Big spenders, and the user has a new email address, ada@b.example.",
  ]);
  const { items: orders } = await app.call("messages.list", { event: "Order Completed", limit: 9 });
  const stamp =
    /^ada left Big spenders: the Order Completed of \d+ \w{3} \d\d:\d\d UTC is older than 7 days\.$/;
  expect(causes.find(({ reason, userId }) => reason === "time" && userId === "ada")).toMatchObject({
    sentence: expect.stringMatching(stamp),
    audienceId: audience.id,
    messageId: orders.find(({ userId }) => userId === "ada")?.id,
  });
  expect(causes.find(({ type }) => type === "delete")).toMatchObject({
    sentence: expect.stringMatching(
      /^ada was deleted by the request del_\w+, and the receiver knows the user only from the audience Big spenders\.$/,
    ),
  });
  expect(await app.call("messages.list", { sourceId: source.id, type: "delete" })).toMatchObject({
    items: [],
  });
});
