import fc from "fast-check";
import { afterEach, expect, test, vi } from "vitest";
import type { Json, JsonObject } from "../domain/json.ts";
import { jsonBytes } from "./json-bytes.ts";
import { anyCharacter } from "../../test/support/any-character.ts";

const long = Array.from({ length: 1000 }, (_, n) => `word ${n}`).join(" ");
const spanOf = (body: Buffer) => ({ body, offset: 0, size: body.length });
const writtenOf = (value: JsonObject, message: string): string =>
  jsonBytes(value, spanOf(Buffer.from(message))).toString();

afterEach(() => void vi.restoreAllMocks());

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

/** How many bytes are written letter by letter. */
function writtenLetterByLetter(value: JsonObject, message: string): number {
  const span = spanOf(Buffer.from(message));
  const expected = JSON.stringify(value);
  const written = vi.spyOn(JSON, "stringify");
  expect(jsonBytes(value, span).toString()).toBe(expected);
  const bytes = written.mock.results.reduce(
    (sum, { value: text }) => sum + Buffer.byteLength(String(text)),
    0,
  );
  written.mockRestore();
  return bytes;
}

const textOf = (length: number, first = "text "): string => first.padEnd(length, "0123456789");
/** More of a message than the text, which stands in it as it is. */
const messageWith = (text: string, more = ""): string => `{"a":"${more}","b":"${text}"}`;
const [shortest, tooShort] = [textOf(4096), textOf(4095)];
const mostly = 100;

test.for<[string, JsonObject, string, boolean]>([
  ["of 4,096 characters", { text: shortest }, messageWith(shortest), true],
  ["of 4,095 characters", { text: tooShort }, messageWith(tooShort), false],
  ["in a member", { a: 1, properties: { text: shortest } }, messageWith(shortest), true],
  ["in a member of a member", { a: { b: { text: shortest } } }, messageWith(shortest), false],
  ["that the message has not", { text: shortest }, messageWith(textOf(4096, "other")), false],
  ["that begins the message", { text: shortest }, `"${shortest}"`, true],
  ["that begins as one before", { text: shortest }, messageWith(shortest, textOf(60)), false],
  ["that begins as one after", { text: textOf(4200) }, `"${textOf(4200)}","${textOf(4096)}"`, true],
  [
    "that begins as one before for 47 characters",
    { text: shortest },
    messageWith(shortest, `${shortest.slice(0, 47)}-`),
    true,
  ],
  [
    "that begins as one before for 48 characters",
    { text: shortest },
    messageWith(shortest, `${shortest.slice(0, 48)}-`),
    false,
  ],
  ["that is longer in the message", { text: shortest }, messageWith(`${shortest}-`), false],
  ["that does not end", { text: shortest }, `{"text":"${shortest}`, false],
  [
    "of more than one byte a character",
    { text: `${shortest}é` },
    messageWith(`${shortest}é`),
    true,
  ],
])("a long text %s is copied, or written letter by letter", ([, value, message, isCopied]) => {
  const bytes = writtenLetterByLetter(value, message);
  if (isCopied) expect(bytes).toBeLessThan(mostly);
  else expect(bytes).toBeGreaterThan(4096);
});

test("a text is looked for in its message alone, and in one of 4,096 bytes or more", () => {
  const text = shortest;
  const before = messageWith(text);
  const body = Buffer.from(`[${before},${messageWith("x".repeat(4096))}]`);
  const inSpan = (offset: number, size: number): number => {
    const written = vi.spyOn(JSON, "stringify");
    jsonBytes({ text }, { body, offset, size });
    const [{ value } = { value: "" }] = written.mock.results;
    written.mockRestore();
    return String(value).length;
  };
  const offset = before.indexOf(text);
  expect(inSpan(1, before.length)).toBeLessThan(mostly);
  expect(inSpan(offset, text.length + 2)).toBeLessThan(mostly);
  expect(inSpan(offset, text.length + 1)).toBeGreaterThan(4096);
  expect(inSpan(before.length + 2, before.length)).toBeGreaterThan(4096);
  expect(inSpan(offset, 4095)).toBeGreaterThan(4096);
});

test("several long texts are copied, each to its place", () => {
  const [one, other] = [textOf(4096, "one"), textOf(5000, "other")];
  const value = { b: other, a: 1, c: { one, other }, d: one };
  expect(writtenLetterByLetter(value, messageWith(other, one))).toBeLessThan(mostly);
});
