import { expect, test } from "vitest";
import { whyNotAccepted } from "./ingest-answer.ts";

test("the answer to a call says why the call was not accepted", () => {
  const message = "The user is suppressed.";
  const body = { success: true, rejected: [{ index: 0, reason: "suppressed", message }] };
  expect(whyNotAccepted({ status: 200, body: JSON.stringify(body) })).toBe(message);
  expect(whyNotAccepted({ status: 400, body: '{"success":false,"message":"No userId."}' })).toBe(
    "The ingest port answered 400. No userId.",
  );
});

test("an accepted call, and an answer that is not the port's own, need no reason", () => {
  const duplicate = '{"success":true,"rejected":[],"duplicates":[{"index":0,"messageId":"m"}]}';
  for (const body of ['{"success":true}', duplicate, "", "null", '{"rejected":[null]}'])
    expect(whyNotAccepted({ status: 200, body })).toBeNull();
  for (const body of ["", "null", "Bad gateway", '{"message":7}'])
    expect(whyNotAccepted({ status: 503, body })).toBe("The ingest port answered 503.");
});
