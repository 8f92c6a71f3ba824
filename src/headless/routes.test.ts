import fc from "fast-check";
import { expect, test } from "vitest";
import type { Call } from "../contract/call.ts";
import { calls } from "../contract/contract.ts";
import { requestOf } from "../contract/places.ts";
import { isProblem } from "../domain/problem.ts";
import { inputOf, matchPath } from "./routes.ts";

test.each(
  Object.values<Call>(calls).map((call): [string, Call] => [`${call.method} ${call.path}`, call]),
)("%s is its own call", (_name, call) => {
  const found = matchPath(call.path.replaceAll(/\{\w+\}/g, "x%201"));
  if (isProblem(found)) throw new Error(found.message);
  const names = [...call.path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
  expect(found.get(call.method)).toEqual({
    call,
    params: Object.fromEntries(names.map((name) => [name, "x 1"])),
  });
});

test("a text in a path arrives as it is, whatever it is", () => {
  const texts = fc.string({
    unit: fc.constantFrom(".", "%", "2", "5", "E", "e", "/", "?", "#", "é", "😀"),
    minLength: 1,
    maxLength: 8,
  });
  fc.assert(
    fc.property(fc.oneof(fc.constantFrom(".", ".."), texts), (writeKey) => {
      const { path } = requestOf("unknownKeys.forget", { writeKey });
      const found = matchPath(new URL(path, "http://localhost").pathname);
      expect(isProblem(found) ? found : found.get("DELETE")?.params).toEqual({ writeKey });
    }),
    { numRuns: 1000 },
  );
});

test.each([
  ["limit=-5", { limit: -5 }],
  ["limit=999999999999999", { limit: 999_999_999_999_999 }],
  ["limit=1000000000000000", { limit: "1000000000000000" }],
  ["limit=1.5", { limit: "1.5" }],
  ["limit=", { limit: "" }],
  ["state=true", { state: true }],
  ["search=12", { search: "12" }],
])("of the query %s the input is %j", (query, input) => {
  const match = { call: calls["messages.list"] as Call, params: {} };
  expect(inputOf(match, new URLSearchParams(query), {})).toEqual(input);
});

test.each(["stat", "constructor", "__proto__"])(
  "a query parameter %s that the call does not have is refused by its name",
  (name) => {
    const match = { call: calls["messages.list"] as Call, params: {} };
    expect(inputOf(match, new URLSearchParams([[name, "failed"]]), {})).toMatchObject({
      code: "invalid",
      message: `Unknown query parameter ${name}. It is not part of this call; check its spelling.`,
    });
  },
);

test("a path parameter belongs neither into the query nor into the body", () => {
  const match = { call: calls["sources.update"] as Call, params: { id: "src_1" } };
  expect(inputOf(match, new URLSearchParams("id=src_2"), {})).toMatchObject({ code: "invalid" });
  expect(inputOf(match, new URLSearchParams(), { id: "src_2" })).toMatchObject({ code: "invalid" });
  expect(inputOf(match, new URLSearchParams(), { name: "Web" })).toEqual({
    id: "src_1",
    name: "Web",
  });
});
