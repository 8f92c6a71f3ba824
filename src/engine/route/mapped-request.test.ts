/** What a mapping makes of an event, and the sentence when that cannot be sent. */

import { expect, test } from "vitest";
import type { Mapping } from "../../domain/configuration.ts";
import { createRequests } from "./mapped-request.ts";

const mapping = {
  ...{ id: 1, name: "M", enabled: true, trigger: null, url: "http://h/", method: "POST" },
  ...{ headers: {}, data: { "@path": "$." } },
  batch: { enabled: false, size: 2, keys: ["url", "method", "headers"], waitMs: 5 },
} as unknown as Mapping;

const made = (changes: object, event = {}) => createRequests(event)({ ...mapping, ...changes });

const full = "Escape characters outside ASCII.";

test.each<[changes: object, sentence: string]>([
  [{ url: { "@path": "$.none" } }, "The URL is missing."],
  [{ url: "" }, "The URL is missing."],
  [{ url: "y".repeat(98) }, `"${"y".repeat(98)}" is not a full URL. ${full}`],
  [{ url: "y".repeat(99) }, `"${"y".repeat(99)}… is not a full URL. ${full}`],
  [{ url: ["http://a/", "http://b/"] }, `["http://a/","http://b/"] is not a full URL. ${full}`],
  [{ url: "http://a/é" }, `"http://a/é" is not a full URL. ${full}`],
  [{ url: "ftp://a/" }, '"ftp://a/" is not an http or https URL.'],
  [{ url: "http://a:99999/" }, `"http://a:99999/" is not a full URL. ${full}`],
  [{ url: { "@path": "$.constructor" } }, `A function is not a full URL. ${full}`],
  [{ data: [1] }, "The data must be an object."],
  [{ headers: "x" }, "The headers must be an object."],
  [{ headers: { "a b": "1" } }, '"a b" is not a legal header name.'],
  [{ headers: { "": "1" } }, '"" is not a legal header name.'],
  [{ headers: { Host: "h" } }, "Hookyard sets the header Host itself. Remove it."],
  [
    { headers: { a: { toString: 1, valueOf: 1 } } },
    "The value of a header cannot be written as text.",
  ],
  [{ headers: { a: "\u0100" } }, "The value of the header a has a character that is not legal."],
  [
    { data: { toJSON: { "@path": "$.constructor.create" } } },
    "The request cannot be written: Object prototype may only be an Object or null: ",
  ],
  [{ headers: { Connection: "x" } }, "Hookyard sets the header Connection itself. Remove it."],
])("%j is not sent: %s", (changes, sentence) => {
  expect(made(changes)).toBe(sentence);
});

test("headers are in the order of their names, in lower case, and those of two spellings are joined", () => {
  const headers = { B: "1", a: 2, b: true, "Content-Length": "9" };
  expect(made({ url: ["https://h/p#part"], headers, data: null })).toMatchObject({
    ...{ url: "https://h/p", body: null, batch: null },
    headers: [
      ["a", "2"],
      ["b", "1, true"],
    ],
  });
});

test("an apostrophe in the path is written as the open source's HTTP client writes it", () => {
  const url = "https://h/it's/'?q='#'";
  expect(made({ url })).toMatchObject({ url: "https://h/it%27s/%27?q=%27" });
});

test("without headers there are none", () => {
  for (const headers of [null, "", {}]) expect(made({ headers })).toMatchObject({ headers: [] });
});

test("events that agree in the keys of a batch share it", () => {
  const batch = { ...mapping.batch, enabled: true, keys: ["url", "none"] };
  const batchOf = (changes: object) => {
    const request = made({ batch, ...changes });
    return typeof request === "string" ? request : request.batch;
  };
  const one = batchOf({});
  expect(one).toEqual({
    key: expect.stringMatching(/^[0-9a-f]{40}$/) as string,
    size: 2,
    waitMs: 5,
  });
  expect(batchOf({ method: "PUT", headers: { a: "1" } })).toEqual(one);
  expect(batchOf({ url: "http://other/" })).not.toEqual(one);
});

test("equal mappings share what they make, each with its own webhook", () => {
  const requestOf = createRequests({ userId: "u" });
  const [one, other] = [requestOf(mapping), requestOf({ ...mapping, id: 2 } as never)];
  if (typeof one === "string" || typeof other === "string") throw new Error("no requests");
  expect([one.webhookId, other.webhookId]).toEqual([1, 2]);
  expect(other.body).toBe(one.body);
  expect(one.body?.toString()).toBe('{"userId":"u"}');
  expect(requestOf({ ...mapping, url: "http://third/" })).toMatchObject({ url: "http://third/" });
});

test("what a mapping cannot make of an event is a sentence", () => {
  expect(made({ data: { text: "x".repeat(2_000_000) } })).toMatch(/^[A-Z].*\.$/);
});

test("JSON in a text that is nested too deeply to be written is a sentence, at any depth", () => {
  const decoded = { "@json": { mode: "decode", value: { "@path": "$.blob" } } };
  const batch = { ...mapping.batch, enabled: true };
  const sentences = Array.from({ length: 60 }, (_, nth) => (nth + 1) * 200).flatMap((depth) => {
    const blob = `${'{"":'.repeat(depth)}1${"}".repeat(depth)}`;
    return [{ data: decoded }, { data: {}, headers: { a: decoded }, batch }, { url: decoded }].map(
      (changes) => made(changes, { blob }),
    );
  });
  expect(sentences).toContain("The data is nested too deeply to be written.");
});
