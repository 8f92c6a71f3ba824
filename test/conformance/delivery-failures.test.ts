import { describe, expect, test as base } from "vitest";
import { lastingPort } from "../support/free-ports.ts";
import { outcomeOf, starting } from "../support/running-app.ts";
import type { Attempt, RunningApp } from "../support/running-app.ts";

const test = base.extend("start", starting);

/** One message to one webhook on a paused clock: what its only attempt was. */
async function attemptAt(app: RunningApp, url: string): Promise<Attempt> {
  const { id: destinationId } = await app.destination([url]);
  const id = await app.send();
  await app.settle();
  const delivery = (await app.message(id)).deliveries.find(
    (one) => one.destinationId === destinationId,
  );
  expect(delivery?.attempts).toHaveLength(1);
  return delivery?.attempts[0] as Attempt;
}

describe("a connection error", () => {
  test.for([
    ["a reset before the answer", "reset", "ECONNRESET"],
    ["an end without an answer", "end", "closed_without_answer"],
    ["a body that is cut short", "truncate", "body_cut_short"],
    ["garbage in place of HTTP", "garbage", undefined],
  ] as const)("is what %s is, and is retried", async ([, does, code], { start }) => {
    const app = await start.app({ clock: "paused" });
    let fails = true;
    const receiver = await start.rawReceiver({
      onRequest(socket) {
        if (!fails) socket.write("HTTP/1.1 204 No Content\r\n\r\n");
        else if (does === "reset") socket.resetAndDestroy();
        else if (does === "end") socket.end();
        else if (does === "truncate")
          socket.end("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
        else socket.end("SSH-2.0-OpenSSH_9.6\r\n");
      },
    });
    await app.destination([`http://127.0.0.1:${receiver.port}/`]);
    const id = await app.send();
    await app.settle();
    const delivery = await app.delivery(id);
    expect(delivery.state).toBe("waiting");
    expect(delivery.attempts).toMatchObject([
      { outcome: "connection_error", retryable: true, request: { sent: true } },
    ]);
    if (code !== undefined) expect(delivery.attempts[0]?.error?.code).toBe(code);
    expect(delivery.attempts[0]?.error?.message).toMatch(/^[A-Z].*\.$/);
    fails = false;
    await app.advance({ to: "next-due" });
    expect((await app.delivery(id)).attempts.map(outcomeOf)).toEqual([
      "1: connection_error",
      "2: success",
    ]);
  });

  test("is what a refused connection is, and not one byte counts as sent", async ({ start }) => {
    const app = await start.app({ clock: "paused" });
    const attempt = await attemptAt(app, `http://127.0.0.1:${await lastingPort()}/`);
    expect(attempt).toMatchObject({
      outcome: "connection_error",
      retryable: true,
      error: { code: "ECONNREFUSED" },
      request: { sent: false, headers: [], body: "" },
      response: null,
    });
    await app.advance({ to: "next-due" });
    const { items } = await app.call("deliveries.list", {});
    expect(items).toMatchObject([{ state: "waiting", rounds: 2 }]);
  });

  test("is what a name without an address is", async ({ start }) => {
    const app = await start.app({ clock: "paused" });
    const attempt = await attemptAt(app, "http://receiver.invalid/");
    expect(attempt).toMatchObject({
      outcome: "connection_error",
      retryable: true,
      request: { sent: false },
    });
    expect(attempt.error?.code).toMatch(/^(ENOTFOUND|EAI_AGAIN)$/);
    expect(attempt.error?.message).toContain("receiver.invalid");
    await app.advance({ to: "next-due" });
    expect((await app.call("deliveries.list", {})).items).toMatchObject([
      { state: "waiting", rounds: 2 },
    ]);
  });
});

describe("a redirect", () => {
  test.for([301, 302, 303, 307, 308])("%i is not followed and final", async (status, { start }) => {
    const app = await start.app({ clock: "paused" });
    const elsewhere = await start.receiver(200);
    const receiver = await start.receiver((response) =>
      response.writeHead(status, { Location: elsewhere.url }).end(),
    );
    const attempt = await attemptAt(app, receiver.url);
    expect(attempt).toMatchObject({
      outcome: "http_error",
      retryable: false,
      response: { status },
    });
    expect(attempt.response?.headers).toContainEqual(["Location", elsewhere.url]);
    await app.advance({ to: "idle" });
    expect((await app.call("deliveries.list", {})).items).toMatchObject([
      { state: "failed", rounds: 1 },
    ]);
    expect(elsewhere.requests).toEqual([]);
    expect(receiver.requests).toHaveLength(1);
  });
});

describe("the answer's body", () => {
  test("is recorded up to 64 KB, with its full length", async ({ start }) => {
    const app = await start.app();
    const body = "0123456789abcdef".repeat(20_000);
    const counted = await start.receiver((response) =>
      response.writeHead(200, { "Content-Length": body.length }).end(body),
    );
    const chunked = await start.receiver((response) => {
      response.write(body.slice(0, 100_000));
      response.end(body.slice(100_000));
    });
    for (const { url } of [counted, chunked]) {
      const attempt = await attemptAt(app, url);
      expect(attempt).toMatchObject({ outcome: "success", response: { bodyLength: body.length } });
      expect(attempt.response?.body).toBe(body.slice(0, 65_536));
    }
  });

  test("is recorded as it is when it is short or no text", async ({ start }) => {
    const app = await start.app();
    const bytes = Buffer.from([0xff, 0x00, 0xfe]);
    const short = await start.receiver((response) => response.writeHead(503).end("Grüße"));
    const binary = await start.receiver((response) => response.writeHead(503).end(bytes));
    expect((await attemptAt(app, short.url)).response).toMatchObject({
      body: "Grüße",
      bodyLength: 7,
    });
    expect((await attemptAt(app, binary.url)).response).toMatchObject({
      body: { base64: bytes.toString("base64") },
      bodyLength: 3,
    });
  });
});
