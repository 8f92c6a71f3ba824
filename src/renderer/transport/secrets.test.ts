import { afterEach, expect, test } from "vitest";
import { hideSecrets, masked, unmasked } from "./secrets.ts";
import { call, callUnmasked, setTransport } from "./transport.ts";

afterEach(() => hideSecrets(false));

const secret = "s3cr3t-v4lu3";

test.each([
  ["a member", { sharedSecret: secret }],
  ["a member with another name", { client: { access_token: secret } }],
  ["a header", { headers: [["Authorization", secret]] }],
  ["the text of a request", `POST / HTTP/1.1\r\nX-Api-Key: ${secret}\r\n\r\n`],
  ["a body", `{"properties":{"refreshToken":"${secret}","a":1}}`],
  ["a body within a text", String.raw`{"raw":"{\"password\":\"${secret}\"}"}`],
  ["a URL", `https://ada:${secret}@example.test/`],
  ["a parameter", `https://example.test/?a=1&api_key=${secret}&b=2`],
  ["bytes", { url: `https://x.test/?token=${secret}`, body: { base64: btoa(`\xff ${secret}`) } }],
])(
  "a secret in %s is hidden wherever it is shown, and comes back when it is saved",
  (_, answer) => {
    expect(masked({ answer })).toEqual({ answer });
    hideSecrets(true);
    const shown = masked({ answer, again: `the same: ${secret}` });
    expect(JSON.stringify(shown)).not.toContain(secret);
    expect(JSON.stringify(shown)).not.toContain(btoa(`\xff ${secret}`));
    expect(unmasked(shown)).toEqual({ answer, again: `the same: ${secret}` });
  },
);

test("a secret is hidden as HTTP sends a write key, too", () => {
  hideSecrets(true);
  const { note } = masked({ writeKey: secret, note: `sent as ${btoa(`${secret}:`)}` });
  expect(note).not.toContain(btoa(`${secret}:`));
  expect(unmasked(note)).toBe(`sent as ${btoa(`${secret}:`)}`);
});

test("an e-mail address is hidden wherever it is shown, and comes back when it is saved", () => {
  hideSecrets(true);
  const answer = {
    userId: "ada@example.test",
    caption: [{ text: "ada@example.test enters", value: true }],
    path: "/u/ada%40example.test?next=1",
    raw: '{"traits":{"email":"Ada.L+1@mail.example.co.uk"}}',
    library: "analytics-node@2.1.3",
    handle: "@ada and ada@home",
  };
  const shown = masked(answer);
  const { library, handle } = answer;
  expect(shown).toMatchObject({ library, handle });
  expect(JSON.stringify(shown)).not.toMatch(/example|Ada\./);
  expect(shown.caption[0]?.text).toBe(`${shown.userId} enters`);
  expect(unmasked(shown)).toEqual(answer);
});

test("a secret comes back where a digit follows it", () => {
  hideSecrets(true);
  const answer = Array.from({ length: 12 }, (_, nth) => ({ token: `${secret}-${nth}-x` }));
  const text = answer.map(({ token }) => `${token}1 ${token}12`).join(" ");
  expect(unmasked(masked({ answer, text }))).toEqual({ answer, text });
});

test("a long text without a space is read once", () => {
  hideSecrets(true);
  const text = "a".repeat(2_000_000);
  expect(masked({ text })).toEqual({ text });
});

test("what becomes a file has its secrets", async () => {
  hideSecrets(true);
  const answer = { sharedSecret: secret };
  setTransport({ call: async () => answer as never, watch: () => () => undefined });
  expect(await callUnmasked("settings.get", {})).toEqual(answer);
  expect(await call("settings.get", {})).not.toEqual(answer);
});
