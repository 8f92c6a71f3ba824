import { describe, expect, test } from "vitest";
import { findingsOfUrl, knownUrl } from "./parity.ts";

describe("a URL", () => {
  test.each([
    ["https://hooks.example.com/x", []],
    ["https://93.184.216.34/x", []],
    ["https://[2606:2800::1]/x", []],
    ["http://hooks.example.com/x", ["plain_http"]],
    ["http://localhost:4702/x", ["local_url", "plain_http"]],
    ["HTTP://LOCALHOST./x", ["local_url", "plain_http"]],
    ["https://valid.localhost:4703/", ["local_url", "local_certificate"]],
    ["https://127.9.0.1/", ["local_url"]],
    ["https://[::1]/", ["local_url"]],
    ["https://[0:0:0:0:0:0:0:1]/", ["local_url"]],
    ["https://0.0.0.0/", ["local_url"]],
    ["https://10.0.0.1/", ["local_url"]],
    ["https://172.16.0.1/", ["local_url"]],
    ["https://172.32.0.1/", []],
    ["https://192.168.7.7/", ["local_url"]],
    ["https://169.254.1.1/", ["local_url"]],
    ["https://100.64.0.1/", ["local_url"]],
    ["https://100.128.0.1/", []],
    ["https://[fd00::1]/", ["local_url"]],
    ["https://[fe80::1]/", ["local_url"]],
    ["https://printer.local/", ["local_url"]],
    ["https://hooks.svc.internal:8443/x", ["local_url"]],
    ["https://NAS.LAN./", ["local_url"]],
    ["https://shop.test/", ["local_url"]],
    ["https://box.localdomain/", ["local_url"]],
    ["https://nowhere.invalid/", ["local_url"]],
    ["https://hooks.internal.example.com/", []],
    ["https://mylan/x", ["local_url"]],
    ["https://dev.testing/", []],
    ["https://receiver/", ["local_url"]],
    ["https://10.example.com/", []],
    ["https://0.1.2.3/", ["local_url"]],
    ["https://192.0.0.8/", ["local_url"]],
    ["https://192.0.1.8/", []],
    ["https://192.0.2.8/", ["local_url"]],
    ["https://198.51.100.8/", ["local_url"]],
    ["https://203.0.113.8/", ["local_url"]],
    ["https://203.0.114.8/", []],
    ["https://223.0.0.1/", []],
    ["https://224.0.0.1/", ["local_url"]],
    ["https://255.255.255.255/", ["local_url"]],
    ["https://[::ffff:127.0.0.1]/", ["local_url"]],
    ["https://[::ffff:7f00:1]/", ["local_url"]],
    ["https://[0:0:0:0:0:FFFF:c0a8:0707]/", ["local_url"]],
    ["https://[::ffff:5db8:d822]/", []],
    ["https://u:p@127.0.0.1:1/", ["local_url"]],
    ["https://example.com/@127.0.0.1", []],
    ["nothing", []],
  ])("%s has %j", (url, codes) => {
    expect(findingsOfUrl(url).map(({ code }) => code)).toEqual(codes);
  });
});

test.each<[unknown, string | null]>([
  ["https://a.example/{{no}}", "https://a.example/{{no}}"],
  [{ "@template": "http://10.0.0.1/hook" }, "http://10.0.0.1/hook"],
  [{ "@template": "http://10.0.0.1:80/{{event}}?x={{userId}}" }, "http://10.0.0.1:80/"],
  [{ "@template": "http://a{{event}}.example/" }, null],
  [{ "@template": { "@path": "$.url" } }, null],
  [{ "@path": "$.url" }, null],
  [undefined, null],
])("the URL %j of a mapping is known as %j", (url, known) => {
  expect(knownUrl(url)).toBe(known);
});
