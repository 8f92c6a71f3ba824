import { describe, expect, test } from "vitest";
import { leadsTo, tlsUrlAt } from "./endpoint-address.ts";

const endpoint = {
  url: "http://127.0.0.1:4710/flaky",
  tlsUrl: "https://self-signed.localhost:4711/flaky",
};

describe("the addresses of a test endpoint", () => {
  test("on the TLS port differ in their host", () => {
    expect(tlsUrlAt(endpoint, "valid.localhost")).toBe("https://valid.localhost:4711/flaky");
  });

  test.each([
    ["http://127.0.0.1:4710/flaky", true],
    ["http://localhost:4710/flaky/?a=1", true],
    ["https://expired.localhost:4711/flaky", true],
    ["https://expired.localhost:4710/flaky", false],
    ["http://127.0.0.1:4710/flaky-2", false],
    ["http://example.com:4710/flaky", false],
    ["nonsense", false],
  ])("%s leads to it: %s", (url, leads) => {
    expect(leadsTo(url, endpoint)).toBe(leads);
  });
});
