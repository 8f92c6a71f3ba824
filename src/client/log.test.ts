import { execFile } from "node:child_process";
import { afterEach, expect, test } from "vitest";
import { startBatchServer, stopServers } from "../../test/support/batch-server.ts";
import { isDebugged } from "./log.ts";

afterEach(stopServers);

test.each([
  ["analytics", true],
  ["*", true],
  ["express, analytics", true],
  ["express analytics", true],
  ["analytics-node", false],
  ["", false],
  [undefined, false],
])("DEBUG=%s", (debug, debugged) => {
  expect(isDebugged(debug)).toBe(debugged);
});

/** A program of its own, as `DEBUG` is read from its environment. */
function logOf(url: string, debug: string): Promise<string> {
  const program = `
    import { Analytics } from ${JSON.stringify(new URL("./client.ts", import.meta.url).href)};
    let ids = 0;
    const client = new Analytics("key", { endpoint: ${JSON.stringify(url)}, flushAt: 2, newId: () => "id-" + (ids += 1), random: () => 0 });
    client.track({ userId: "u", event: "one" });
    client.identify({ userId: "u" });
    await client.close();`;
  return new Promise((resolve, reject) => {
    const run = { env: { ...process.env, DEBUG: debug } };
    execFile(
      process.execPath,
      ["--input-type=module", "-e", program],
      run,
      (error, _output, errors) => (error === null ? resolve(errors) : reject(error)),
    );
  });
}

test("DEBUG=analytics logs each queueing, flush and answer; without it there is nothing", async () => {
  const server = await startBatchServer((request) =>
    request === 0 ? { status: 503 } : { status: 200, body: '{"success":true}' },
  );
  const lines = (await logOf(server.url, "analytics")).trimEnd().split("\n");
  expect(lines.map((line) => line.replace(/^\S+ /, ""))).toEqual([
    "analytics queued track id-1 (1 of 2)",
    "analytics queued identify id-2 (2 of 2)",
    "analytics flushing 2 messages in 1 batch (size reached)",
    expect.stringMatching(/^analytics sending batch id-3: 2 messages, \d{3} bytes, try 1$/),
    expect.stringMatching(/^analytics batch id-3, try 1: the answer was 503; again in 0\.\d+ s$/),
    expect.stringMatching(/^analytics sending batch id-3: 2 messages, \d{3} bytes, try 2$/),
    'analytics answer to batch id-3: 200 {"success":true}',
    "analytics closed",
  ]);
  expect(await logOf(server.url, "")).toBe("");
});
