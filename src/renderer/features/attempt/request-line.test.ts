import { expect, test } from "vitest";
import { requestLine, requestSize } from "./request-line.ts";

const request = { sent: true, method: "POST", url: "https://x.test/", headers: [] as [string, string][], body: "" };

test.each([
  ["https://x.test", "POST / HTTP/1.1"],
  ["https://x.test/hooks/orders?shop=42#top", "POST /hooks/orders?shop=42 HTTP/1.1"],
  ["https://u:p@x.test:8443/a?", "POST /a? HTTP/1.1"],
])("the first line of a request to %s is %s", (url, line) => {
  expect(requestLine({ ...request, url })).toBe(line);
});

test("a request is as long as its lines, their ends, and the bytes of its body", () => {
  expect(requestSize({ ...request, headers: [["A", "b"]], body: "é" })).toBe("POST / HTTP/1.1\r\nA: b\r\n\r\n".length + 2);
});
