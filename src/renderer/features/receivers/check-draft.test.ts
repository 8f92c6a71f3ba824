import { expect, test } from "vitest";
import { type CheckDraft, emptyCheck, inputOf, withUrl } from "./check-draft.ts";

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
