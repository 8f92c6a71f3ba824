import { hostname } from "node:os";
import { expect, test } from "vitest";
import { createGuard } from "./guard.ts";

const addressOf = (listening: string, host: string, origin?: string) =>
  createGuard({ token: "t", host: listening }).checkAddress({
    host,
    ...(origin === undefined ? {} : { origin }),
  })?.code ?? "allowed";

test.each([
  ["127.0.0.1", "10.0.0.1:4701", "bad_host"],
  ["127.0.0.1", "[::2]:4701", "bad_host"],
  ["192.168.0.9", "192.168.0.9:4701", "allowed"],
  ["192.168.0.9", "192.168.0.8:4701", "bad_host"],
  ["Box.Local", "box.local:4701", "allowed"],
  ["box.local", "BOX.local", "allowed"],
  ["FE80::1", "[fe80::1]:4701", "allowed"],
  ["fe80::1", "[fe80::2]:4701", "bad_host"],
  ["0.0.0.0", "10.0.0.1", "allowed"],
  ["0.0.0.0", "[fe80::1]:4701", "allowed"],
  ["::", "10.0.0.1:4701", "allowed"],
  ["::", "[fe80::1]", "allowed"],
  ["0.0.0.0", `${hostname().toUpperCase()}:4701`, "allowed"],
  ["127.0.0.1", `${hostname()}:4701`, "bad_host"],
  ["::", "evil.com", "bad_host"],
  ["::", "10.0.0.1.evil.com", "bad_host"],
  ["::", "localhost:123456", "bad_host"],
])("a port that listens at %s answers the host %s: %s", (listening, host, wanted) => {
  expect(addressOf(listening, host)).toBe(wanted);
});

test("an origin is compared without regard to case, and with its port", () => {
  expect(addressOf("127.0.0.1", "LocalHost:4701", "HTTP://localhost:4701")).toBe("allowed");
  expect(addressOf("127.0.0.1", "localhost:4701", "http://localhost:4702")).toBe("bad_origin");
});

test.each([
  ["Bearer secret", true],
  ["bearer   secret ", true],
  ["Bearersecret", false],
  ["Bearer Secret", false],
  ["Basic secret", false],
  ["x Bearer secret", false],
])("the authorization %j is accepted: %s", (authorization, isAccepted) => {
  expect(
    createGuard({ token: "secret", host: "127.0.0.1" }).checkToken({ authorization }) === null,
  ).toBe(isAccepted);
});
