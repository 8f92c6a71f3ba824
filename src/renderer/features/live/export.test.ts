import { describe, expect, test } from "vitest";
import type { AnswerOf } from "../../../contract/contract.ts";
import { CallError } from "../../transport/call-error.ts";
import { setTransport } from "../../transport/transport.ts";
import { fileNameOf, harOf, ndjsonOf, useExport } from "./export.ts";

type Message = AnswerOf<"messages.get">;
type Attempt = Message["deliveries"][number]["attempts"][number];

function attempt(id: string, startedAt: string, sent = true): Attempt {
  return {
    id,
    round: 1,
    webhookId: "whk_000000001",
    webhookUrl: "http://127.0.0.1:4710/billing?shop=42",
    startedAt,
    durationMs: 12,
    simulated: false,
    phases: { connect: 1, sent: 2, firstByte: 10, done: 12 },
    outcome: sent ? "success" : "tls_error",
    retryable: false,
    error: null,
    request: {
      sent,
      method: "POST",
      url: "http://127.0.0.1:4710/billing?shop=42",
      startLine: sent ? "POST /billing?shop=42 HTTP/1.1" : "",
      headers: [["Content-Type", "application/json"]],
      body: sent ? '{"a":"\u2028"}' : "",
    },
    response: sent
      ? { status: 200, startLine: "HTTP/1.1 200 OK", headers: [], body: "ok", bodyLength: 2 }
      : null,
    leftOut: false,
  };
}

function message(id: string, raw: string, attempts: Attempt[]): Message {
  return {
    id,
    messageId: id,
    sourceId: "src_000000001",
    type: "track",
    userId: "u_1",
    anonymousId: null,
    event: "Login",
    traits: null,
    receivedAt: "2026-11-21T16:47:31.204Z",
    timestamp: "2026-11-21T16:47:31.204Z",
    state: "delivered",
    reason: null,
    attempts: attempts.length,
    lastStatus: 200,
    pinned: false,
    replayOf: null,
    nextAttemptAt: null,
    plan: null,
    violations: [],
    dropped: [],
    marks: [],
    detail: null,
    duplicateOf: null,
    warnings: [],
    raw,
    rawSize: raw.length,
    request: { method: "POST", path: "/v1/track", headers: [], size: raw.length, messages: 1 },
    cause: null,
    decisions: [],
    deliveries: [
      {
        id: "dlv_000000001",
        messageRowId: id,
        destinationId: "dst_000000001",
        state: "delivered",
        reason: null,
        createdAt: "2026-11-21T16:47:31.204Z",
        firstAttemptAt: null,
        nextAttemptAt: null,
        windowEndsAt: null,
        rounds: 1,
        payload: raw,
        payloadSize: raw.length,
        transitions: [],
        attempts,
      },
    ],
  };
}

describe("messages as NDJSON", () => {
  test("each message is one line that reads back as it was, whatever its bytes", () => {
    const messages = [
      message("msg_000000002", '{\n "event": "a\\nb"\n}', []),
      message("msg_000000001", "[]", []),
    ];
    const lines = ndjsonOf(messages).split("\n");
    expect(lines.length).toBe(3);
    expect(lines.at(-1)).toBe("");
    expect(lines.slice(0, 2).map((line) => JSON.parse(line) as unknown)).toEqual(messages);
  });

  test("the address of a mapping's delivery has no credentials", () => {
    const { deliveries, ...rest } = message("msg_000000001", "{}", []);
    const url = "http://ada:pass@127.0.0.1:4710/crm?token=t0k";
    const text = ndjsonOf([{ ...rest, deliveries: deliveries.map((one) => ({ ...one, url })) }]);
    expect(text).toContain('"http://left-out:left-out@127.0.0.1:4710/crm?token=left-out"');
    expect(text).not.toMatch(/t0k|pass/);
  });

  test("nothing is an empty file", () => {
    expect(ndjsonOf([])).toBe("");
  });
});

describe("messages as HAR", () => {
  test("the attempts of all messages are entries in the order of their starts, without those that sent nothing", () => {
    const newer = message("msg_000000002", "{}", [
      attempt("att_000000003", "2026-11-21T16:48:00.000Z"),
    ]);
    const older = message("msg_000000001", "{}", [
      attempt("att_000000001", "2026-11-21T16:47:00.000Z"),
      attempt("att_000000002", "2026-11-21T16:47:30.000Z", false),
      attempt("att_000000004", "2026-11-21T16:49:00.000Z"),
    ]);
    const { log } = JSON.parse(harOf([newer, older], "0.1.0")) as {
      log: { version: string; entries: { startedDateTime: string }[] };
    };
    expect(log.version).toBe("1.2");
    expect(log.entries.map(({ startedDateTime }) => startedDateTime)).toEqual([
      "2026-11-21T16:47:00.000Z",
      "2026-11-21T16:48:00.000Z",
      "2026-11-21T16:49:00.000Z",
    ]);
  });
});

test("a file's name has the time in it and nothing that a file system refuses", () => {
  expect(fileNameOf("har", "2026-11-21T16:47:32.123Z")).toBe("hookyard-2026-11-21T16-47-32.har");
});

test("no file has the credentials of webhooks", () => {
  const secret = "s3cr3t";
  const sent = attempt("att_1", "2026-11-21T16:47:32.000Z");
  const url = `http://ada:${secret}@127.0.0.1:4710/billing?api_key=${secret}`;
  const open: Attempt = {
    ...sent,
    webhookUrl: url,
    request: {
      ...sent.request,
      url,
      startLine: `POST /billing?api_key=${secret} HTTP/1.1`,
      headers: [["X-Auth-Token", secret]],
    },
  };
  const one = message("msg_1", "{}", [open]);
  for (const file of [ndjsonOf([one]), harOf([one], "0.1.0")]) {
    expect(file).not.toContain(secret);
    expect(file).toContain("left-out");
  }
});

describe("replayed messages", () => {
  async function replaying(ids: readonly string[], refused: Record<string, CallError>) {
    const asked: string[] = [];
    setTransport({
      async call(_, input) {
        const { id } = input as { id: string };
        asked.push(id);
        if (refused[id] !== undefined) throw refused[id];
        return {} as never;
      },
      watch: () => () => undefined,
    });
    await useExport.getState().replayThese(ids);
    const { error, progress } = useExport.getState();
    expect(progress).toBe(null);
    return { asked, said: error?.message };
  }
  const refusal = (status: number, message: string): CallError =>
    new CallError({ status, code: "any", message });

  test("go on after one that cannot be replayed", async () => {
    const refused = { msg_2: refusal(404, "It is gone."), msg_3: refusal(409, "It is a record.") };
    expect(await replaying(["msg_3", "msg_4", "msg_1", "msg_2"], refused)).toEqual({
      asked: ["msg_1", "msg_2", "msg_3", "msg_4"],
      said: "2 replayed, 2 left out: It is gone.",
    });
    expect(await replaying(["msg_1", "msg_4"], refused)).toEqual({
      asked: ["msg_1", "msg_4"],
      said: undefined,
    });
  });

  test("say how many of them there are when something else stops them", async () => {
    const refused = { msg_2: refusal(503, "Nothing can be written.") };
    expect(await replaying(["msg_1", "msg_2", "msg_3"], refused)).toEqual({
      asked: ["msg_1", "msg_2"],
      said: "1 of 3 messages were replayed. Nothing can be written.",
    });
    expect((await replaying(["msg_2"], refused)).said).toBe("Nothing can be written.");
  });
});
