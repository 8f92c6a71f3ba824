import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { checkHeader, checkWebhookUrl } from "./webhook-rules.ts";

describe("a webhook's URL", () => {
  test.each([
    "http://example.com",
    "https://example.com/hook?x=1#part",
    "HTTPS://Example.COM:8443/a/b",
    "http://localhost:4702/e/flaky",
    "https://self-signed.localhost:4703/",
    "http://127.0.0.1:1/",
    "http://[::1]:8080/x",
    "http://[2001:db8::192.0.2.1]/",
    "http://[1:2:3:4:5:6:7:8]/",
    "http://user:pa%20ss@example.com/",
    "http://example.com./",
    "http://bücher.example/",
    "http://under_score.example/",
    "http://example.com/a%20b",
    "http://example.com:65535",
    "http://example.com?query",
    "http://example.com/a/../b/%7Eada?q={x}|y#grün",
    "http://grün:wört@example.com/",
  ])("may be %s", (url) => {
    expect(checkWebhookUrl(url)).toBeNull();
    expect(() => new URL(url)).not.toThrow();
  });

  test.each([
    ["", "full URL"],
    ["example.com/hook", "http:// or https://"],
    ["//example.com", "http:// or https://"],
    ["http:/example.com", "http:// or https://"],
    ["ftp://example.com", "not ftp://"],
    ["javascript://example.com", "not javascript://"],
    ["http://", "no host"],
    ["http:///path", "no host"],
    ["http://:80/", "no host"],
    ["http://user@/", "no host"],
    ["http://exa mple.com", "spaces"],
    [" http://example.com", "spaces"],
    ["http://example.com/a\nb", "line breaks"],
    ["http://example.com/\u0000", "control characters"],
    ["http://example.com:0", "port"],
    ["http://example.com:65536", "port"],
    ["http://example.com:80a", "port"],
    ["http://example.com:", "port"],
    ["http://[::1", "closing bracket"],
    ["http://[::1]8080", "IPv6"],
    ["http://[1::2::3]/", "IPv6"],
    ["http://[1:2:3]/", "IPv6"],
    ["http://[::1.2.3.256]/", "IPv6"],
    ["http://256.1.1.1/", "IPv4"],
    ["http://1.2.3/", "IPv4"],
    ["http://a..b/", "empty part"],
    ["http://a\\@b/", "instead of"],
    ["http://a<b/", "character"],
    ["http://example.com/grüß/e", "Write %C3%BC%C3%9F instead of üß"],
    ["http://example.com/?q=日本", "Write %E6%97%A5%E6%9C%AC instead of 日本"],
    ["http://example.com/\ud800", "Write %EF%BF%BD instead"],
    ["http://a%20b/", "character"],
    ["http://\u00ad/", "character"],
    ["http://a\uff0fb/", "character"],
    ["http://a\ud800/", "character"],
  ])("may not be %j", (url, part) => {
    expect(checkWebhookUrl(url)).toContain(part);
  });

  test("that is accepted can be parsed by everybody", () => {
    const piece = fc.constantFrom(
      "http://",
      "https://",
      "a",
      "b.c",
      "1",
      "255",
      ".",
      ":",
      "80",
      "[",
      "]",
      "::",
      "@",
      "/",
      "?",
      "#",
      "%41",
      "-",
      "_",
      "0x1",
      "\\",
      "é",
      // A host of these alone is empty, or is none.
      ...["\u00ad", "\u200c", "\u200d", "\u2100", "\uff0f", "\ud800"],
    );
    fc.assert(
      fc.property(
        fc.constantFrom("http://", "https://", ""),
        fc.array(piece, { maxLength: 8 }),
        (start, pieces) => {
          const url = start + pieces.join("");
          if (checkWebhookUrl(url) === null) expect(() => new URL(url)).not.toThrow();
        },
      ),
      { numRuns: 2000 },
    );
  });
});

describe("a webhook's header", () => {
  test.each([
    ["X-Team", "growth"],
    ["Authorization", "Bearer abc.def-ghi=="],
    ["x_under!#$%&'*+-.^`|~1", ""],
    ["X-Latin", "Grüße\tund £"],
  ])("may be %s: %s", (name, value) => {
    expect(checkHeader(name, value)).toBeNull();
    expect(() => new Headers([[name, value]])).not.toThrow();
  });

  test.each<[string, string, string]>([
    ["", "x", "needs a name"],
    ["X Team", "x", "not a legal header name"],
    ["X-Team:", "x", "not a legal header name"],
    ["X-Grüße", "x", "not a legal header name"],
    ["X-Team\n", "x", "not a legal header name"],
    ["X-Team", "a\r\nX-Evil: 1", "line breaks"],
    ["X-Team", "a\u0000b", "cannot carry"],
    ["X-Team", "\u007f", "cannot carry"],
    ["X-Team", "日本", "cannot carry"],
    ["X-Team", " a", "space"],
    ["X-Team", "a\t", "space"],
    ...["X-Signature", "content-type", "USER-AGENT", "Host", "Content-Length"].map(
      (name): [string, string, string] => [name, "x", `sets the header ${name} itself`],
    ),
    ...[
      "Connection",
      "Keep-Alive",
      "Proxy-Connection",
      "TE",
      "Trailer",
      "Transfer-Encoding",
      "Upgrade",
      "Expect",
    ].map((name): [string, string, string] => [
      name,
      "x",
      `The header ${name} belongs to the connection`,
    ]),
  ])("may not be %j: %j", (name, value, part) => {
    expect(checkHeader(name, value)).toContain(part);
  });
});
