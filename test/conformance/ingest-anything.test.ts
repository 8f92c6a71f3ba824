/**
 * Whatever is sent to the ingest port: an answer, or nothing worse, and the next good message is
 * accepted.
 */

import fc from "fast-check";
import { expect, test } from "vitest";
import { startIngestApp, writeKey, type IngestApp } from "../support/ingest-app.ts";
import { basic, post, talk, type Answer } from "../support/ingest-client.ts";
import { anyCharacter } from "../support/any-character.ts";

/** What a client may count on: 200, or a refusal that says why, in strings. */
function expectAnswer({ status, text }: Answer): void {
  const body = JSON.parse(text) as Record<string, unknown>;
  if (status === 200) {
    expect(body).toMatchObject({ success: true });
    for (const { index, reason, message } of (body["rejected"] ?? []) as {
      index: number;
      reason: unknown;
      message: unknown;
    }[]) {
      expect([index, reason, message]).toEqual([
        expect.any(Number),
        expect.stringMatching(/^[a-z0-9_]+$/),
        expect.stringMatching(/\.$/),
      ]);
    }
    return;
  }
  expect(status).toBeGreaterThanOrEqual(400);
  expect(status).toBeLessThan(500);
  expect([body["code"], body["message"]]).toEqual([
    expect.stringMatching(/^[a-z0-9_]+$/),
    expect.stringMatching(/\w/),
  ]);
}

async function expectAlive(app: IngestApp): Promise<void> {
  expect(await app.send("/v1/track", { userId: "u", event: "Still here" })).toMatchObject({
    status: 200,
    text: `{"success":true}`,
  });
}

const member = fc.constantFrom(
  ...[
    "type",
    "userId",
    "anonymousId",
    "event",
    "groupId",
    "previousId",
    "name",
    "messageId",
    "writeKey",
  ],
  ...[
    "context",
    "integrations",
    "traits",
    "properties",
    "timestamp",
    "sentAt",
    "batch",
    "__proto__",
    "constructor",
    "toString",
  ],
);
const value = fc.oneof(
  fc.constantFrom<fc.JsonValue>(
    "identify",
    "track",
    "page",
    "screen",
    "group",
    "alias",
    "delete",
    "u",
    "",
    null,
    [],
    {},
    true,
    0,
    -1,
    1e300,
  ),
  fc.string({ unit: anyCharacter, maxLength: 20 }),
  fc.jsonValue(),
);
/** Written by hand, so that `__proto__` and doubled members are what JSON makes of them. */
const spelled = ([key, json]: [string, fc.JsonValue]): string =>
  `${JSON.stringify(key)}:${JSON.stringify(json)}`;
const object = fc
  .array(fc.tuple(fc.oneof(member, fc.string()), value), { maxLength: 12 })
  .map((pairs) => `{${pairs.map(spelled).join(",")}}`);
const whole = `{"type":"track","userId":"u","event":"e","groupId":"g","previousId":"p"`;
const message = fc.oneof(
  object,
  // What makes a message whole, and whatever else: much of this is accepted.
  fc.array(fc.tuple(fc.oneof(member, fc.string()), value), { maxLength: 2 }).map(
    (pairs) =>
      `${whole}${pairs
        .map(spelled)
        .map((pair) => `,${pair}`)
        .join("")}}`,
  ),
  value.map((json) => JSON.stringify(json)),
);
const body = fc.oneof(
  message,
  fc
    .tuple(fc.array(message, { maxLength: 8 }), object)
    .map(
      ([items, rest]) =>
        `{"batch":[${items.join(",")}]${rest === "{}" ? "}" : `,${rest.slice(1)}`}`,
    ),
  message.map((json) => `{"batch":${json}}`),
);
const path = fc.constantFrom(
  "/v1/batch",
  "/v1/import",
  "/v1/identify",
  "/v1/track",
  "/v1/page",
  "/v1/screen",
  "/v1/group",
  "/v1/alias",
  "/v1/m",
);

test("any JSON, as a message, in a batch and as the whole body, gets an answer, also when it is delivered", async () => {
  const app = await startIngestApp();
  const destination = await app.destination({
    sourceIds: [app.source.id],
    payload: "full",
    sharedSecret: "s",
  });
  const requests = fc.sample(fc.tuple(path, body), { numRuns: 500, seed: 4700 });
  const bytes = requests.map(([target, json]) =>
    post(target, json, { Authorization: basic(writeKey) }),
  );
  const { answers } = await talk(app.port, [Buffer.concat(bytes)], { answers: requests.length });
  expect(answers).toHaveLength(requests.length);
  for (const answer of answers) expectAnswer(answer);
  // Both kinds of answer were met, or this shows nothing.
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 400]));

  await expectAlive(app);
  expect((await destination.received()).length).toBeGreaterThan(20);
  const { byState, total } = (await app.call("stats.get", {})).messages;
  expect(byState.queued + byState.sending + byState.failed).toBe(0);
  expect(total).toBeGreaterThan(500);
});

test("three hundred connections with random bytes, or with a request that was damaged on the way", async () => {
  const app = await startIngestApp();
  const good = post("/v1/batch", `{"batch":[{"type":"track","userId":"u","event":"e"}]}`, {
    Authorization: basic(writeKey),
    "Content-Encoding": "identity",
  });
  const cut = fc.integer({ min: 1, max: good.length - 1 }).map((size) => good.subarray(0, size));
  const damaged = fc
    .array(fc.tuple(fc.nat(good.length - 1), fc.nat(255)), { minLength: 1, maxLength: 6 })
    .map((changes) => {
      const bytes = Buffer.from(good);
      for (const [at, byte] of changes) bytes[at] = byte;
      return bytes;
    });
  const random = fc.uint8Array({ minLength: 1, maxLength: 400 }).map((bytes) => Buffer.from(bytes));
  const cases = fc.sample(fc.oneof(random, cut, damaged), { numRuns: 300, seed: 4701 });
  const statuses = new Map<number, number>();
  for (let at = 0; at < cases.length; at += 20) {
    const talks = await Promise.all(
      cases.slice(at, at + 20).map((bytes) => talk(app.port, [bytes], { halfClose: true })),
    );
    for (const { answers, rest } of talks) {
      expect(rest).toBe("");
      // Damage can make of one request several, and a HEAD or a 204 has no body.
      for (const answer of answers) {
        if (answer.text !== "") expectAnswer(answer);
        statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
      }
    }
  }
  expect(statuses.get(400)).toBeGreaterThan(100);
  await expectAlive(app);
});

test("a slow sender is answered as well", async () => {
  const app = await startIngestApp();
  const bytes = post("/v1/track", `{"userId":"u","event":"e"}`, { Authorization: basic(writeKey) });
  const parts = Array.from(bytes, (byte) => Uint8Array.of(byte));
  expect((await talk(app.port, parts)).answers).toMatchObject([{ status: 200 }]);
});

test("connections that say nothing keep nobody else from being served", async () => {
  const app = await startIngestApp();
  const silent = Array.from({ length: 100 }, () => talk(app.port, ["POST /v1/track HTTP/1.1\r\n"]));
  await expectAlive(app);
  await app.stop();
  expect((await Promise.all(silent)).every(({ closed }) => closed)).toBe(true);
});
