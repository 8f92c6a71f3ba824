/** Receivers that expect one kind of message, and checks with a message of that kind. */

import { createHmac, timingSafeEqual } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { runCheck, type CheckOptions } from "../../src/check/run-check.ts";
import { isObject, type Json, type JsonObject } from "../../src/domain/json.ts";
import { runHookyard } from "../scenarios/run-hookyard.ts";

const secret = "s3cret";

type Kind = {
  /** What it refuses with 400; null for what it takes. */
  whyRefused(message: JsonObject, text: string): string | null;
  /** What its effects show, once for each key; null for what it has no use for. */
  effectOf(message: JsonObject): { key: string; shown: Json } | null;
};

/** A receiver of subscriptions: its plan and order are required, and an order counts once. */
const subscriptions: Kind = {
  whyRefused(message) {
    if (message["event"] !== "Subscription Started") return null;
    const { plan, order_id: order } = objectIn(message, "properties");
    return typeof plan === "string" && typeof order === "string" ? null : "plan and order_id";
  },
  effectOf(message) {
    const { order_id: order = null } = objectIn(message, "properties");
    return message["event"] === "Subscription Started" && typeof order === "string"
      ? { key: order, shown: { order, user: message["userId"] ?? message["anonymousId"] ?? "" } }
      : null;
  },
};

/** A receiver of profiles, which has no use for events. */
const profiles: Kind = {
  whyRefused: (message) => (message["type"] === "track" ? "no identify" : null),
  effectOf: (message) =>
    message["type"] === "identify"
      ? { key: JSON.stringify(message["messageId"]), shown: objectIn(message, "traits") }
      : null,
};

/** Profiles whose userId begins with `usr_`. */
const prefixed: Kind = {
  whyRefused: ({ userId, "User ID": user = userId }) =>
    typeof user === "string" && user.startsWith("usr_") ? null : "usr_",
  effectOf: profiles.effectOf,
};

/** An order whose amount is written without a fraction, and nothing else in it, as a typed parser wants it. */
const strict: Kind = {
  whyRefused({ properties }, text) {
    if (!isObject(properties) || Object.keys(properties).join() !== "order_id,cents") return "more";
    return /"cents": ?\d+\s*\}/.test(text) ? null : "cents is no whole number";
  },
  effectOf: (message) => ({ key: JSON.stringify(message["messageId"]), shown: message }),
};

/** Takes everything, and does nothing. */
const keeping = (bodies: JsonObject[] = []): Kind => ({
  whyRefused(message) {
    bodies.push(message);
    return null;
  },
  effectOf: () => null,
});

const objectIn = (message: JsonObject, name: string): JsonObject => {
  const value = message[name] ?? {};
  return isObject(value) ? value : {};
};

function isSigned(body: Buffer, given: string): boolean {
  const expected = createHmac("sha1", secret).update(body).digest();
  const signature = Buffer.from(given, "hex");
  return signature.length === expected.length && timingSafeEqual(signature, expected);
}

