import { describe, expect, test } from "vitest";
import { adviceFor, pointingLines, recognise, type LibraryId } from "./client-libraries.ts";

const place = { ingestUrl: "http://127.0.0.1:4700", writeKey: "wk_1" };

describe("a library is recognised", () => {
  test.each<[string, LibraryId | null, string, string | null]>([
    ["analytics-go (version: 1.2.0)", "go-classic", "analytics-go", "1.2.0"],
    ["analytics-go (version: 2.1.0)", "go-classic", "analytics-go", "2.1.0"],
    ["analytics-go (version: 3.0.0)", "go", "analytics-go", "3.0.0"],
    ["analytics-node-next/latest", "node", "@segment/analytics-node", null],
    ["analytics-node/6.2.0", "node-classic", "analytics-node", "6.2.0"],
    ["analytics-python/2.3.4", "python", "segment-analytics-python", "2.3.4"],
    ["AnalyticsRuby/2.5.0", "ruby", "analytics-ruby", "2.5.0"],
    ["curl/8.5.0", "curl", "cURL", "8.5.0"],
    ["Mozilla/5.0 (X11)", "browser", "a browser", null],
    ["Go-http-client/1.1", null, "Go-http-client", "1.1"],
    ["node", null, "node", null],
  ])("by the User-Agent %s", (agent, id, name, version) => {
    expect(recognise(agent, null)).toEqual({ id, name, version, recognisedBy: "user-agent" });
  });

  test.each<[string, LibraryId | null, string, string | null]>([
    [
      `{"batch":[{"context":{"library":{"name":"analytics.js","version":"npm:next-1.81.0"}}}]}`,
      "browser",
      "@segment/analytics-next",
      "next-1.81.0",
    ],
    [
      `{"context":{"library":{"version":"2.0.0","name":"analytics-go"`,
      "go-classic",
      "analytics-go",
      "2.0.0",
    ],
    [`{"library":{"name":"ours"}}`, null, "ours", null],
  ])("by the body %s, also a cut one", (body, id, name, version) => {
    expect(recognise("Mozilla/5.0", body)).toEqual({ id, name, version, recognisedBy: "body" });
  });

  test("or it is unknown", () => {
    expect(recognise(null, "{")).toMatchObject({ id: null, name: "unknown", recognisedBy: null });
  });

  test("whatever a User-Agent and a body hold, soon and with a short name", () => {
    const long = "x".repeat(60_000);
    expect(recognise(long, null).name).toHaveLength(60);
    expect(recognise(`${"9".repeat(60_000)}.1`, null).version).toBeNull();
    for (const part of [`"library":{`, `"library" `, `"name" `, `"library":{"name"`])
      expect(recognise("", part.repeat(5000)).name).toBe("unknown");
  });
});

test("each library's lines have the address and the key, as its language writes them", () => {
  const hostile = `a"b'c\\#{1}`;
  expect(pointingLines("go", place)).toEqual({
    address: `Endpoint: "http://127.0.0.1:4700",`,
    key: `analytics.NewWithConfig("wk_1", analytics.Config{`,
  });
  expect(pointingLines("browser", place).address).toBe(`apiHost: "127.0.0.1:4700/v1",`);
  expect(pointingLines("ruby", { ...place, writeKey: hostile }).key).toBe(
    `write_key: "a\\"b'c\\\\\\#{1}",`,
  );
  expect(pointingLines("php", { ...place, writeKey: hostile }).key).toBe(
    `Segment::init('a"b\\'c\\\\#{1}', [`,
  );
  expect(pointingLines("curl", { ...place, writeKey: hostile }).key).toBe(`-u 'a"b'\\''c\\#{1}:'`);
});

test.each([
  ["unknown_path", "node", `host: "http://127.0.0.1:4700",`],
  ["missing_write_key", "python", `analytics.write_key = "wk_1"`],
  ["unknown_write_key", "browser", `{ writeKey: "wk_1", cdnURL: "http://127.0.0.1:4700" },`],
  ["unknown_write_key", null, null],
  ["tls_on_plain_port", null, null],
  ["not_a_proxy", null, "NO_PROXY=127.0.0.1,localhost"],
  ["method_not_allowed", "curl", null],
] as const)("%s of %s is mended by %s", (code, library, line) => {
  expect(adviceFor(code, library, place).line).toBe(line);
});

test("a refusal whose sentence says what to do needs no advice", () => {
  expect(adviceFor("invalid_json", "go", place)).toEqual({ advice: null, line: null });
});
