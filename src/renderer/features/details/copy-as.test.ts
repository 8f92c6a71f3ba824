import { describe, expect, test } from "vitest";
import { anAttempt } from "../attempt/attempt.fixture.ts";
import { curlOfAttempt, curlOfIngest, harOfAttempts, hasCredentials } from "./copy-as.ts";

const headers: [string, string][] = [
  ["authorization", "Basic d2s6"],
  ["content-type", "application/json"],
  ["content-length", "9"],
];
const request = { method: "POST", path: "/v1/track", headers, size: 7, messages: 1 };

const lastLine = (command: string): string | undefined => command.split("\n").at(-1);

describe("cURL", () => {
  test("of a message is the call that brought it", () => {
    expect(curlOfIngest({ request, raw: `{"a":1}` }, { ingestUrl: "http://127.0.0.1:4700" })).toBe(
      `curl -X POST http://127.0.0.1:4700/v1/track \\\n  -u wk: \\\n  -H 'content-type: application/json' \\\n  --data-raw '{"a":1}'`,
    );
  });

  test("of a message from a batch is a batch of it alone", () => {
    const batch = { ...request, path: "/v1/batch", size: 500, messages: 3 };
    expect(
      lastLine(curlOfIngest({ request: batch, raw: `{"a":1}` }, { ingestUrl: "http://x" })),
    ).toBe(`  --data-raw '{"batch":[{"a":1}]}'`);
  });

  test("has the write key of the source where the part that it leaves out had named it", () => {
    const type: [string, string] = ["Content-Type", "application/json"];
    const batch = { ...request, path: "/v1/batch", headers: [type], size: 500 };
    const at = { ingestUrl: "http://x", writeKey: "wk" };
    const of = (changes: Partial<typeof batch>): string =>
      curlOfIngest({ request: { ...batch, ...changes }, raw: `{"a":1}` }, at);
    expect(of({}).split(" \\\n  ").slice(0, 2)).toEqual([
      "curl -X POST http://x/v1/batch",
      "-u wk:",
    ]);
    expect(of({ headers: [type, ["Authorization", "Bearer 1"]] })).toBe(of({}));
    expect(of({ headers: [type, ["authorization", "Basic b3RoZXI6"]] })).not.toContain("wk:");
    expect(of({ path: "/v1/batch?writeKey=other" })).not.toContain("wk:");
  });

  test("of a pixel call is its address", () => {
    const pixel = { method: "GET", path: "/v1/pixel/track?data=eyJ9", headers: [], size: 9 };
    expect(
      curlOfIngest(
        { request: { ...pixel, messages: 1 }, raw: `{"event":"Opened"}` },
        { ingestUrl: "http://x", writeKey: "wk" },
      ),
    ).toBe("curl 'http://x/v1/pixel/track?data=eyJ9'");
  });

  test("takes brackets and braces in an address as they are", () => {
    const attempt = anAttempt();
    attempt.request.url = "http://x/?ids[]={1,2}";
    expect(curlOfAttempt(attempt)).toMatch(/^curl -X POST -g 'http:\/\/x\/\?ids\[\]=\{1,2\}'/);
    const bracket = { ...request, method: "GET", path: "/v1/pixel/page?properties[a]=1" };
    expect(curlOfIngest({ request: bracket, raw: "{}" }, { ingestUrl: "http://x" })).toMatch(
      /^curl -g '/,
    );
  });

  test("of a request that could not be read has its bytes as they were", () => {
    const raw = `{"batch":[nope`;
    const command = curlOfIngest(
      { request: { ...request, path: "/v1/batch", size: raw.length }, raw },
      { ingestUrl: "http://x" },
    );
    expect(lastLine(command)).toBe(`  --data-raw '${raw}'`);
  });

  test("of an attempt carries all headers but those that curl makes", () => {
    const sent: [string, string][] = [
      ["Host", "x"],
      ["X-Signature", "42bb"],
      ["X-Empty", ""],
      ["X-Quote", `it's "$HOME"`],
    ];
    const attempt = anAttempt({
      request: {
        sent: true,
        method: "POST",
        url: "http://x/?a='b'",
        startLine: "POST /?a='b' HTTP/1.1",
        headers: sent,
        body: `{"a":"it's @ \\n \`x\` Café"}`,
      },
    });
    expect(curlOfAttempt(attempt).split(" \\\n  ")).toEqual([
      `curl -X POST 'http://x/?a='\\''b'\\'''`,
      `-H 'X-Signature: 42bb'`,
      `-H 'X-Empty;'`,
      `-H 'X-Quote: it'\\''s "$HOME"'`,
      `-H 'Content-Type:'`,
      `--data-raw '{"a":"it'\\''s @ \\n \`x\` Café"}'`,
    ]);
  });

  test("of an attempt has its method", () => {
    const { request: sent, ...rest } = anAttempt();
    const of = (method: string): string =>
      curlOfAttempt({ ...rest, request: { ...sent, method } })
        .split(" ", 3)
        .join(" ");
    expect(of("PUT")).toBe("curl -X PUT");
    expect(of("PATCH")).toBe("curl -X PATCH");
  });

  test("takes bodies that no argument can hold from its input", () => {
    const command = curlOfIngest({ request, raw: { base64: "AP9B" } }, { ingestUrl: "http://x" });
    expect(command).toMatch(/^base64 -d <<'EOF' \| curl [^]*--data-binary @-\nAP9B\nEOF$/);
    expect(curlOfIngest({ request, raw: "a\0b" }, { ingestUrl: "http://x" })).toMatch(
      /\nYQBi\nEOF$/,
    );

    const lines = curlOfIngest(
      { request, raw: "é".repeat(100_001) },
      { ingestUrl: "http://x" },
    ).split("\n");
    const body = lines.slice(lines.findIndex((line) => line.endsWith("@-")) + 1, -1);
    expect(Math.max(...body.map((line) => line.length))).toBe(76);
    expect(atob(body.join(""))).toBe("\u00c3\u00a9".repeat(100_001));
  });
});

