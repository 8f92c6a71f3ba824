import fc from "fast-check";
import { expect, test } from "vitest";
import type { Json } from "../../domain/json.ts";
import { isProblem } from "../../domain/problem.ts";
import { parseBody } from "./parse.ts";

test.each<[string, boolean, string]>([
  ["", false, "invalid_json"],
  ["{", false, "invalid_json"],
  ["[]", false, "not_an_object"],
  ["null", true, "not_an_object"],
  ["{}", true, "missing_batch"],
  [`{"batch":{}}`, true, "invalid_batch"],
  [`{"batch":"x"}`, true, "invalid_batch"],
  [`{"a":${"[".repeat(500)}${"]".repeat(500)}}`, false, "too_deep"],
])("%s is refused", (body, batched, code) => {
  expect(parseBody(Buffer.from(body), batched)).toMatchObject({ problem: true, status: 400, code, message: expect.stringMatching(/\.$/) });
});

test("invalid UTF-8 is refused, wherever it is", () => {
  for (const bytes of [[0xff], [0x7b, 0x22, 0xc0, 0x80, 0x22, 0x3a, 0x31, 0x7d]]) {
    expect(parseBody(Buffer.from(bytes), false)).toMatchObject({ code: "invalid_utf8" });
  }
});

test("the bytes of each message are those that it was written with", () => {
  const spaces = fc.constantFrom("", " ", "\n\t ", "\r\n");
  const items = fc.array(fc.tuple(fc.json(), spaces, spaces), { maxLength: 6 });
  const text = fc.string({ unit: "binary" });
  fc.assert(
    fc.property(items, text, spaces, (written, other, space) => {
      const rest = `"other":${JSON.stringify({ batch: [other], [other]: ["]}", '"'] })}`;
      const body = `${space}{${rest},${space}"batch"${space}:${space}[${written.map(([json, before, after]) => before + json + after).join(",")}]${space},"z":0}${space}`;
      const bytes = Buffer.from(body);
      const parsed = parseBody(bytes, true);
      if (isProblem(parsed)) throw new Error(parsed.message);
      expect(parsed.spans.map(({ start, end }) => bytes.toString("utf8", start, end))).toEqual(written.map(([json]) => json));
      expect(parsed.items).toEqual(written.map(([json]) => JSON.parse(json) as Json));
    }),
  );
});

test("a single message is the body without the space around it", () => {
  const bytes = Buffer.from(` \r\n{ "a" : 1 }\t`);
  const parsed = parseBody(bytes, false);
  if (isProblem(parsed)) throw new Error(parsed.message);
  expect(parsed.spans.map(({ start, end }) => bytes.toString("utf8", start, end))).toEqual([`{ "a" : 1 }`]);
});
