import { expect, test } from "vitest";
import { urlOf } from "./url-of.ts";

test.for([
  ["127.0.0.1", "http://127.0.0.1:4700"],
  ["localhost", "http://localhost:4700"],
  ["192.168.1.20", "http://192.168.1.20:4700"],
  ["0.0.0.0", "http://127.0.0.1:4700"],
  ["::", "http://[::1]:4700"],
  ["::1", "http://[::1]:4700"],
  ["fe80::1", "http://[fe80::1]:4700"],
] as const)("a port at %s is reached at %s", ([host, url]) => {
  expect(urlOf(host, 4700)).toBe(url);
});
