import { connect } from "node:net";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { startControlPort } from "./control-port.fixture.ts";
import { anyCharacter } from "../../test/support/any-character.ts";

let control: Awaited<ReturnType<typeof startControlPort>>;
beforeEach(async () => {
  control = await startControlPort();
});
afterEach(() => control.stop());

function sendRaw(url: string, bytes: Uint8Array, { end }: { end: boolean }): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    let text = "";
    socket.on("data", (chunk) => (text += chunk.toString("latin1")));
    socket.on("error", () => resolve(text));
    socket.on("close", () => resolve(text));
    socket.write(bytes);
    if (end) socket.end();
  });
}

describe("bad input at the port", () => {
  test.each([
    ["nonsense", "nonsense\r\n\r\n", 400, "bad_request"],
    ["no host", "GET /api/clock HTTP/1.1\r\nConnection: close\r\n\r\n", 403, "bad_host"],
    [
      "an empty host",
      "GET /api/clock HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n",
      403,
      "bad_host",
    ],
    [
      "a bad header",
      "GET /api/clock HTTP/1.1\r\nHost: localhost\r\nBad Header: 1\r\n\r\n",
      400,
      "bad_request",
    ],
    [
      "large headers",
      `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${"x".repeat(140_000)}\r\n\r\n`,
      431,
      "headers_too_large",
    ],
    [
      "a proxy's request",
      "CONNECT a:1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
      405,
      "method_not_allowed",
    ],
    [
      "an unknown expectation",
      "GET / HTTP/1.1\r\nHost: localhost\r\nExpect: wonders\r\nConnection: close\r\n\r\n",
      200,
      "<!doctype html>",
    ],
    [
      "a whole URL as its path",
      "GET http://evil.com/api/clock HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
      404,
      "not_found",
    ],
  ])("%s gets an answer", async (_what, bytes, status, part) => {
    const answer = await sendRaw(control.url, Buffer.from(bytes, "latin1"), { end: false });
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(answer).toContain(part);
  });

  test("random bytes do not end it, and get a code and a message or nothing", async () => {
    const anything = fc.oneof(
      fc.uint8Array({ minLength: 1, maxLength: 300 }),
      fc
        .string({ unit: anyCharacter, minLength: 1 })
        .map((path) =>
          Buffer.from(`GET /${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`),
        ),
    );
    await fc.assert(
      fc.asyncProperty(anything, async (bytes) => {
        const answer = await sendRaw(control.url, bytes, { end: true });
        if (answer === "" || answer.startsWith("HTTP/1.1 200 ")) return;
        expect(answer).toMatch(/^HTTP\/1\.1 4\d\d /);
        expect(answer).toMatch(/"code":".+","message":".+"/);
      }),
      { numRuns: 100 },
    );
    expect((await control.send("GET", "/api/clock")).status).toBe(200);
    expect(control.reported).toEqual([]);
  });
});
