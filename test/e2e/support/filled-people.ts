/**
 * People for a filled workspace: an audience, a computed trait, a deletion, somebody unknown; and a
 * client with its batches.
 */

import type { Rule } from "../../../src/domain/rules.ts";
import type { RunningInspector } from "./running-inspector.ts";

export type FilledPeople = {
  profileId: string;
  audienceId: string;
  traitId: string;
  deletionId: string;
  /** Of the audience. */ sourceId: string;
};

type PeopleWords = { name: string; event: string; userId: string; property: string; text: string };

/** What comes from outside is the caller's. */
export async function fillPeople(
  inspector: RunningInspector,
  { name, event, userId, property, text }: PeopleWords,
): Promise<FilledPeople> {
  const { call, send } = inspector;
  await send([
    {
      type: "identify",
      userId,
      anonymousId: "a_4d3f3",
      traits: { [property]: 184.5, city: text.slice(0, 1000), plan: "pro" },
    },
    { type: "group", userId, groupId: "acme", traits: { name: text } },
    { userId, event, properties: { [property]: 184.5 } },
    { userId: "u_gone", event, properties: { [property]: 12 } },
  ]);
  await call("pipeline.settle", {});
  const rule: Rule = {
    all: [
      { event, atLeast: 1, withinDays: 7, where: [{ property, op: "greater", value: 50 }] },
      { not: { trait: "plan", op: "is", value: "free" } },
      {
        any: [
          { trait: "city", op: "is", value: text.slice(0, 1000) },
          { trait: "email", op: "exists" },
        ],
      },
    ],
  };
  const crm = await call("destinations.list", {});
  const destinationIds = crm.items
    .filter((destination) => destination.name === "CRM sync")
    .map(({ id }) => id);
  const audience = await call("audiences.create", {
    name,
    rule,
    destinationIds,
    sync: "each-event",
  });
  const trait = await call("computedTraits.create", {
    name: `Total of ${name}`.slice(0, 200),
    computation: {
      aggregate: "sum",
      event,
      property,
      withinDays: 30,
      where: [{ property, op: "exists" }],
    },
    destinationIds,
  });
  const deletion = await call("deletions.create", { userIds: ["u_gone", "u_nobody"] });
  await call("pipeline.settle", {});
  await fillClient(inspector, { name, userId, event, text });
  const { items } = await call("profiles.list", { userId, limit: 1 });
  return {
    profileId: items[0]?.id ?? "",
    audienceId: audience.id,
    traitId: trait.id,
    deletionId: deletion.id,
    sourceId: audience.sourceId,
  };
}

async function fillClient(
  { call }: RunningInspector,
  { name, userId, event, text }: Omit<PeopleWords, "property">,
): Promise<void> {
  const client = await call("clients.create", { name, writeKey: "wk_app" });
  const made = async (from: string): Promise<unknown> =>
    call("clients.call", {
      id: client.id,
      type: "track",
      call: { userId, event: from, properties: { city: text.slice(0, 1000) } },
    });
  for (const each of [event, "Cart Viewed", "Product Viewed"]) await made(each);
  await call("clients.flush", { id: client.id });
  await call("pipeline.settle", {});
  for (let nth = 0; nth < 7; nth += 1) await made(nth % 3 === 0 ? event : "Product Viewed");
}
