import fc from "fast-check";
import { expect, test } from "vitest";
import { parsePath, splitTarget } from "./path.ts";

const track = { call: "single", type: "track" };
const batch = { call: "batch" };

test.each<[string, object | null]>([
  ["/v1/batch", batch],
  ["/v1/import", batch],
  ["/v1/b", batch],
  ["//v1/batch", batch],
  ["/v1//batch///", batch],
  ["/deep/prefix/v1/track/", track],
  ["/V1/TrAcK", track],
  ["/v1/t", track],
  ["/v1/v1/track", track],
  ["http://host:1/v1/track", track],
  ["/v1/identify", { call: "single", type: "identify" }],
  ["/v1/i", { call: "single", type: "identify" }],
  ["/v1/page", { call: "single", type: "page" }],
  ["/v1/p", { call: "single", type: "page" }],
  ["/v1/screen", { call: "single", type: "screen" }],
  ["/v1/s", { call: "single", type: "screen" }],
  ["/v1/group", { call: "single", type: "group" }],
  ["/v1/g", { call: "single", type: "group" }],
  ["/v1/alias", { call: "single", type: "alias" }],
  ["/v1/a", { call: "single", type: "alias" }],
  ["/v1/m", { call: "metrics" }],
  ["/v1/projects/abc/settings", { call: "settings", writeKey: "abc" }],
  ["/x//v1/projects/a%2Fb/settings/", { call: "settings", writeKey: "a/b" }],
  ["/v1/projects/%zz/settings", { call: "settings", writeKey: "%zz" }],
  ["/", null],
  ["", null],
  ["*", null],
  ["/v1", null],
  ["/v1/", null],
  ["/v12/track", null],
  ["/xv1/track", null],
  ["/v1/tracks", null],
  ["/v1/track/x", null],
  ["/v1/delete", null],
  ["/v1/constructor", null],
  ["/v1/hasownproperty", null],
  ["/v1/projects//settings", null],
])("%s", (path, call) => {
  expect(parsePath(path)).toEqual(call);
});

test("the query is what comes after the first question mark", () => {
  const { path, query } = splitTarget("/v1/track?writeKey=a%20b?&x");
  expect([path, query.get("writeKey"), query.get("x")]).toEqual(["/v1/track", "a b?", ""]);
  expect([...splitTarget("/v1/track").query]).toEqual([]);
});

test("any path has an answer, and soon", () => {
  fc.assert(fc.property(fc.webPath(), (path) => void parsePath(path)));
  for (const part of ["/", "/v1", "/v1/", "/v1/projects/", "a"]) expect(parsePath(part.repeat(16_384))).toBeNull();
});
