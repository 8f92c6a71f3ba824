import { expect, test } from "vitest";
import { requestSize, requestVersion, statusLine } from "./start-line.ts";

test.each([
  ["HTTP/1.1 200 OK", { version: "HTTP/1.1", status: "200", reason: "OK" }],
  ["HTTP/1.0 503 Come back  later", { version: "HTTP/1.0", status: "503", reason: "Come back  later" }],
  ["HTTP/1.1 204", { version: "HTTP/1.1", status: "204", reason: "" }],
  ["HTTP/1.1 204 ", { version: "HTTP/1.1", status: "204", reason: "" }],
  ["ICY 200 OK", { version: "ICY", status: "200", reason: "OK" }],
  ["", null],
])("the status line %j is taken apart", (line, parts) => {
  expect(statusLine(line)).toEqual(parts);
});

test("the version of a request is its line's last word", () => {
  expect(requestVersion("POST /hooks?a=b HTTP/1.1")).toBe("HTTP/1.1");
});

test("a request is as long as its lines, their ends, and the bytes of its body", () => {
  const request = {
    sent: true,
    method: "POST",
    url: "https://x.test/",
    startLine: "POST / HTTP/1.1",
    headers: [["A", "b"]] as [string, string][],
    body: "é",
  };
  expect(requestSize(request)).toBe("POST / HTTP/1.1\r\nA: b\r\n\r\n".length + 2);
});
