import { expect, test } from "vitest";
import type { Source } from "../../domain/configuration.ts";
import { isProblem } from "../../domain/problem.ts";
import { acceptRequest, libraryFromUserAgent, type AcceptedRequest } from "./accept.ts";
import { parseBody } from "./read-request.ts";

const source = {
  ...{ id: 1, name: "Shop", kind: "server", writeKey: "k", mode: "explain", deduplicate: true },
  ...{ correctClockSkew: "auto", faults: [], plan: null, createdAt: 0 },
} as unknown as Source;

/** A batch of so many messages, each of which gets a context with such a long text. */
function acceptBatch(messages: number, length: number): AcceptedRequest {
  const batch = Array.from({ length: messages }, () => ({
    type: "track",
    userId: "u",
    event: "e",
  }));
  const body = Buffer.from(JSON.stringify({ batch, context: { text: "x".repeat(length) } }));
  const parsed = parseBody(body, true);
  if (isProblem(parsed)) throw new Error(parsed.message);
  const facts = {
    ...{ source, destinations: [], seed: 1, typeFromPath: null, receivedAt: 0, wallAt: 0 },
    ...{ method: "POST", path: "/v1/batch", headers: [], ip: null, body },
    isSuppressed: () => false,
  };
  return acceptRequest(facts, parsed);
}

test("a batch's defaults may cost 4 MB in its messages, and those that cost more are over its limit", () => {
  const costOf = (length: number): number => {
    const { bytes, body } = acceptBatch(1, length);
    return bytes - body.length;
  };
  // A byte of the text is a byte of the cost.
  const length = 10_000 + 20_000 - costOf(10_000);
  expect(costOf(length)).toBe(20_000);
  expect(acceptBatch(200, length)).toMatchObject({ messages: { length: 200 }, surplus: 0 });
  const over = acceptBatch(200, length + 1);
  expect([over.messages.length, over.surplus]).toEqual([200, 1]);
  expect(over.messages.at(-1)?.rejection).toMatchObject({
    reason: "batch_too_long",
    detail: expect.stringContaining("leave room for 199 messages") as string,
  });
});

test.each([
  ["analytics-go (version: 2.1.0)", { name: "analytics-go", version: "2.1.0" }],
  ["analytics-python/2.2.0", { name: "analytics-python", version: "2.2.0" }],
  ["analytics-node-next/latest", { name: "analytics-node-next", version: "latest" }],
  ["curl/8.5.0", { name: "curl", version: "8.5.0" }],
  ["Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36", { name: "Mozilla", version: "5.0" }],
  ["  my/2 client  ", { name: "my", version: "2" }],
  ["node", null],
  ["plain/", null],
  ["", null],
  ["(version: 1)", null],
  [undefined, null],
])("the User-Agent %j names the library %j", (userAgent, expected) => {
  expect(libraryFromUserAgent(userAgent)).toEqual(expected);
});
