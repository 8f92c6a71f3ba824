/**
 * For each message and each destination connected to its source: a decision with its reason, and
 * what follows from it.
 */

import { describe, expect, test } from "vitest";
import { startIngestApp, type IngestApp } from "../support/ingest-app.ts";

const track = { type: "track", userId: "u", event: "e" };

async function decisionOf(app: IngestApp, body: object) {
  expect(await app.send("/v1/batch", body)).toMatchObject({
    status: 200,
    text: `{"success":true}`,
  });
  const { items } = await app.call("messages.list", { limit: 1 });
  const message = await app.call("messages.get", { id: items[0]?.id ?? "" });
  expect(message.decisions).toHaveLength(1);
  return { message, decision: message.decisions[0] };
}

type Place = "message" | "context" | "batch";
/** The same integrations object, wherever a client may put it. */
function placed(place: Place, integrations: unknown): object {
  if (place === "batch") return { batch: [track], integrations };
  return {
    batch: [
      { ...track, ...(place === "message" ? { integrations } : { context: { integrations } }) },
    ],
  };
}

const routed = "routed";
const allFalse = "integrations_all_false";
const named = "integrations_false";

describe.each<Place>(["message", "context", "batch"])("integrations in the %s", (place) => {
  const table: [unknown, string, RegExp[]][] = [
    [undefined, routed, []],
    [null, routed, []],
    [{}, routed, []],
    [{ All: true }, routed, []],
    [{ All: false }, allFalse, []],
    [{ Webhooks: true }, routed, []],
    [{ Webhooks: false }, named, []],
    [{ Webhooks: {} }, routed, []],
    [{ All: true, Webhooks: false }, named, []],
    [{ All: false, Webhooks: true }, routed, []],
    [{ All: false, Webhooks: {} }, routed, []],
    [{ All: false, Webhooks: { option: 1 } }, routed, []],
    [{ All: false, Webhooks: false }, named, []],
    [{ All: false, Mixpanel: true }, allFalse, []],
    [{ Mixpanel: false, "Segment.io": { x: 1 } }, routed, []],
    // A different case is a different name: nothing changes, and a warning says what was meant.
    [{ all: false }, routed, [/`all`.*case-sensitive: `All: false` was probably meant/]],
    [{ ALL: false, Webhooks: true }, routed, [/`All: false`/]],
    [{ All: false, webhooks: true }, allFalse, [/`webhooks`.*`Webhooks: true` was probably meant/]],
    [{ WebHooks: false }, routed, [/`Webhooks: false`/]],
    [{ all: false, webhooks: {} }, routed, [/`All: false`/, /`Webhooks: \{\}`/]],
    [{ All: true, all: false }, routed, [/`All: false`/]],
    // Neither true, false nor options.
    [{ All: "false" }, routed, [/`All: false` was probably meant/]],
    [{ All: 0 }, routed, [/`All: false` was probably meant/]],
    [{ Webhooks: "false" }, routed, [/`Webhooks: false` was probably meant/]],
    [{ All: false, Webhooks: "true" }, allFalse, [/`Webhooks: true` was probably meant/]],
    [{ All: false, Webhooks: 1 }, allFalse, [/`Webhooks: true` was probably meant/]],
    [{ All: false, Webhooks: null }, allFalse, [/`Webhooks: null`/]],
    [{ All: null }, routed, [/`All: null`/]],
    [{ All: [] }, routed, [/`All: \[\]`/]],
  ];

  test("decides by the table", async () => {
    const app = await startIngestApp();
    const destination = await app.destination({ sourceIds: [app.source.id] });
    for (const [integrations, reason, warnings] of table) {
      const { message, decision } = await decisionOf(app, placed(place, integrations));
      const spelled = JSON.stringify(integrations);
      expect([spelled, decision?.reason, decision?.routed]).toEqual([
        spelled,
        reason,
        reason === routed,
      ]);
      expect([spelled, decision?.destinationId, decision?.detail]).toEqual([
        spelled,
        destination.id,
        expect.stringMatching(/^[A-Z].*\.$/),
      ]);
      expect([spelled, decision?.warnings]).toEqual([
        spelled,
        warnings.map((warning) => expect.stringMatching(warning)),
      ]);
      expect([spelled, message.deliveries.length, message.reason]).toEqual(
        reason === routed ? [spelled, 1, null] : [spelled, 0, reason],
      );
    }
    expect(await destination.received()).toHaveLength(
      table.filter(([, reason]) => reason === routed).length,
    );
  });
});