function parsed(text: string): JsonObject | null {
  try {
    const value = JSON.parse(text) as Json;
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

/** `forgets`: it does each message again. `rewrites`: it verifies what it has written itself. */
async function listening(
  { whyRefused, effectOf }: Kind,
  { forgets = false, rewrites = false } = {},
): Promise<{ url: string; effects: string }> {
  const effects: Json[] = [];
  const seen = new Set<string>();
  const server: Server = createServer(async (request, response) => {
    if (request.method === "GET" && request.url === "/effects")
      return response.end(JSON.stringify(effects));
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      return response.destroy();
    }
    if (request.method !== "POST") return response.writeHead(405).end();
    const body = Buffer.concat(chunks);
    const message = parsed(body.toString("utf8"));
    const verified = rewrites && message !== null ? Buffer.from(JSON.stringify(message)) : body;
    if (!isSigned(verified, String(request.headers["x-signature"] ?? "")))
      return response.writeHead(401).end();
    const why = message === null ? "no object" : whyRefused(message, body.toString("utf8"));
    if (message === null || why !== null) return response.writeHead(400).end(why);
    const effect = effectOf(message);
    if (effect !== null && (forgets || !seen.has(effect.key))) {
      seen.add(effect.key);
      effects.push(effect.shown);
    }
    return response.writeHead(204).end();
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url: `${origin}/hooks`, effects: `${origin}/effects` };
}

const started: Json = {
  type: "track",
  event: "Subscription Started",
  properties: { plan: "pro", seats: 2.5, order_id: "ord-{{token}}", note: "été / Zoë" },
  context: { library: { name: "shop" } },
  messageId: "mine",
  userId: "mine",
  timestamp: "2020-01-01T00:00:00.000Z",
};
const known: Json = { type: "identify", traits: { plan: "pro" } };

async function verdicts(
  kind: Kind,
  message: Json | undefined,
  {
    rewrites = false,
    forgets = false,
    ...more
  }: Parameters<typeof listening>[1] & object & Partial<CheckOptions> = {},
) {
  const { url, effects } = await listening(kind, { rewrites, forgets });
  const report = await runCheck({
    url,
    secret,
    effects: { url: effects },
    ...(message === undefined ? {} : { message }),
    ...more,
  });
  return {
    report,
    of: (verdict: string) =>
      report.checks.filter((check) => check.verdict === verdict).map(({ id }) => id),
  };
}

/** What is warned about, and no mistake of these receivers. */
const fine = ["signature-restringified", "wrong-content-type"];

test.for([
  ["subscriptions", subscriptions, started],
  ["profiles", profiles, known],
] as const)(
  "a right receiver of %s fails no check, and none is skipped",
  async ([, kind, message]) => {
    const { report, of } = await verdicts(kind, message);
    expect(of("fail")).toEqual(kind === profiles ? ["types"] : []);
    expect(of("skipped")).toEqual(["order"]);
    expect(of("warn").filter((id) => !fine.includes(id))).toEqual(
      kind === subscriptions ? ["empty-properties"] : [],
    );
    expect(report.checks).toHaveLength(34);
  },
);

test("without a message, a receiver that has no use for an order cannot be asked about copies, and the check says what to do", async () => {
  const { report, of } = await verdicts(subscriptions, undefined, { only: ["duplicate"] });
  expect(of("skipped")).toEqual(["duplicate"]);
  expect(report.checks.find(({ id }) => id === "duplicate")?.detail).toBe(
    "The check waited for three seconds, and the effects do not show the first message, a track with the event Order Completed. None of them contains its token, so they cannot be counted. If the receiver has no use for it, give a message that it expects (--message).",
  );
});

test.for([
  ["subscriptions", subscriptions, started],
  ["profiles", profiles, known],
] as const)("a receiver of %s that does each message again is found", async ([, kind, message]) => {
  const { of } = await verdicts(kind, message, {
    forgets: true,
    only: ["duplicate", "duplicate-together", "retry-after-lost-answer", "replayed-late"],
  });
  expect(of("fail")).toEqual(["duplicate", "duplicate-together", "retry-after-lost-answer"]);
  expect(of("warn")).toEqual(["replayed-late"]);
});

test("a receiver that verifies what it has written again is found, and one that takes the bytes is not, whatever the message holds", async () => {
  for (const message of [started, known, { type: "page", name: "x" }] as Json[]) {
    const only = ["signature-raw-body"];
    expect((await verdicts(keeping(), message, { only })).of("fail")).toEqual([]);
    expect((await verdicts(keeping(), message, { only, rewrites: true })).of("fail")).toEqual(only);
  }
});

test("a receiver that refuses unknown properties and fractions is no wrong one", async () => {
  const message = { event: "Paid", properties: { order_id: "{{token}}", cents: 5000 } };
  const added = ["big", "unicode", "deep", "numbers"];
  const { report, of } = await verdicts(strict, message, {
    only: [...added, "unknown-members", "signature-raw-body", "slow-request"],
  });
  expect(of("fail")).toEqual([]);
  expect(of("skipped")).toEqual(expect.arrayContaining(added));
  expect(of("skipped")).toHaveLength(added.length);
  expect(report.checks.find(({ id }) => id === "big")?.detail).toContain("that it does not know");
  expect(of("warn")).toEqual(["unknown-members"]);
});

test("a receiver of short bodies is found, also when the message has a text of its own", async () => {
  const upTo = (bytes: number): Kind => ({
    whyRefused: (_, text) => (text.length > bytes ? "too long" : null),
    effectOf: () => null,
  });
  const message = { event: "Said", properties: { text: "hi" } };
  for (const [bytes, found] of [
    [32_767, ["big"]],
    [32_768, []],
  ] as const)
    expect((await verdicts(upTo(bytes), message, { only: ["big"] })).of("fail")).toEqual(found);
});

test("an order that is the same in each message is named as a cause", async () => {
  const same = { event: "Subscription Started", properties: { plan: "pro", order_id: "1" } };
  const { report } = await verdicts(subscriptions, same, { only: ["duplicate"] });
  expect(report.checks.find(({ id }) => id === "duplicate")).toMatchObject({
    verdict: "fail",
    detail: expect.stringContaining("write {{token}} in its place") as unknown,
  });
});

test("no other cause is named when the message has the token where it counts", async () => {
  const once: Kind = {
    whyRefused: () => null,
    effectOf: ({ groupId = null }) => ({ key: "the only one", shown: { groupId } }),
  };
  const group = { type: "group", groupId: "g-{{token}}" };
  const { report } = await verdicts(once, group, { only: ["duplicate"] });
  expect(report.checks.find(({ id }) => id === "duplicate")).toMatchObject({
    verdict: "fail",
    detail: expect.not.stringContaining("in its place") as unknown,
  });
});

test("effects that do not show the traits cannot say which of two identifies counts", async () => {
  const unseen: Kind = {
    ...profiles,
    effectOf: ({ type = null, userId = null, messageId }) =>
      type === "identify" ? { key: JSON.stringify(messageId), shown: { userId } } : null,
  };
  const { report } = await verdicts(unseen, known, { only: ["order"] });
  expect(report.checks.find(({ id }) => id === "order")).toMatchObject({
    verdict: "skipped",
    detail: "The effects do not show the traits: write {{token}} in one that they show.",
  });
});

test("a userId of a form of its own is that of all messages of the check", async () => {
  const { report, of } = await verdicts(
    prefixed,
    { type: "identify", userId: "usr_{{token}}" },
    { only: ["types", "order"] },
  );
  expect(of("fail")).toEqual([]);
  expect(report.checks.find(({ id }) => id === "order")?.detail).toContain("list both identifies");
});

test.for<[message: Json | undefined, id: string, sentence: string]>([
  [
    undefined,
    "answers",
    "to a valid message, a track with the event Order Completed. If it expects another message, give that one (--message).",
  ],
  [{ event: "x".repeat(100) }, "answers", `the event ${"x".repeat(60)}…. Any status`],
  [{ ...known, event: "Known" }, "answers", "to a valid message, an identify. Any status"],
  [known, "answers", 'The receiver says "nothing".'],
  [{ ...known, anonymousId: "anon-7" }, "empty-properties", "to empty traits."],
])("a refusal is told with the message that was refused: %#", async ([message, id, sentence]) => {
  const nothing: Kind = {
    whyRefused: ({ traits = {} }) =>
      id === "answers" || Object.keys(traits as JsonObject).length === 0 ? "nothing" : null,
    effectOf: () => null,
  };
  const { report } = await verdicts(nothing, message, { only: [id] });
  expect(report.checks.find((check) => check.id === id)?.detail).toContain(sentence);
});

test("an anonymousId of the user's own stays, and effects without the token are explained", async () => {
  const bodies: JsonObject[] = [];
  const message = { ...known, anonymousId: "anon-7" };
  const { report } = await verdicts(keeping(bodies), message, {
    only: ["no-user-id", "duplicate"],
  });
  expect(bodies.find(({ userId }) => userId === undefined)?.["anonymousId"]).toBe("anon-7");
  expect(report.checks.find(({ id }) => id === "duplicate")?.detail).toContain(
    "The effects have to show its userId, or a member that has {{token}} in the file.",
  );
});

test("each message has an id, a time and a token of its own, and keeps the rest", async () => {
  const bodies: JsonObject[] = [];
  await verdicts(keeping(bodies), started, { only: ["answers"], skip: ["in-time"] });
  const [first, second] = bodies;
  const token = first?.["userId"] as string;
  expect(token).toMatch(/^tok[0-9a-f]{16}$/);
  expect(first).toEqual({
    version: 1,
    type: "track",
    event: "Subscription Started",
    messageId: `chk-${token}`,
    userId: token,
    timestamp: expect.stringMatching(/^20(?:2[6-9]|[3-9]\d)-/) as unknown,
    properties: { plan: "pro", seats: 2.5, order_id: `ord-${token}`, note: "été / Zoë" },
    context: { library: { name: "shop" } },
  });
  expect(second?.["userId"]).not.toBe(token);
});

test("a userId and messageId of the user's own stay where they hold the token", async () => {
  const bodies: JsonObject[] = [];
  const message = { event: "Paid", userId: "user-{{token}}", messageId: "{{token}}" };
  await verdicts(keeping(bodies), message, { only: ["answers"], skip: ["in-time"] });
  const [{ userId, messageId, properties } = {}] = bodies;
  expect(userId).toBe(`user-${messageId as string}`);
  expect(properties).toEqual({});
});

test.for<[message: Json, sentence: string]>([
  [[], "The message must be a JSON object."],
  [
    { type: "alias" },
    "The message must be of one of these types: track, identify, page, screen, group.",
  ],
  [{ type: "track" }, "The message is a track, so it must have an event."],
  [{ event: "Paid", properties: [] }, "The properties of the message must be an object."],
  [{ type: "group", traits: "x" }, "The traits of the message must be an object."],
  [
    { type: "track", event: "Paid", raw: "{}", deliveries: [] },
    "This is Hookyard's record of a message: give the message itself, which is in its member raw.",
  ],
  [{ traits: { plan: "pro" } }, "The message has neither a type nor an event."],
  [{ type: "group" }, "The message is a group, so it must have a groupId."],
  [{ event: "x".repeat(16_373) }, "The message has 16,385 bytes; the limit is 16,384."],
  [{ event: "{{token}}".repeat(1_000) }, "The message has 19,012 bytes; the limit is 16,384."],
])("a message that cannot be sent is refused: %#", async ([message, sentence]) => {
  await expect(runCheck({ url: "http://127.0.0.1:9/", message })).rejects.toThrow(sentence);
});

test("on the command line it is a file, and the scenario of a failure sends that message", async () => {
  const folder = mkdtempSync(join(tmpdir(), "hookyard-check-message-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "message.json");
  const { url, effects } = await listening(subscriptions, { forgets: true });
  const check = [
    ...["check", url, "--effects", effects, "--only", "duplicate", "--skip", "in-time"],
    ...["--message", file, "--scenarios", folder],
  ];
  const env = { HOOKYARD_SECRET: secret };

  expect(await runHookyard(check, { env })).toMatchObject({
    code: 2,
    err: `${file} cannot be read: ENOENT: no such file or directory, open '${file}'\n`,
  });
  writeFileSync(file, "{");
  expect(await runHookyard(check, { env })).toMatchObject({
    code: 2,
    err: expect.stringContaining(`${file} is not JSON: `) as unknown,
  });
  writeFileSync(file, `\ufeff${JSON.stringify(started)}`);
  expect((await runHookyard(check, { env })).code).toBe(1);
  const scenario = readFileSync(join(folder, "duplicate.yaml"), "utf8");
  expect(scenario).toContain("ord-{{token}}");
  const run = await runHookyard(["run", join(folder, "duplicate.yaml")], { env });
  expect(run.code).toBe(1);
  expect(run.out).toContain("{{token}}");
});
