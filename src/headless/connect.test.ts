import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { connect } from "./connect.ts";

/** Answers every call like `about.get`, and keeps what was asked. */
async function startServer() {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (text: string) => (body += text));
    request.on("end", () => {
      asked.push(`${request.method} ${request.url} ${body}`.trim());
      response.end('{"version":"1.2.3"}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const environment = { HOOKYARD_URL: `http://127.0.0.1:${port}/`, HOOKYARD_TOKEN: "t" };
  return { asked, hookyard: await connect(":memory:", environment) };
}

test("what a call has is in its path, in its query and in its body", async () => {
  const { asked, hookyard } = await startServer();
  expect(asked.splice(0)).toEqual(["GET /api/about"]);
  await hookyard.call("messages.list", {});
  await hookyard.call("messages.list", { limit: 1 });
  await hookyard.call("messages.list", { userId: "a&b", sourceId: ["src_1", "src_2"] });
  await hookyard.call("messages.get", { id: "msg/1" });
  await hookyard.call("messages.pin", { id: "msg_1", pinned: true });
  await hookyard.call("clock.advance", { to: "idle" });
  expect(asked).toEqual([
    "GET /api/messages",
    "GET /api/messages?limit=1",
    "GET /api/messages?userId=a%26b&sourceId=src_1&sourceId=src_2",
    "GET /api/messages/msg%2F1",
    'POST /api/messages/msg_1/pin {"pinned":true}',
    'POST /api/clock/advance {"to":"idle"}',
  ]);
});

const noHookyard = (message: string | RegExp) => ({
  name: "NoHookyard",
  message: expect.stringMatching(message),
});

test.each([
  ["https://127.0.0.1:4701", "t", /^HOOKYARD_URL must be an address such as/],
  ["http://127.0.0.1:99999", "t", /^HOOKYARD_URL must be an address such as/],
  ["http://a b", "t", /^HOOKYARD_URL must be an address such as/],
  ["http://127.0.0.1:4701", "tökén", /^The token has characters that no token has\./],
  ["http://127.0.0.1:4701", "a\r\nb", /^The token has characters that no token has\./],
])("%s with the token %j is refused in a sentence", async (url, token, sentence) => {
  const environment = { HOOKYARD_URL: url, HOOKYARD_TOKEN: token };
  await expect(connect(":memory:", environment)).rejects.toMatchObject(noHookyard(sentence));
});

/** Another program, where a Hookyard ran. */
async function listening(answer: RequestListener): Promise<NodeJS.ProcessEnv> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { HOOKYARD_URL: `http://127.0.0.1:${port}`, HOOKYARD_TOKEN: "t" };
}

test("the end of a line after the token does not count", async () => {
  const given: (string | undefined)[] = [];
  const environment = await listening(({ headers }, response) => {
    given.push(headers.authorization);
    response.end('{"version":"1.2.3"}');
  });
  await connect(":memory:", { ...environment, HOOKYARD_TOKEN: "t\r\n" });
  expect(given).toEqual(["Bearer t"]);
});

test.each([
  [200, "null"],
  [200, "{}"],
  [200, "<html>"],
  [404, "{}"],
  [500, '"x"'],
])("an answer of another program is not that of Hookyard: %i %s", async (status, body) => {
  const environment = await listening((_, response) => {
    response.writeHead(status).end(body);
  });
  await expect(connect(":memory:", environment)).rejects.toMatchObject(
    noHookyard(/Set HOOKYARD_TOKEN to that .*, unless another program listens there\.$/),
  );
});

test("an answer that ends in the middle is none", async () => {
  const environment = await listening((_, response) => {
    response.writeHead(200, { "Content-Length": "100" });
    response.write("{", () => response.destroy());
  });
  await expect(connect(":memory:", environment)).rejects.toMatchObject(
    noHookyard(/^Nothing answers at /),
  );
});

test("a program that accepts the request and never answers is given up", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const environment = await listening(() => void vi.advanceTimersByTime(10_000));
  await expect(connect(":memory:", environment)).rejects.toMatchObject(
    noHookyard(/^Nothing answers at /),
  );
});

test("the stream of changes goes on after a cut, and throws when nobody answers any more", async () => {
  const streams: ServerResponse[] = [];
  let isThere = true;
  const environment = await listening(({ url }, response) => {
    if (url !== "/api/events") return void response.end('{"version":"1.2.3"}');
    if (!isThere) return void response.writeHead(404).end();
    response.writeHead(200).flushHeaders();
    streams.push(response);
  });
  const hookyard = await connect(":memory:", environment);
  const changes = (await hookyard.changes())[Symbol.asyncIterator]();
  const next = async (): Promise<unknown> => (await changes.next()).value;
  streams[0]?.write('event: change\ndata: {"area":"messages"}\n\n');
  expect(await next()).toEqual({ area: "messages" });
  streams[0]?.destroy();
  expect(await next()).toBe("resync");
  streams[1]?.write("event: resync\ndata: {}\n\n");
  expect(await next()).toBe("resync");
  isThere = false;
  streams[1]?.end();
  await expect(next()).rejects.toMatchObject(noHookyard(/another program listens there\.$/));
});

test.each(["null", "{}", '{"uiUrl":5}', '{"uiUrl":"file:///etc"}'])(
  "a file that names no address is as if none runs: %s",
  async (text) => {
    const data = mkdtempSync(join(tmpdir(), "hookyard-connect-"));
    onTestFinished(() => rmSync(data, { recursive: true, force: true }));
    writeFileSync(join(data, "hookyard.running.json"), text);
    writeFileSync(join(data, "token"), "t");
    await expect(connect(data, {})).rejects.toMatchObject(noHookyard(/^No Hookyard runs/));
  },
);

test("a Hookyard whose token cannot be read is not said to be none", async () => {
  const data = mkdtempSync(join(tmpdir(), "hookyard-connect-"));
  onTestFinished(() => rmSync(data, { recursive: true, force: true }));
  await expect(connect(data, {})).rejects.toMatchObject(noHookyard(/^No Hookyard runs/));
  writeFileSync(join(data, "hookyard.running.json"), '{"uiUrl":"http://127.0.0.1:1"}');
  for (const code of ["ENOENT", "EISDIR"]) {
    if (code === "EISDIR") mkdirSync(join(data, "token"));
    await expect(connect(data, {})).rejects.toMatchObject(
      noHookyard(
        new RegExp(`^A Hookyard with the data in .* cannot be found: ${code}: .*HOOKYARD_TOKEN`),
      ),
    );
  }
});