test("a member __proto__ in the integrations is a name like any other", async () => {
  const app = await startIngestApp();
  await app.destination({ sourceIds: [app.source.id] });
  await app.send(
    "/v1/track",
    `{"userId":"u","event":"e","integrations":{"__proto__":{"All":false,"Webhooks":false}}}`,
  );
  expect(await app.messages()).toMatchObject([{ decisions: [{ reason: routed }] }]);
});

describe("the message's own come before the context's, and those before the batch's, key by key", () => {
  const table: [batch: object, context: object, own: object, string][] = [
    [{ All: false }, {}, { All: true }, routed],
    [{ All: false }, { All: true }, {}, routed],
    [{}, { All: false }, { All: true }, routed],
    [{ All: true }, { All: true }, { All: false }, allFalse],
    [{ Webhooks: true }, {}, { All: false }, routed],
    [{ All: false }, { Webhooks: true }, {}, routed],
    [{ All: false }, { Webhooks: true }, { Webhooks: false }, named],
    [{ Webhooks: false }, { Webhooks: true }, { All: false }, routed],
    [{ Webhooks: { from: "batch" } }, { All: false }, {}, routed],
    [{ Webhooks: false }, {}, { All: true }, named],
  ];
  test.each(table)("%j, %j, %j: %s", async (integrations, context, own, reason) => {
    const app = await startIngestApp();
    await app.destination({ sourceIds: [app.source.id] });
    const { decision } = await decisionOf(app, {
      batch: [{ ...track, integrations: own, context: { integrations: context } }],
      integrations,
    });
    expect(decision?.reason).toBe(reason);
  });

  test("also when the batch has them in its context", async () => {
    const app = await startIngestApp();
    await app.destination({ sourceIds: [app.source.id] });
    const { decision } = await decisionOf(app, {
      batch: [track],
      context: { integrations: { All: false } },
      integrations: { All: true },
    });
    expect(decision?.reason).toBe(allFalse);
  });

  test("and what is no object there changes nothing, with a warning on the message", async () => {
    const app = await startIngestApp();
    await app.destination({ sourceIds: [app.source.id] });
    const { message, decision } = await decisionOf(app, {
      batch: [{ ...track, context: { integrations: false } }],
    });
    expect([decision?.reason, message.warnings]).toEqual([
      routed,
      [expect.stringContaining("`context.integrations`")],
    ]);
  });
});

describe("without a delivery a message is filtered", () => {
  test("because no destination is connected to its source", async () => {
    const app = await startIngestApp();
    const other = await app.call("sources.create", { name: "Other", writeKey: "other" });
    const destination = await app.destination({ sourceIds: [other.id] });
    await app.send("/v1/track", track);
    expect(await app.messages()).toMatchObject([
      { state: "filtered", reason: "no_destination", decisions: [], deliveries: [] },
    ]);
    expect(await destination.received()).toEqual([]);
  });

  test("because its destination is turned off; later messages go once it is on", async () => {
    const app = await startIngestApp();
    const destination = await app.destination({ sourceIds: [app.source.id], enabled: false });
    await app.send("/v1/track", track);
    await app.call("destinations.update", { id: destination.id, enabled: true });
    await app.send("/v1/track", { ...track, event: "later" });
    expect((await destination.received()).map(({ event }) => event)).toEqual(["later"]);
    expect(await app.messages()).toMatchObject([
      {
        state: "filtered",
        reason: "disabled",
        decisions: [
          { routed: false, reason: "disabled", detail: expect.stringContaining("Warehouse") },
        ],
      },
      { state: "delivered", reason: null, decisions: [{ routed: true, reason: "routed" }] },
    ]);
  });
});

