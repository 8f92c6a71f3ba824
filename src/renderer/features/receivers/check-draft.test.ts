import { expect, test } from "vitest";
import { type CheckDraft, emptyCheck, inputOf, urlToRepeat, withUrl } from "./check-draft.ts";

const ofWebhook: CheckDraft = {
  ...emptyCheck,
  url: "https://crm.test/hooks",
  destination: { id: "dst_000000001", name: "CRM" },
  headers: { Authorization: "Bearer t0ken", "X-Team": "crm" },
  headersOf: "CRM",
};
const typed = (draft: CheckDraft, url: string): CheckDraft => ({
  ...draft,
  ...withUrl(draft, url),
});

test("another path of a webhook's receiver is checked with its headers and secret", () => {
  expect(inputOf(typed(ofWebhook, "https://crm.test/hooks/2 "))).toEqual({
    url: "https://crm.test/hooks/2",
    useSecretOf: "dst_000000001",
    headers: ofWebhook.headers,
  });
});

test("another receiver does not get the headers and the secret of a webhook", () => {
  for (const url of ["https://other.test/hooks", "https://crm.test:8443/hooks", "http://crm.test/"])
    expect(inputOf(typed(ofWebhook, url))).toEqual({ url });
  const emptied = typed(ofWebhook, "");
  expect(inputOf(typed(emptied, ofWebhook.url))).toEqual({ url: ofWebhook.url });
});

test("the seed of a report is taken, and one that the API refuses is not", () => {
  const seeded = (seed: string): CheckDraft => ({ ...ofWebhook, seed });
  expect(inputOf(seeded(" 1714975420 "))).toMatchObject({ seed: 1_714_975_420 });
  expect(inputOf(seeded("2147483647"))).toMatchObject({ seed: 2_147_483_647 });
  for (const seed of ["2147483648", "99999999999", "-1", "1.5", "seven"])
    expect(() => inputOf(seeded(seed))).toThrow("whole number from 0 to 2147483647");
});

test("the URL of a check whose credentials were left out is not offered again", () => {
  const offered = [
    "http://127.0.0.1:1/h?a=1",
    "http://left-out:left-out@h/",
    "http://h/?token=left-out",
  ];
  expect(offered.map(urlToRepeat)).toEqual(["http://127.0.0.1:1/h?a=1", "", ""]);
});
