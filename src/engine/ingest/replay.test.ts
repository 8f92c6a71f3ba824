import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isObject, type Json, type JsonObject } from "../../domain/json.ts";
import { isProblem } from "../../domain/problem.ts";
import { parseBody } from "./parse.ts";
import { replayBody } from "./replay.ts";

function replay(body: string, place: number, batched: boolean): string | number {
  const bytes = Buffer.from(body);
  const parsed = parseBody(bytes, batched);
  const { start, end } = (isProblem(parsed) ? undefined : parsed.spans[place]) ?? { start: 0, end: bytes.length };
  const replayed = replayBody(bytes, { offset: start, size: end - start }, batched);
  return isProblem(replayed) ? replayed.status : replayed.toString();
}

const id = `"[0-9a-f-]{36}"`;

test.each([
  [`{"n":1.0,"messageId":"old"}`, `^\\{"n":1\\.0,"messageId":"old","messageId":${id}\\}$`],
  [` {"a": 1e3 } `, `^\\{"a": 1e3 ,"messageId":${id}\\}$`],
  [`{}`, `^\\{"messageId":${id}\\}$`],
  [`{ }`, `^\\{ "messageId":${id}\\}$`],
])("%s keeps its bytes and gets a new message id", (body, pattern) => {
  expect(replay(body, 0, false)).toMatch(new RegExp(pattern));
});

test("one of a batch goes alone, with what the batch gave it", () => {
  const body = `{"context":{"ip":"::1"},"batch":[{"a":1},{"b":2.0}],"sentAt":"now","x":1}`;
  const pattern = `^\\{"batch":\\[\\{"b":2\\.0,"messageId":${id}\\}\\],"context":\\{"ip":"::1"\\},"sentAt":"now"\\}$`;
  expect(replay(body, 1, true)).toMatch(new RegExp(pattern));
  expect(replay(`{"batch":[{"b":2.0}]}`, 0, true)).toMatch(new RegExp(`^\\{"batch":\\[\\{"b":2\\.0,"messageId":${id}\\}\\]\\}$`));
});

describe("what is no message has no replay", () => {
  const deep = `{"context":${`{"a":`.repeat(50_000)}1${"}".repeat(50_000)},"batch":[{}]}`;
  test.each([
    ["half a body", `{"a":1`, false],
    ["a number in a batch", `{"batch":[1]}`, true],
    ["an array in a batch", `{"batch":[[{}]]}`, true],
    ["a body without a batch", `{"a":1}`, true],
    ["a body that nests too deep", deep, true],
    ["nothing", "", false],
  ])("%s", (_, body, batched) => {
    expect(replay(body, 0, batched)).toBe(409);
  });
});

test("any message is itself again, with another id", () => {
  // As JSON reads it: there is no -0.
  const item = fc.json().map((text) => JSON.parse(text) as Json);
  const items = fc.array(item, { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(items, fc.option(fc.dictionary(fc.string(), fc.string())), fc.nat(3), (batch, context, choice) => {
      const place = choice % batch.length;
      const item = batch[place];
      const replayed = replay(JSON.stringify({ batch, context }), place, true);
      if (typeof replayed === "number") {
        expect(isObject(item)).toBe(false);
        return;
      }
      const parsed = JSON.parse(replayed) as { batch: JsonObject[]; context: Json };
      const { messageId, ...rest } = parsed.batch[0] ?? {};
      const { messageId: _, ...before } = item as JsonObject;
      expect([rest, parsed.context]).toEqual([before, context]);
      expect(messageId).toMatch(/^[0-9a-f-]{36}$/);
    }),
  );
});
