import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { startPipeline } from "../../testing/start.ts";
import { readScenario } from "../file/read-scenario.ts";
import { runRead } from "./run-scenario.ts";

test("ids that a posted body names stay in the report, and only drawn ones become numbers", async () => {
  const names = ["a", "2", "order-2026-11-21-0007"];
  const batch = [...names.map((messageId) => ({ messageId })), {}].map((more) => ({
    type: "track",
    event: "Bought",
    userId: "u_1",
    ...more,
  }));
  const text = `name: A
endpoints: { Receiver: [{ status: 503 }] }
destinations: { Receiver: { webhooks: [{ endpoint: Receiver }] } }
steps:
  - post: '${JSON.stringify({ batch })}'
  - expect: { deliveries: { state: delivered, took: 12s } }
`;
  const report = await runRead({ read: readScenario(text), start: startPipeline });
  const [expectation] = report.steps[1]?.expectations ?? [];
  expect(expectation).toMatchObject({
    expected: "every delivery: state delivered; took 12s",
    actual: "4 deliveries: 4 state waiting, 4 took 0s",
  });
  expect(expectation?.differences.map(({ of }) => of)).toEqual(
    [...names, "#4"].map((id) => `track Bought · u_1 · ${id} → Receiver`),
  );
});

test.each(["command: exit 0", "wait: 1ms", "request: { url: 'http://127.0.0.1:1/' }"])(
  "within counts from a step %s",
  async (step) => {
    const text = `name: A
endpoints: { Receiver: [{ status: 503, times: 5 }, { status: 200 }] }
destinations: { Receiver: { webhooks: [{ endpoint: Receiver }] } }
settings: { jitter: false }
steps:
  - send: { type: track, event: Bought, userId: u_1 }
  - advance: 2m
  - ${step}
  - expect:
      - deliveries: { state: waiting, within: 10s }
      - deliveries: { of: { state: delivered }, never: true, within: 10s }
      - deliveries: { state: delivered, within: 5m }
  - ${step}
  - expect: { deliveries: { of: { state: delivered }, never: true, within: 1m } }
`;
    const report = await runRead({ read: readScenario(text), start: startPipeline });
    expect(report.steps.filter(({ state }) => state !== "passed")).toEqual([]);
  },
);

test("requests to a receiver and waits follow each other without work of the pipeline between them", async () => {
  const calls: string[] = [];
  const server = createServer((_request, response) => {
    calls.push("request");
    response.end();
  });
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const request = `request: { url: 'http://127.0.0.1:${port}/' }`;
  const text = `name: A
steps:
  - ${request}
  - wait: 1ms
  - ${request}
  - expect: { messages: { never: true } }
`;
  const report = await runRead({
    read: readScenario(text),
    async start(options) {
      const pipeline = await startPipeline(options);
      const call: typeof pipeline.call = (name, input, signal) => {
        calls.push(name);
        return pipeline.call(name, input, signal);
      };
      return { ...pipeline, call };
    },
  });
  expect(report.state).toBe("passed");
  const between = calls.slice(calls.indexOf("request"), calls.lastIndexOf("request") + 1);
  expect(between).toEqual(["request", "clock.get", "clock.get", "request"]);
  expect(calls).toContain("clock.advance");
});

test("a retry and a cancel that are made if possible do nothing to what is over or not there", async () => {
  const text = `name: A
endpoints: { Receiver: [{ status: 200 }] }
destinations: { Receiver: { webhooks: [{ endpoint: Receiver }] } }
steps:
  - cancel: { userId: u_1 }
    ifPossible: true
  - send: { type: track, event: Bought, userId: u_1 }
  - retry: { userId: u_1 }
    ifPossible: true
  - retry: { userId: u_1 }
    ifPossible: false
  - advance: idle
`;
  const { steps } = await runRead({ read: readScenario(text), start: startPipeline });
  expect(steps.map(({ text, outcome, problem }) => outcome ?? problem ?? text)).toEqual([
    "0 cancelled",
    "1 message in 1 request from Source, answered 200",
    "0 requeued",
    "The delivery has been delivered. Replay its message to send it again.",
    "advance idle",
  ]);
  expect(steps[0]?.text).toBe("cancel deliveries of userId u_1, if possible");
});

test("a receiver must listen at the url of a mapping before the first step, unless it may be down", async () => {
  const url = "http://127.0.0.1:1/";
  const text = (members: string) => `name: A
settings: { jitter: false }
destinations: { Ledger: { mappings: [${members}] } }
steps:
  - send: { type: identify, userId: u_1 }
  - change: { destinations: { Ledger: { mappings: [${members}] } } }
`;
  const run = (members: string) =>
    runRead({ read: readScenario(text(members)), start: startPipeline });
  const down = await run(`{ url: "${url}" }`);
  expect(down).toMatchObject({ state: "unusable", steps: [] });
  const message =
    "Nothing listens at 127.0.0.1:1. Start the receiver first, or write mayBeDown: true beside the url.";
  expect(down.problems).toEqual([
    expect.objectContaining({ line: 3, message }),
    expect.objectContaining({ line: 6, message }),
  ]);
  const reached = await run(
    `{ url: "${url}", mayBeDown: true }, { url: { "@path": $.userId }, trigger: 'type = "page"' }`,
  );
  expect(reached).toMatchObject({ state: "passed", problems: [] });
  expect(readScenario(text("{ endpoint: R, mayBeDown: true }"))).toMatchObject({
    problems: expect.arrayContaining([
      expect.objectContaining({
        message: "mayBeDown requires a url; an endpoint of this file always listens.",
      }),
    ]) as unknown,
  });
});