describe("credentials", () => {
  const secret = "s3cr3t";
  const attempt = anAttempt({
    webhookUrl: `https://ada:${secret}@x/hook?token=${secret}&shop=42`,
    request: {
      sent: true,
      method: "POST",
      url: `https://ada:${secret}@x/hook?token=${secret}&shop=42`,
      startLine: `POST /hook?token=${secret}&shop=42 HTTP/1.1`,
      headers: [
        ["Authorization", `Basic ${btoa(`ada:${secret}`)}`],
        ["X-Api-Key", secret],
        ["X-Team", "billing"],
      ],
      body: "{}",
    },
  });

  test("are left out of cURL and HAR unless they are asked for", () => {
    for (const text of [curlOfAttempt(attempt), harOfAttempts([attempt], "0.1.0")]) {
      expect(text).not.toContain(secret);
      expect(text).not.toContain(btoa(`ada:${secret}`));
      expect(text).toContain("billing");
      expect(text).toContain("shop=42");
    }
    expect(hasCredentials([attempt])).toBe(true);
    expect(curlOfAttempt(attempt, { credentials: true })).toContain(
      `-u 'ada:${secret}'`.replaceAll("'", ""),
    );
    expect(harOfAttempts([attempt], "0.1.0", { credentials: true })).toContain(`token=${secret}`);
  });

  test("are left out of the call that brought a message, but for its write key", () => {
    const sent: [string, string][] = [...headers, ["Cookie", secret]];
    const command = curlOfIngest(
      { request: { ...request, headers: sent }, raw: "{}" },
      { ingestUrl: "http://x" },
    );
    expect(command).toContain("-u wk:");
    expect(command).not.toContain(secret);
  });
});

describe("an HTTP archive", () => {
  test("has an entry for each attempt that sent something", () => {
    const unsent = anAttempt({
      request: {
        sent: false,
        method: "POST",
        url: "https://x/",
        startLine: "",
        headers: [],
        body: "",
      },
    });
    const { log } = JSON.parse(harOfAttempts([anAttempt(), unsent], "0.1.0")) as {
      log: { version: string; entries: unknown[] };
    };
    expect(log.version).toBe("1.2");
    expect(log.entries).toHaveLength(1);
    expect(log.entries[0]).toMatchObject({
      startedDateTime: "2026-11-21T15:50:57.000Z",
      time: 142,
      request: {
        method: "POST",
        httpVersion: "HTTP/1.1",
        postData: { mimeType: "application/json", text: `{"a":1}` },
        bodySize: 7,
      },
      response: {
        status: 503,
        statusText: "Service Unavailable",
        httpVersion: "HTTP/1.1",
        content: { size: 4, text: "busy" },
      },
      timings: { dns: 2, connect: 40, ssl: 31, send: 1, wait: 97, receive: 2 },
    });
  });

  test("has an empty answer where none came", () => {
    const attempt = anAttempt({ outcome: "timeout", response: null });
    expect(JSON.parse(harOfAttempts([attempt], "0.1.0"))).toMatchObject({
      log: { entries: [{ response: { status: 0, statusText: "", httpVersion: "" } }] },
    });
  });

  test("writes bytes that are no text in base64", () => {
    const attempt = anAttempt({
      response: {
        status: 500,
        startLine: "HTTP/1.1 500",
        headers: [],
        body: { base64: "AP8=" },
        bodyLength: 2,
      },
    });
    expect(harOfAttempts([attempt], "0.1.0")).toContain(`"encoding": "base64"`);
  });
});
