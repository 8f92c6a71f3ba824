import fc from "fast-check";
import { expect, test } from "vitest";
import type { Json, JsonObject } from "../domain/json.ts";
import { jsonBytes } from "./json-bytes.ts";
import { anyCharacter } from "../../test/support/any-character.ts";

const long = Array.from({ length: 1000 }, (_, n) => `word ${n}`).join(" ");
const spanOf = (body: Buffer) => ({ body, offset: 0, size: body.length });
const writtenOf = (value: JsonObject, message: string): string =>
  jsonBytes(value, spanOf(Buffer.from(message))).toString();

test("what is written is what JSON.stringify writes, whatever the message has", () => {
  const text = fc.oneof(
    fc.string({ unit: anyCharacter, maxLength: 10 }),
    fc.constantFrom(
      long,
      `${long}é–𝒳`,
      `é–${long}`,
      `${long}\n`,
      `${long}"`,
      `${long}\\`,
      `${long}\u0000`,
      `${long}\ud800`,
      "\u0000",
      '"\u0000"',
      '"\u0000',
      ":".repeat(5000),
      `${"\n".repeat(5000)}:`,
      ", ".repeat(3000),
    ),
  );
  const name = fc.oneof(text, fc.constantFrom("a", "1", "__proto__", "text"));
  const members: fc.Arbitrary<JsonObject> = fc.dictionary(
    name,
    fc.oneof(
      text,
      fc.integer(),
      fc.dictionary(name, fc.oneof(text, fc.constant(null))),
    ) as fc.Arbitrary<Json>,
    { maxKeys: 5 },
  );
  const space = fc.constantFrom("", " ", "\n".repeat(5000), ":".repeat(5000), "\\n");
  fc.assert(
    fc.property(members, members, space, (value, other, between) => {
      const spelled = JSON.stringify(value);
      for (const message of [spelled, JSON.stringify(other), `${spelled}${between}${spelled}`])
        expect(writtenOf({ version: 1, ...value }, message)).toBe(
          Buffer.from(JSON.stringify({ version: 1, ...value })).toString(),
        );
    }),
  );
});

test("a long text has the bytes of the message, between other members", () => {
  const value = { properties: { "2": 1, text: `${long} – é`, "1": 2 }, context: { other: long } };
  const message = `{ "context": {"other" : "${long}"}, "properties":{"2":1.0,"text":"${long} – é"} }`;
  expect(writtenOf(value, message)).toBe(JSON.stringify(value));
});

test("what stands between two texts is no text", () => {
  const space = `${"\n".repeat(5000)}:`;
  expect(writtenOf({ space }, `{"a"${space}"b"}`)).toBe(JSON.stringify({ space }));
  const commas = ",".repeat(5000);
  expect(writtenOf({ commas }, `["a"${commas}"b"]`)).toBe(JSON.stringify({ commas }));
});
