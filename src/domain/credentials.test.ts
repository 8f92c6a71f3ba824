import { expect, test } from "vitest";
import {
  headersWithoutCredentials,
  urlWithoutCredentials,
  withKnown,
  withoutCredentials,
} from "./credentials.ts";

test.each([
  ...[
    "Authorization",
    "authorization",
    "X-Api-Key",
    "x-apikey",
    "X-RapidAPI-Key",
    "Ocp-Apim-Subscription-Key",
    "X-Auth-Token",
  ],
  ...[
    "Cookie",
    "X-Access-Token",
    "X-Hook-Secret",
    "X-Password",
    "api_key",
    "xApiKey",
    "X-Session-Id",
    "AccessToken",
    "X-Amz-Security-Token",
  ],
])("the value of the header %s is left out", (name) => {
  expect(headersWithoutCredentials({ [name]: "abc" })).toEqual({ [name]: "left-out" });
});

test.each([
  "X-Team",
  "X-Signature",
  "Idempotency-Key",
  "X-Request-Id",
  "Accept",
  "X-Author",
  "X-Keyboard",
  "X-Tokenizer",
])("the value of the header %s stays", (name) => {
  expect(headersWithoutCredentials({ [name]: "abc" })).toEqual({ [name]: "abc" });
});

test.each([
  ["https://example.com/hook?shop=42#part", "https://example.com/hook?shop=42#part"],
  ["https://ada:pw@example.com/", "https://left-out:left-out@example.com/"],
  ["https://token@example.com", "https://left-out@example.com"],
  ["https://a:b@c@example.com/x", "https://left-out:left-out@example.com/x"],
  ["http://[::1]:4700/?token=a%20b&x=@", "http://[::1]:4700/?token=left-out&x=@"],
  ["https://x/?a=1&API_KEY=2&sig=3", "https://x/?a=1&API_KEY=left-out&sig=left-out"],
  ["https://x/?access%5Ftoken=1", "https://x/?access%5Ftoken=left-out"],
  ["/hook?token=1", "/hook?token=left-out"],
  ["not a url at all", "not a url at all"],
  [
    "https://{{userId}}:{{a.b}}@x/?token={{{c}}}&key=k{{d}}",
    "https://{{userId}}:{{a.b}}@x/?token={{{c}}}&key=left-out",
  ],
  ["", ""],
])("%s is shown as %s", (url, shown) => {
  expect(urlWithoutCredentials(url)).toBe(shown);
  expect(urlWithoutCredentials(shown)).toBe(shown);
});

test("what was left out is taken from the webhook that is there, and else named", () => {
  const known = {
    url: "https://a:b@x/?token=1",
    headers: { Authorization: "Bearer 1", "X-Team": "a" },
  };
  const drafted = withoutCredentials(known);
  expect(withKnown(drafted, [{ url: "https://y/", headers: {} }, known])).toEqual({
    one: known,
    missing: [],
  });
  expect(withKnown({ ...drafted, headers: { authorization: "Bearer 2" } }, [known])).toEqual({
    one: { url: known.url, headers: { authorization: "Bearer 2" } },
    missing: [],
  });
  expect(withKnown(drafted, []).missing).toHaveLength(2);
  expect(
    withKnown({ url: "https://x/left-out", headers: { "X-Team": "left-out" } }, []).missing,
  ).toEqual([]);
});

test("where an event gives the URL, values are known to what has the same directive only", () => {
  const headers = { Authorization: "Bearer 1" };
  const url = { "@replace": { value: { "@path": "$.hook" }, pattern: "a" } };
  const known = [{ name: "First", url, headers }];
  const drafted = (address: unknown) => ({
    ...{ name: "First", url: address },
    headers: { Authorization: "left-out" },
  });
  const same = { "@replace": { pattern: "a", value: { "@path": "$.hook" } } };
  expect(withKnown(drafted(same), known)).toEqual({
    one: { name: "First", url: same, headers },
    missing: [],
  });
  for (const other of [{ "@template": "https://evil.example/{{userId}}" }, "", null, undefined])
    expect(withKnown(drafted(other), known)).toEqual({
      one: drafted(other),
      missing: ["the value of Authorization"],
    });
  const literal = [{ url: "https://x/", headers }];
  expect(withKnown(drafted({ "@path": "$.hook" }), literal).missing).toHaveLength(1);
});

test("directives of a mapping have their credentials left out at any depth, and back by an equal one", () => {
  const mapping = (secret: string, address = secret) => ({
    name: "One",
    url: { "@template": `https://ada:${address}@h/in?token=${address}&u={{userId}}` },
    headers: {
      Authorization:
        secret === "left-out" ? secret : { "@template": `Bearer ${secret} {{userId}}` },
      "X-Api-Key": secret === "left-out" ? secret : 5,
      "X-Token": { "@path": "$.properties.token" },
      "X-Session": { "@template": "{{userId}}" },
      "X-Team": { "@template": "secret {{userId}}" },
    },
  });
  const known = mapping("SECRET");
  const shown = {
    ...mapping("left-out"),
    url: { "@template": "https://left-out:left-out@h/in?token=left-out&u={{userId}}" },
  };
  expect(withoutCredentials(known)).toEqual(shown);
  expect(withKnown(shown, [known])).toEqual({ one: known, missing: [] });
  expect(withKnown(shown, [{ ...known, url: { "@template": "https://h/" } }])).toEqual({
    one: shown,
    missing: [
      `the credentials in the URL ${JSON.stringify(shown.url)}`,
      "the value of Authorization",
      "the value of X-Api-Key",
    ],
  });

  const merged = (value: string) => ({
    url: "https://h/",
    headers: { "@merge": { objects: [{ Cookie: value }, { "@path": "$.headers" }] } },
  });
  expect(withoutCredentials(merged("a=1"))).toEqual(merged("left-out"));
  expect(withKnown(merged("left-out"), [merged("a=1")]).one).toEqual(merged("a=1"));
});

test("of steps without an address, the one that differs in its headers alone has the value", () => {
  const step = (status: number, cookie: string) => ({
    ...{ do: "answer", status },
    headers: { "Set-Cookie": cookie },
  });
  const known = [step(200, "c1"), step(201, "c2"), { do: "hang", headers: {} }];
  const cookieOf = (status: number): unknown =>
    withKnown(step(status, "left-out"), known).one.headers["Set-Cookie"];
  expect([201, 200, 202].map(cookieOf)).toEqual(["c2", "c1", "c1"]);
});
