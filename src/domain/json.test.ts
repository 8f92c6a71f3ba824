import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { measureJson } from "./json.ts";

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

function items(text: string): string[] | null {
  const bytes = encode(text);
  return (
    measureJson(bytes).batch?.map(({ start, end }) =>
      new TextDecoder().decode(bytes.subarray(start, end)),
    ) ?? null
  );
}

function depthOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

describe("the items of a batch", () => {
  test.each([
    [`{"batch":[{"a":1},{"b":[2,3]}]}`, [`{"a":1}`, `{"b":[2,3]}`]],
    [
      ` { "x" : [1] , "batch" : [ {"a":1.0} ,\n\t12345678901234567890 , null,"a,b]" ] } `,
      [`{"a":1.0}`, "12345678901234567890", "null", `"a,b]"`],
    ],
    [`{"batch":[]}`, []],
    [`{"batch":[ ]}`, []],
    [`{"batch":null}`, null],
    [`{"batch":{"batch":[1]}}`, null],
    [`{"batch":"[1]"}`, null],
    [`{}`, null],
    [`[{"batch":[1]}]`, null],
    [`[1,"batch",[1]]`, null],
    [`{"other":{"batch":[1]},"list":["batch",[1]]}`, null],
    [`{"batch":[1],"batch":[2,3]}`, ["2", "3"]],
    [`{"batch":[1],"batch":null}`, null],
    [`{"batch":"x","batch":[2]}`, ["2"]],
    [`{"\\u0062atch":[1]}`, ["1"]],
    [`{"\\u0062\\u0061\\u0074\\u0063\\u0068":[1]}`, ["1"]],
    [`{"batch":[1],"\\u0062\\u0061\\u0074\\u0063\\u0068":[2]}`, ["2"]],
    [`{"\\\\atch":[1],"bätch":[2],"batch\\u0000":[3],"Batch":[4]}`, null],
    [`{"k":"batch","v":[1]}`, null],
    [`{"batch":["\\"",{"x\\\\":"}]"}]}`, [`"\\""`, `{"x\\\\":"}]"}`]],
    [`{"batch":[["ü","😀"],{"é":1}],"after":[9]}`, [`["ü","😀"]`, `{"é":1}`]],
    [`"batch"`, null],
    [`17`, null],
  ])("of %s are %j", (text, expected) => {
    JSON.parse(text);
    expect(items(text)).toEqual(expected);
  });

  test("are those that JSON.parse finds, however the document is spaced", () => {
    const batch = fc.array(fc.jsonValue(), { maxLength: 5 });
    const members = fc.array(
      fc.tuple(fc.constantFrom("batch", "a", 'q"', "\\"), fc.oneof(batch, fc.jsonValue())),
      { maxLength: 5 },
    );
    fc.assert(
      fc.property(members, fc.constantFrom(0, 1, "\t"), (pairs, indent) => {
        const text = `{${pairs.map(([key, value]) => `${JSON.stringify(key)} : ${JSON.stringify(value, null, indent)}`).join(" ,")}}`;
        const parsed = JSON.parse(text) as { batch?: unknown };
        const expected = Array.isArray(parsed.batch) ? parsed.batch : null;
        expect(items(text)?.map((item) => JSON.parse(item) as unknown) ?? null).toEqual(expected);
        expect(items(text)?.every((item) => item === item.trim()) ?? true).toBe(true);
        expect(measureJson(encode(JSON.stringify(parsed))).depth).toBe(depthOf(parsed));
      }),
    );
  });
});

test("a batch of long strings with quotes and backslashes has its items where they are", () => {
  const piece = fc.constantFrom('"', "\\", '\\"', "]}", "x".repeat(61), "x".repeat(7), "é");
  const text = fc.array(piece, { maxLength: 60 }).map((pieces) => pieces.join(""));
  fc.assert(
    fc.property(fc.array(text, { maxLength: 4 }), text, (batch, other) => {
      const json = JSON.stringify({ other, batch, [other]: [other] });
      expect(items(json)).toEqual(batch.map((each) => JSON.stringify(each)));
      expect(measureJson(encode(json)).depth).toBe(2);
    }),
    { numRuns: 300 },
  );
});

describe("the depth of a document", () => {
  test.each([
    ["1", 0],
    [`"[[["`, 0],
    ["[]", 1],
    [`{"a":[{}]}`, 3],
    [`[[],[[]],"]",[]]`, 3],
  ])("%s is %i", (text, depth) => {
    expect(measureJson(encode(text)).depth).toBe(depth);
  });

  test("is measured without recursion, so that 50,000 levels are only a number", () => {
    expect(measureJson(encode("[".repeat(50_000) + "]".repeat(50_000))).depth).toBe(50_000);
    expect(
      measureJson(encode(`{"batch":[${`{"a":`.repeat(50_000)}1${"}".repeat(50_000)}]}`)),
    ).toMatchObject({ depth: 50_002 });
  });
});
