import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { snippet, type CallDraft } from "./snippets.ts";

const draft: CallDraft = {
  ingestUrl: "http://127.0.0.1:4700",
  writeKey: "wk_1",
  type: "track",
  body: `{"userId":"u_1042","event":"It's <done>","properties":{"total":184.50,"tags":["a"],"none":null,"empty":{}}}`,
};

describe("cURL", () => {
  test("keeps the body to the byte, whatever quotes are in it", () => {
    const command = snippet("cURL", draft).replace(/^curl/, "printf '%s\\n'");
    const words = execFileSync("sh", ["-c", command], { encoding: "utf8" }).trimEnd().split("\n");
    expect(words).toEqual([
      "http://127.0.0.1:4700/v1/track",
      "-u",
      "wk_1:",
      "-H",
      "Content-Type: application/json",
      "-d",
      draft.body,
    ]);
  });

  test("quotes a write key that a shell would read otherwise", () => {
    expect(snippet("cURL", { ...draft, writeKey: "a b$c" })).toContain("-u 'a b$c:'");
  });
});

test("Node names the host and makes the call with the same members", () => {
  const code = snippet("Node", draft);
  expect(code).toContain("host: 'http://127.0.0.1:4700'");
  const argument = /analytics\.track\((\{.*\})\)\nawait/s.exec(code)?.[1] ?? "";
  expect(JSON.parse(argument)).toEqual(JSON.parse(draft.body));
});

test("strings are quoted for JavaScript", () => {
  const code = snippet("browser", { ...draft, writeKey: `it's "it"\\` });
  const quoted = /btoa\(('.*')\)/.exec(code)?.[1] ?? "";
  // oxlint-disable-next-line no-eval -- the question is what JavaScript reads
  expect(eval(quoted)).toBe(`it's "it"\\:`);
});

test("Go spells the members as its library does", () => {
  expect(snippet("Go", draft)).toBe(`client := analytics.New("wk_1")
client.Endpoint = "http://127.0.0.1:4700"
client.Track(&analytics.Track{
	UserId: "u_1042",
	Event: "It's <done>",
	Properties: map[string]interface{}{
		"total": 184.5,
		"tags": []interface{}{
			"a",
		},
		"none": nil,
		"empty": map[string]interface{}{},
	},
})
client.Close()`);
});

test("a page's properties are the Go library's traits", () => {
  expect(
    snippet("Go", { ...draft, type: "page", body: `{"userId":"u","properties":{"path":"/"}}` }),
  ).toContain('Traits: map[string]interface{}{\n\t\t"path": "/"');
});
