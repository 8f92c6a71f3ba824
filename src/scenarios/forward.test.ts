import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { startInMemory } from "../app.ts";
import { forServing, readScenario } from "./file/read-scenario.ts";
import { typedCalls, type StartPipeline } from "./run/pipeline.ts";
import { runRead } from "./run/run-scenario.ts";

const start: StartPipeline = async (options) => {
  const app = await startInMemory({ ...options, version: "0.0.0" });
  return { ...typedCalls(app.api.call), stop: app.stop };
};

/** Lists what it has done; does the same message twice unless it is careful. */
async function shop({ isCareful }: { isCareful: boolean }): Promise<string> {
  const orders: { user: string; messageId: string }[] = [];
  const server = createServer((request, response) => {
    if (request.method === "GET") return void response.end(JSON.stringify({ orders }));
    let body = "";
    request.on("data", (chunk) => (body += chunk));
    request.on("end", () => {
      const { userId, messageId } = JSON.parse(body) as { userId: string; messageId: string };
      if (!isCareful || !orders.some((order) => order.messageId === messageId))
        orders.push({ user: userId, messageId });
      response.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const lostAnswer = (url: string) => `name: Lost answer
endpoints:
  Shop:
    - { do: forward, to: ${url}/hook, lose: answer, times: 1, delayAfter: 1s }
    - { do: forward, to: ${url}/hook }
  Twice: [{ do: forward, to: Shop, copies: 2 }]
destinations:
  Shop: { webhooks: [{ endpoint: Twice }] }
steps:
  - send: { type: track, event: Bought, userId: user-1 }
  - advance: idle
  - expect:
      - deliveries: { state: delivered }
      - effects: { url: ${url}/orders, token: user-1, times: 1 }
`;

test("a lost answer and a copy: a careless receiver does it twice or more, a careful one once", async () => {
  const careless = await runRead({
    read: readScenario(lostAnswer(await shop({ isCareful: false }))),
    start,
  });
  expect(careless.problems).toEqual([]);
  expect(careless.steps.at(-1)?.expectations).toMatchObject([
    { passed: true },
    {
      passed: false,
      expected: "1 effect of user-1",
      actual: expect.stringMatching(/^[2-4] effects: \{"user":"user-1"/),
    },
  ]);
  expect(
    await runRead({ read: readScenario(lostAnswer(await shop({ isCareful: true }))), start }),
  ).toMatchObject({ state: "passed" });
});

test("held requests arrive in another order", async () => {
  const url = await shop({ isCareful: true });
  const text = `name: Reversed
settings: { laneConnections: 2 }
endpoints: { Shop: [{ do: forward, to: ${url}/, hold: 2 }] }
destinations: { Shop: { webhooks: [{ endpoint: Shop }] } }
steps:
  - send: { type: track, event: Bought }
    users: [ada, bob]
  - advance: idle
`;
  expect(await runRead({ read: readScenario(text), start })).toMatchObject({ state: "passed" });
  const { orders } = (await (await fetch(`${url}/orders`)).json()) as {
    orders: { user: string }[];
  };
  expect(orders.map(({ user }) => user)).toEqual(["bob", "ada"]);
});

const wrong = (program: string, expectation = "deliveries: { never: true }") => `name: Wrong
endpoints:
  Receiver: [{ status: 200 }]
  Path:
    - ${program}
destinations: { D: { webhooks: [{ endpoint: Path }] } }
steps:
  - expect: { ${expectation} }
`;

test.each<[string, string]>([
  [
    "{ do: forward, to: Reciever }",
    "5:26 A forward leads to the full URL of a receiver, such as http://127.0.0.1:3000/, or to an endpoint above it. Reciever is unknown. Did you mean Receiver?",
  ],
  [
    "{ do: forward, to: Path }",
    "5:26 Path is not above this endpoint. A forward leads to the full URL of a receiver, or to an endpoint above it.",
  ],
  [
    "{ do: forward, to: ftp://a/ }",
    "5:26 The URL must start with http:// or https://, not ftp://.",
  ],
  [
    "{ do: forward, to: Receiver, lose: anser }",
    '5:42 lose must be answer or request, but it is "anser".',
  ],
  [
    "{ do: forward, to: Receiver, hold: 2 }",
    "5:42 2 requests are never in progress together, because laneConnections is 1 here. Write settings: { laneConnections: 2 }.",
  ],
  ["{ do: forward, to: Receiver, tampr: body }", "5:36 tampr is unknown. Did you mean tamper?"],
])("%s is refused at its place", (program, sentence) => {
  const read = readScenario(wrong(program));
  expect(
    "problems" in read
      ? read.problems.map(({ line, column, message }) => `${line}:${column} ${message}`)
      : [],
  ).toEqual([sentence]);
});

test("what the pipeline refuses is shown at the step", async () => {
  const report = await runRead({
    read: readScenario(wrong("{ do: forward, to: Receiver, lose: request, copies: 2 }")),
    start,
  });
  expect(report.problems).toMatchObject([
    { line: 5, message: expect.stringContaining("passes nothing on, so `copies` has no meaning") },
  ]);
});

test("a receiver must listen at the URL of a forward", async () => {
  const read = readScenario(wrong("{ do: forward, to: http://127.0.0.1:1/ }"));
  expect(await runRead({ read, start })).toMatchObject({
    state: "unusable",
    problems: [{ line: 5, message: expect.stringContaining("Nothing listens at 127.0.0.1:1.") }],
  });
});

test("effects can be asked of a command, though not by the process that serves", async () => {
  const text = wrong(
    "{ status: 200 }",
    "effects: { command: echo user-1, token: user-1, times: { atLeast: 1 } }",
  );
  expect(await runRead({ read: readScenario(text), start })).toMatchObject({ state: "passed" });
  expect(readScenario(text, forServing)).toMatchObject({
    problems: [
      {
        line: 8,
        message: "A command runs only with hookyard run and hookyard/testing. Here, use a url.",
      },
    ],
  });
});

test("an expectation of effects says how to ask, and a receiver that cannot be asked has not met it", async () => {
  const neither = readScenario(wrong("{ status: 200 }", "effects: { token: user-1, times: 1 }"));
  expect(neither).toMatchObject({
    problems: [{ message: "Say how to ask the receiver: either url or command." }],
  });
  const gone = await runRead({
    read: readScenario(
      wrong("{ status: 200 }", "effects: { url: 'http://127.0.0.1:1/', token: t, times: 1 }"),
    ),
    start,
  });
  expect(gone.steps[0]?.expectations).toMatchObject([
    { passed: false, actual: expect.stringContaining("cannot be asked for effects") },
  ]);
});
