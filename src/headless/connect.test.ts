import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { connect } from "./connect.ts";

/** Answers every call with `{}`, and keeps what was asked. */
async function startServer() {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (text: string) => (body += text));
    request.on("end", () => {
      asked.push(`${request.method} ${request.url} ${body}`.trim());
      response.end("{}");
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
    "GET /api/messages?sourceId=src_1&sourceId=src_2&userId=a%26b",
    "GET /api/messages/msg%2F1",
    'POST /api/messages/msg_1/pin {"pinned":true}',
    'POST /api/clock/advance {"to":"idle"}',
  ]);
});
