import { expect, test as base } from "vitest";
import { starting } from "../../test/support/running-app.ts";
import { calls, type CallName } from "../contract/contract.ts";

const test = base.extend("start", starting);

const prefixes: Record<string, string> = {
  sources: "src",
  destinations: "dst",
  messages: "msg",
  deliveries: "dlv",
  jobs: "job",
  endpoints: "ept",
  retryProfiles: "rtp",
  profiles: "prf",
  audiences: "aud",
  computedTraits: "trt",
  deletions: "del",
  clients: "clt",
  checks: "chk",
};

/** What a call needs beside the id. */
const members: Partial<Record<CallName, object>> = {
  "sources.send": { type: "track", body: "{}" },
  "messages.pin": { pinned: true },
  "clients.call": { type: "track", call: {} },
  "deliveries.attempt": { attempt: "att_000000001" },
  "destinations.putFault": { webhookId: "whk_00000zzzz" },
  "destinations.sendAgain": { since: "2026-01-01T00:00:00Z", until: "2026-01-02T00:00:00Z" },
  "destinations.undoFault": { webhookId: "whk_00000zzzz" },
  "clients.generate": { count: 1, perSecond: 1 },
  "stories.go": { to: 1 },
  "checks.result": { check: "answers" },
  "checks.report": { as: "html" },
};

const ofOneThing = (Object.keys(calls) as CallName[]).filter((name) =>
  calls[name].path.includes("{id}"),
);

test("every call answers that what has no such id is not there, whether an id can be spelled so or not", async ({
  start,
}) => {
  const app = await start.app();
  for (const name of ofOneThing) {
    const ids = ["nope", `${prefixes[name.split(".")[0] ?? ""]}_00000zzzz`];
    for (const id of ids) {
      const { status, body } = await app.answer(name, { ...members[name], id });
      expect([status, body], name).toMatchObject([
        404,
        { code: "not_found", message: expect.stringContaining(` ${id}.`) },
      ]);
    }
  }
});

test("every list refuses a cursor that is none of its own", async ({ start }) => {
  const app = await start.app();
  const { id: endpoint } = await app.call("endpoints.create", { name: "R", steps: [] });
  const { id: client } = await app.call("clients.create", { name: "C", writeKey: "key" });
  const lists: [CallName, object][] = [
    ["messages.list", {}],
    ["deliveries.list", {}],
    ["deliveries.list", { order: "due", state: "waiting" }],
    ["profiles.list", {}],
    ["deletions.list", {}],
    ["endpoints.requests", { id: endpoint }],
    ["clients.batches", { id: client }],
    ["clients.log", { id: client }],
  ];
  for (const [name, input] of lists) {
    const { status, body } = await app.answer(name, { ...input, cursor: "soon" });
    expect([status, body], name).toMatchObject([
      400,
      { code: "invalid", message: "cursor: soon is not a cursor of this list." },
    ]);
  }
});

test("a value that is none of its member, and the first such id of several, is named with its place", async ({
  start,
}) => {
  const app = await start.app();
  const { id } = await app.call("sources.create", { name: "Shop" });
  const wrong: [CallName, object, string][] = [
    [
      "messages.list",
      { status: "abc" },
      "status is not valid: use 503, 5xx, >=500, or last=503 for the newest.",
    ],
    ["messages.list", { attempts: "x" }, "attempts is not valid: use 3, >3, >=3, <3 or <=3."],
    ["messages.list", { sourceId: "shop" }, "sourceId: shop is not the id of a source."],
    ["messages.list", { sourceId: [id, "shop"] }, "sourceId[1]: shop is not the id of a source."],
    [
      "destinations.create",
      { name: "D", sourceIds: [id, "shop"], webhooks: [] },
      "sourceIds[1]: shop is not the id of a source.",
    ],
    [
      "audiences.create",
      { name: "A", members: [], destinationIds: ["here"] },
      "destinationIds[0]: here is not the id of a destination.",
    ],
  ];
  for (const [name, input, message] of wrong) {
    const { status, body } = await app.answer(name, input);
    expect([status, body], name).toMatchObject([400, { code: "invalid", message }]);
  }
});