describe("with several destinations", () => {
  test("each has its decision, and the message goes wherever one says so", async () => {
    const app = await startIngestApp();
    const other = await app.call("sources.create", { name: "Other", writeKey: "other" });
    const both = await app.destination({ name: "Both", sourceIds: [app.source.id, other.id] });
    const off = await app.destination({ name: "Off", sourceIds: [app.source.id], enabled: false });
    const full = await app.destination({
      name: "Full",
      sourceIds: [app.source.id],
      payload: "full",
    });
    await app.send("/v1/track", track);
    await app.send("/v1/track", { ...track, event: "other" }, { key: "other" });
    await app.send("/v1/track", { ...track, event: "none", integrations: { All: false } });

    expect(
      (await both.received())
        .map(({ event }) => event)
        .toSorted((one = "", two = "") => (one < two ? -1 : 1)),
    ).toEqual(["e", "other"]);
    expect(await off.received()).toEqual([]);
    expect(await full.received()).toMatchObject([
      { event: "e", receivedAt: expect.any(String), integrations: {} },
    ]);
    const messages = await app.messages();
    expect(
      messages.map(({ event, state, decisions }) => [
        event,
        state,
        Object.fromEntries(decisions.map(({ destinationId, reason }) => [destinationId, reason])),
      ]),
    ).toEqual([
      ["e", "delivered", { [both.id]: routed, [off.id]: "disabled", [full.id]: routed }],
      ["other", "delivered", { [both.id]: routed }],
      ["none", "filtered", { [both.id]: allFalse, [off.id]: "disabled", [full.id]: allFalse }],
    ]);
    expect(messages[0]?.deliveries.map(({ destinationId }) => destinationId).toSorted()).toEqual(
      [both.id, full.id].toSorted(),
    );
  });

  test("a changed connection counts for later messages, and decisions stay what they were", async () => {
    const app = await startIngestApp();
    const destination = await app.destination({ sourceIds: [app.source.id] });
    await app.send("/v1/track", track);
    await destination.received();
    await app.call("destinations.update", { id: destination.id, sourceIds: [] });
    await app.send("/v1/track", { ...track, event: "after" });
    expect(
      (await app.messages()).map(({ state, decisions }) => [
        state,
        decisions.map(({ reason }) => reason),
      ]),
    ).toEqual([
      ["delivered", [routed]],
      ["filtered", []],
    ]);
  });
});

test("all seven types go through, with what their payload is made of", async () => {
  const app = await startIngestApp();
  const destination = await app.destination({ sourceIds: [app.source.id] });
  const types = ["identify", "track", "page", "screen", "group", "alias", "delete"];
  const common = {
    userId: "u",
    event: "e",
    groupId: "g",
    previousId: "p",
    name: "n",
    category: "c",
    messageId: undefined,
  };
  await app.send("/v1/batch", {
    batch: types.map((type) => ({ ...common, type, timestamp: "2019-05-06T07:08:09Z" })),
  });
  const byType = Object.fromEntries(
    (await destination.received()).map((payload) => [payload.type, payload]),
  );
  const context = { ip: "127.0.0.1" };
  const base = {
    version: 1,
    messageId: expect.any(String) as string,
    timestamp: "2019-05-06T07:08:09.000Z",
    context,
  };
  expect(byType).toEqual({
    identify: { ...base, type: "identify", userId: "u", traits: {} },
    track: { ...base, type: "track", userId: "u", event: "e", properties: {} },
    page: { ...base, type: "page", userId: "u", name: "n", category: "c", properties: {} },
    screen: { ...base, type: "screen", userId: "u", name: "n", properties: {} },
    group: { ...base, type: "group", userId: "u", groupId: "g", traits: {} },
    alias: { ...base, type: "alias", "Previous ID": "p", "User ID": "u" },
    delete: { type: "delete", userId: "u", timestamp: base.timestamp },
  });
});

test("only cloud mode exists: device mode is refused with a sentence", async () => {
  const app = await startIngestApp();
  const draft = {
    name: "D",
    sourceIds: [app.source.id],
    webhooks: [{ url: "http://127.0.0.1:9/" }],
  };
  expect(
    await app.call("destinations.create", { ...draft, connectionMode: "cloud" }),
  ).toMatchObject({ connectionMode: "cloud" });
  expect(
    await app.api("destinations.create", { ...draft, connectionMode: "device" }),
  ).toMatchObject({
    status: 400,
    body: { code: expect.any(String), message: expect.stringMatching(/cloud.*\./i) },
  });
});
