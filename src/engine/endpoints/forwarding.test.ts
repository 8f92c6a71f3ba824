import { createServer as createSecureServer } from "node:https";
import { Agent, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { lastingPort } from "../../../test/support/free-ports.ts";
import { askWithNode } from "../../../test/support/foreign-clients.ts";
import { behind, receiver, recordOf } from "../../../test/support/forwarding.ts";
import { certificate, startRawReceiver } from "../../../test/support/raw-receiver.ts";
import { until } from "../../../test/support/running-app.ts";
import { startEndpoints } from "../../../test/support/running-endpoints.ts";
import type { Step } from "../../domain/configuration.ts";
import { Activity } from "../clock/activity.ts";
import { startAttempt } from "../deliver/attempt.ts";
import { createTrust } from "../deliver/dial.ts";
import { createSender } from "../deliver/sender.ts";
import { nextTurn } from "../real-time.ts";

const track = '{"type":"track","userId":"u1","event":"Bought"}';

describe("a forward", () => {
  test("passes the request on and the answer back, and records both byte for byte", async () => {
    const answer =
      "HTTP/1.1 201 Made It\r\nX-Thing: caf\xe9\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nContent-Length: 4\r\n\r\n\x00\xffok";
    const real = await startRawReceiver({ onRequest: (socket) => socket.write(answer, "latin1") });
    onTestFinished(() => real.stop());
    const { at, record } = await behind(`http://127.0.0.1:${real.port}/hook?a=1`, {});
    const seen = await fetch(`${at}?b=2`, {
      method: "POST",
      headers: { "X-Signature": "00", "X-Own": "1", "Proxy-Authorization": "no" },
      body: track,
    });
    expect(seen.status).toBe(201);
    expect(seen.statusText).toBe("Made It");
    expect(seen.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
    expect(seen.headers.get("date")).toBeNull();
    expect([...new Uint8Array(await seen.arrayBuffer())]).toEqual([0, 255, 111, 107]);

    const [{ forwarded, status } = { forwarded: [], status: null }] = record();
    expect(status).toBe(201);
    expect(forwarded).toHaveLength(1);
    const [exchange] = forwarded;
    expect(`${exchange?.requestHead}${Buffer.from(exchange?.body ?? []).toString()}`).toBe(
      real.received[0],
    );
    expect(
      `${exchange?.response?.head}${Buffer.from(exchange?.response?.body ?? []).toString("latin1")}`,
    ).toBe(answer);
    expect(exchange).toMatchObject({
      outcome: "success",
      error: null,
      method: "POST",
      bodyLength: track.length,
      simulated: false,
    });
    expect(real.received[0]).toMatch(
      /^POST \/hook\?a=1&b=2 HTTP\/1\.1\r\nHost: 127\.0\.0\.1:\d+\r\n/,
    );
    expect(real.received[0]).toContain("X-Own: 1");
    expect(real.received[0]).not.toMatch(/proxy-authorization/i);
  });

  test.each(["GET", "HEAD", "PUT", "DELETE"])("keeps the method %s", async (method) => {
    const { url, arrived } = await receiver(
      ({ response }) => void response.writeHead(200, { "Content-Length": 5 }).end("hello"),
    );
    const { at } = await behind(url, {});
    const seen = await fetch(at, { method, ...(method === "PUT" ? { body: "x" } : {}) });
    expect(await seen.text()).toBe(method === "HEAD" ? "" : "hello");
    expect(seen.headers.get("content-length")).toBe("5");
    expect(arrived).toMatchObject([{ method, body: method === "PUT" ? "x" : "" }]);
  });

  test("passes back HTML, a redirect that it does not follow, an empty answer, and one of 1 MB", async () => {
    const large = "x".repeat(1024 * 1024);
    const { url, arrived } = await receiver(({ response }, count) => {
      if (count === 1) response.writeHead(200, { "Content-Type": "text/html" }).end("<h1>Hi</h1>");
      if (count === 2) response.writeHead(302, { Location: "/login" }).end();
      if (count === 3) response.writeHead(204).end();
      if (count === 4) response.end(large);
    });
    const { at, record } = await behind(url, {});
    expect(await askWithNode(at)).toMatchObject({
      status: 200,
      body: "<h1>Hi</h1>",
      headers: { "content-type": "text/html" },
    });
    expect(await askWithNode(at)).toMatchObject({ status: 302, headers: { location: "/login" } });
    expect(await askWithNode(at)).toMatchObject({ status: 204, body: "" });
    expect(await askWithNode(at)).toMatchObject({ status: 200, body: large });
    expect(arrived).toHaveLength(4);
    expect(record().at(-1)?.forwarded[0]?.response).toMatchObject({
      bodyLength: 1024 * 1024,
      body: { byteLength: 65_536 },
    });
  });

  test("gives the receiver of a delivery as long as the delivery has", async () => {
    const { url } = await receiver(() => {});
    const { at, record, clock, holds } = await behind(url, {}, { forwardTimeoutMs: 3_600_000 });
    const sender = createSender({ trust: createTrust() });
    onTestFinished(() => sender.close());
    const work = new Activity().begin();
    const request = { url: at, headers: [], body: track, timeoutMs: 1000 };
    await startAttempt({ sender, clock, holds, work, ...request }).done;
    await until(() => record()[0]?.forwarded[0]?.outcome === "timeout");
    expect(record()[0]?.forwarded[0]?.error?.message).toContain("within 1 s");
  });

  test("says in a sentence why there is no answer", async () => {
    const { url } = await receiver(({ response }, count) => {
      if (count === 1) response.socket?.resetAndDestroy();
      if (count === 2) response.socket?.end("SSH-2.0\r\n");
      if (count === 3) response.end("x".repeat(1024 * 1024 + 1));
    });
    const { url: silent } = await receiver(() => {});
    const token = "?token=t0k";
    const answering = await behind(`${url}${token}`, {}, { forwardTimeoutMs: 3_600_000 });
    const hanging = await behind(`${silent}${token}`, {}, { forwardTimeoutMs: 100 });
    const answerOf = async ({ at }: { at: string } = answering) => {
      const seen = await askWithNode(at);
      return "failed" in seen ? seen.failed : `${seen.status} ${seen.body}`;
    };
    expect(await answerOf()).toMatch(
      /^502 .*"forward_failed".*\?token=left-out was not answered: The receiver reset the connection before any byte/,
    );
    expect(await answerOf()).toMatch(/^502 .*The response is not HTTP: it begins with/);
    expect(await answerOf()).toMatch(/^502 .*\?token=left-out is larger than 1 MB/);
    expect(await answerOf(hanging)).toMatch(
      /^504 .*"forward_timeout".*No complete response within 0.1 s/,
    );
    const record = [...answering.record(), ...hanging.record()];
    expect(record.map(({ status, forwarded }) => [status, forwarded[0]?.outcome])).toEqual([
      [502, "connection_error"],
      [502, "connection_error"],
      [502, "success"],
      [504, "timeout"],
    ]);
  });

  test("leaves the sender's connection open, whatever it could not pass back", async () => {
    const real = await startRawReceiver({
      onRequest: (socket, _, request) => {
        const what = request.at(-1);
        if (what === "0") socket.destroy();
        else if (what === "1") socket.end(`HTTP/1.1 200 OK\r\n\r\n${"x".repeat(1024 * 1024 + 1)}`);
        else socket.end("HTTP/1.1 200 OK\r\nX-A: \x01\r\nContent-Length: 0\r\n\r\n");
      },
    });
    onTestFinished(() => real.stop());
    const { at } = await behind(`http://127.0.0.1:${real.port}/`, {});
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => agent.destroy());
    const send = (body: string): Promise<[number | undefined, boolean]> =>
      new Promise((resolve, reject) => {
        const sent = request(at, { method: "POST", agent }, (response) => {
          response.resume().on("end", () => resolve([response.statusCode, sent.reusedSocket]));
        });
        sent.on("error", reject);
        sent.end(body);
      });
    const seen = [];
    for (const body of ["0", "1", "2", "0"]) {
      seen.push(await send(body));
      await nextTurn();
    }
    expect(seen).toEqual([
      [502, false],
      [502, true],
      [502, true],
      [502, true],
    ]);
  });

  test("says that an answer is not legal HTTP to pass back, and passes a 204 and a 304 without a body", async () => {
    const answers = [
      "200 OK\r\nX-A: \x01\r\nContent-Length: 0",
      "204 None",
      "304 Same\r\nContent-Length: 7",
      "200 O\x01K\r\nContent-Length: 0",
    ];
    const real = await startRawReceiver({
      onRequest: (socket, _, request) =>
        socket.end(`HTTP/1.1 ${answers[Number(request.at(-1))]}\r\n\r\n`),
    });
    onTestFinished(() => real.stop());
    const { at } = await behind(`http://127.0.0.1:${real.port}/`, {});
    for (const body of ["0", "3"])
      expect(await askWithNode(at, { body })).toMatchObject({
        status: 502,
        body: expect.stringContaining("cannot be passed back"),
      });
    expect(await askWithNode(at, { body: "1" })).toMatchObject({ status: 204, body: "" });
    expect(await askWithNode(at, { body: "2" })).toMatchObject({
      status: 304,
      body: "",
      headers: { "content-length": "7" },
    });
  });

  test("says that nothing listens, and that a certificate is self-signed", async () => {
    const secure = createSecureServer(certificate("self-signed"), (_, response) => response.end());
    await new Promise<void>((resolve) => secure.listen(0, "127.0.0.1", resolve));
    const { port } = secure.address() as AddressInfo;
    const self = await behind(`https://localhost:${port}/`, {});
    expect(await askWithNode(self.at)).toMatchObject({
      status: 502,
      body: expect.stringContaining("is self-signed. Use one that"),
    });
    expect(self.record()[0]?.forwarded).toMatchObject([
      { outcome: "tls_error", requestHead: "", response: null },
    ]);
    await new Promise((resolve) => secure.close(resolve));
    const gone = await behind(`http://127.0.0.1:${await lastingPort()}/`, {});
    expect(await askWithNode(gone.at)).toMatchObject({
      status: 502,
      body: expect.stringContaining("Nothing listens at 127.0.0.1"),
    });
  });

  test("that leads back to its endpoint is refused", async () => {
    const running = await startEndpoints();
    const one = running.create({
      name: "One",
      steps: [{ do: "forward", to: `${running.url}/two` }],
    });
    running.create({ name: "Two", steps: [{ do: "forward", to: one.url }] });
    expect(await askWithNode(one.url)).toMatchObject({
      status: 508,
      body: expect.stringContaining("forward_loop"),
    });
    expect(recordOf(running, one.id).map(({ status }) => status)).toEqual([508, 508]);
  });
});

describe("a loss", () => {
  test("of the answer: the receiver did its work, and the sender sees a reset", async () => {
    const { url, bodies } = await receiver();
    const { at, record } = await behind(url, { lose: "answer" });
    expect(await askWithNode(at, { body: track })).toEqual({ failed: "ECONNRESET" });
    expect(bodies()).toEqual([track]);
    expect(record()).toMatchObject([
      {
        did: "forward",
        status: null,
        forwarded: [{ outcome: "success", response: { status: 200 } }],
      },
    ]);
  });

  test("of the request: the receiver gets nothing", async () => {
    const { url, bodies } = await receiver();
    const { at, record } = await behind(url, { lose: "request" });
    expect(await askWithNode(at, { body: track })).toEqual({ failed: "ECONNRESET" });
    expect(bodies()).toEqual([]);
    expect(record()).toMatchObject([{ status: null, forwarded: [] }]);
  });

  test.each(["answer", "request"] as const)(
    "of the %s as a timeout: nothing, until the sender gives up",
    async (lose) => {
      const { url, bodies } = await receiver();
      const { at, clock, whenReceived } = await behind(url, { lose, loseAs: "timeout" });
      const givesUp =
        lose === "answer" ? until(() => bodies().length === 1) : whenReceived(1).then(nextTurn);
      expect(await askWithNode(at, { body: track, givesUp })).toEqual({
        failed: "CLIENT_TIMEOUT",
      });
      expect(bodies()).toEqual(lose === "answer" ? [track] : []);
      expect(clock.scheduled()).toEqual([]);
    },
  );
});

describe("an answer", () => {
  test("is replaced by the step's status, headers and body", async () => {
    const { url, bodies } = await receiver();
    const { at, record } = await behind(url, {
      status: 503,
      headers: { "Retry-After": "7" },
      body: "busy",
    });
    expect(await askWithNode(at, { body: track })).toMatchObject({
      status: 503,
      body: "busy",
      headers: { "retry-after": "7" },
    });
    expect(bodies()).toEqual([track]);
    expect(record()).toMatchObject([{ status: 503, forwarded: [{ response: { status: 200 } }] }]);
  });
});

describe("a delay", () => {
  test("before and after the receiver passes on the clock alone", async () => {
    const { url, arrived } = await receiver();
    const { at, clock, whenReceived, record } = await behind(url, {
      delayMs: 3_000,
      delayAfterMs: 1_500,
    });
    const seen = askWithNode(at);
    await whenReceived(1);
    expect(clock.scheduled()).toEqual([clock.now() + 3_000]);
    clock.advanceBy(2_999);
    expect(arrived).toHaveLength(0);
    clock.advanceBy(1);
    await until(() => clock.scheduled().length === 1);
    expect(arrived).toHaveLength(1);
    expect(clock.scheduled()).toEqual([clock.now() + 1_500]);
    clock.advanceBy(1_500);
    expect(await seen).toMatchObject({ status: 200, body: "done" });
    expect(record()[0]?.forwarded[0]?.startedAt).toBe(clock.now() - 1_500);
  });

  test("outlives a sender that has given up", async () => {
    const { url, bodies } = await receiver();
    const { at, clock, whenReceived } = await behind(url, { delayMs: 8_000 });
    expect(await askWithNode(at, { body: track, givesUp: whenReceived(1) })).toEqual({
      failed: "CLIENT_TIMEOUT",
    });
    clock.advanceBy(8_000);
    await until(() => bodies().length === 1);
    expect(bodies()).toEqual([track]);
  });
});

describe("copies", () => {
  test("go out one after the other, and the sender has the first answer at once", async () => {
    let underWay = 0;
    let most = 0;
    const waiting: ServerResponse[] = [];
    const { url, bodies } = await receiver(({ response }, count) => {
      underWay += 1;
      most = Math.max(most, underWay);
      response.once("finish", () => (underWay -= 1));
      if (count === 2) waiting.push(response);
      else response.end(`answer ${count}`);
    });
    const { at, record } = await behind(url, { copies: 3 });
    expect(await askWithNode(at, { body: track })).toMatchObject({ status: 200, body: "answer 1" });
    await until(() => waiting.length === 1);
    expect(bodies()).toHaveLength(2);
    waiting[0]?.end();
    await until(() => record()[0]?.forwarded[2]?.outcome === "success");
    expect(bodies()).toEqual([track, track, track]);
    expect(most).toBe(1);
  });

  test("wait for the answer to the first one", async () => {
    const waiting: ServerResponse[] = [];
    const { url, bodies } = await receiver(({ response }) => void waiting.push(response));
    const { at } = await behind(url, { copies: 2 });
    const seen = askWithNode(at, { body: track });
    await until(() => waiting.length === 1);
    for (let turn = 0; turn < 50; turn += 1) await nextTurn();
    expect(bodies()).toHaveLength(1);
    waiting[0]?.end("first");
    expect(await seen).toMatchObject({ body: "first" });
    await until(() => waiting.length === 2);
    waiting[1]?.end();
  });

  test("go out at the same time", async () => {
    const responses: ServerResponse[] = [];
    const { url, arrived } = await receiver(({ response }) => {
      responses.push(response);
      if (responses.length === 3) for (const one of responses) one.end();
    });
    const { at, record } = await behind(url, { copies: 3, together: true });
    expect(await askWithNode(at, { body: track })).toMatchObject({ status: 200 });
    expect(arrived).toHaveLength(3);
    await until(() => record()[0]?.forwarded.every(({ outcome }) => outcome === "success"));
    expect(record()[0]?.forwarded).toHaveLength(3);
  });
});

describe("tampering", () => {
  async function tampered(
    tamper: Step["tamper"],
    body: string,
    headers: Record<string, string> = { "X-Signature": "ab" },
  ) {
    const { url, arrived } = await receiver();
    const { at, record } = await behind(url, { tamper });
    await fetch(at, { method: "POST", headers, body });
    const [one] = arrived;
    const index = one?.headers.findIndex((name) => name.toLowerCase() === "x-signature") ?? -1;
    const [request] = record();
    expect(Buffer.from(request?.body ?? []).toString()).toBe(body);
    expect(Buffer.from(request?.forwarded[0]?.body ?? []).toString()).toBe(one?.body);
    return { body: one?.body, signature: index === -1 ? null : one?.headers[index + 1] };
  }

  test.each<[Step["tamper"], string, string, string | null | RegExp]>([
    ["body", '{"a":{"b":1} }', '{"a":{"b":1} ,"tampered":true}', "ab"],
    ["body", "{}", '{"tampered":true}', "ab"],
    ["body", "plain", "plain ", "ab"],
    ["signature", track, track, /^[0-9a-f]{40}$/],
    ["no-signature", track, track, null],
    [
      "reserialise",
      '{"a":[1.50,9007199254740993],"b":"é: \\"x\\", y"}',
      '{"a": [1.50, 9007199254740993], "b": "\\u00e9: \\"x\\", y"}',
      "ab",
    ],
    ["reserialise", "a: b", "a: b", "ab"],
  ])("%s of %s", async (tamper, body, sent, signature) => {
    const seen = await tampered(tamper, body);
    expect(seen.body).toBe(sent);
    if (signature instanceof RegExp) expect(seen.signature).toMatch(signature);
    else expect(seen.signature).toBe(signature);
  });

  test("gives an unsigned request a wrong signature", async () => {
    expect((await tampered("signature", track, {})).signature).toMatch(/^[0-9a-f]{40}$/);
  });
});
