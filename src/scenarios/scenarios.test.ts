import { createServer, type AddressInfo, type Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { until } from "../../test/support/running-app.ts";
import { createApp, type App } from "../app.ts";
import type { AnswerOf, CallName, InputOf } from "../contract/contract.ts";
import type { ScenarioRunAnswer } from "../contract/scenarios.ts";
import { isProblem } from "../domain/problem.ts";
import { startPipeline } from "../testing/start.ts";
import { typedCalls } from "./run/pipeline.ts";
import { createScenarios } from "./scenarios.ts";

let app: App;
let reported: unknown[];
let stopped: boolean;
beforeEach(async () => {
  reported = [];
  stopped = false;
  app = createApp({
    data: ":memory:",
    ports: { ingest: 0, endpoints: 0, endpointsTls: 0 },
    scenarios: fileURLToPath(new URL("../../resources/scenarios", import.meta.url)),
    version: "0.0.0",
    report: (error) => reported.push(error),
  });
  await app.start();
});
afterEach(async () => {
  if (!stopped) await app.stop();
  expect(reported).toEqual([]);
});

const call = <Name extends CallName>(name: Name, input: InputOf<Name>): Promise<AnswerOf<Name>> =>
  typedCalls(app.api.call).call(name, input);

/** How a run looked each time that it had changed, the last time when it was over. */
async function follow({
  id,
  report: first,
}: ScenarioRunAnswer): Promise<ScenarioRunAnswer["report"][]> {
  const seen = [first];
  await until(async () => {
    const { report } = await call("scenarioRuns.get", { id });
    if (JSON.stringify(report) !== JSON.stringify(seen.at(-1))) seen.push(report);
    return report.state !== "running";
  });
  return seen;
}

const small = `name: Small
endpoints:
  Receiver: [{ status: 503 }, { status: 200 }]
destinations:
  Receiver:
    webhooks: [{ endpoint: Receiver }]
steps:
  - send: { type: track, event: Signed Up, userId: u_1 }
  - advance: idle
  - expect: { deliveries: { state: delivered, attempts: 2 } }
`;

const large = (repeat: number): string => `name: Large
endpoints: { Receiver: [{ status: 200 }] }
destinations: { Receiver: { webhooks: [{ endpoint: Receiver }] } }
steps:
  - send: { type: track, event: Imported, userId: u_1, properties: { text: ${"x".repeat(30_000)} } }
    repeat: ${repeat}
  - advance: idle
  - expect: { deliveries: { count: ${repeat} } }
  - expect: { requests: { count: ${repeat} } }
  - expect: { attempts: { count: ${repeat} } }
`;

describe("the control API's scenarios", () => {
  test("count requests of more than 1 MB", async () => {
    const report = (await follow(await call("scenarios.run", { text: large(50) }))).at(-1);
    expect(report?.state).toBe("passed");
  });

  test("with more requests than an endpoint keeps fail only where they expect requests", async () => {
    const report = (await follow(await call("scenarios.run", { text: large(300) }))).at(-1);
    expect(report?.steps.map(({ state }) => state)).toEqual([
      "passed",
      "passed",
      "passed",
      "failed",
      "skipped",
    ]);
    expect(report?.steps[3]?.problem).toMatch(
      /^The endpoint Receiver received 300 requests and kept/,
    );
  });

  test("are those that come with Hookyard, each as its file is", async () => {
    const { items } = await call("scenarios.list", {});
    const outage = items.find(({ file }) => file === "outage.yaml");
    expect(outage).toMatchObject({ name: "An outage of 90 minutes, and recovery" });
    expect(outage?.text).toContain("steps:");
  });

  test("are checked without being run", async () => {
    expect(await call("scenarios.check", { text: small })).toEqual({ name: "Small", problems: [] });
    expect(await call("scenarios.check", { text: "name: A\nstep: []\n" })).toEqual({
      name: null,
      problems: [
        { line: 1, column: 1, message: "steps is missing: a list of steps." },
        { line: 2, column: 1, message: "step is unknown. Did you mean steps?" },
      ],
    });
  });

  test("run beside the user's own pipeline, and tell of each step as it begins and ends", async () => {
    const areas: string[] = [];
    app.api.changes.subscribe((changes) => areas.push(...changes.map(({ area }) => area)));
    const run = await call("scenarios.run", { text: small, file: "small.yaml", seed: 7 });
    expect(run.report).toMatchObject({
      state: "running",
      file: "small.yaml",
      name: "Small",
      seed: 7,
    });
    expect(run.report.steps.map(({ state, text }) => [state, text])).toEqual([
      ["waiting", "send track Signed Up"],
      ["waiting", "advance idle"],
      ["waiting", "expect"],
    ]);
    const seen = await follow(run);
    expect(seen.at(-1)).toMatchObject({
      state: "passed",
      steps: [{ state: "passed" }, { state: "passed" }, { state: "passed" }],
    });
    for (const { steps } of seen)
      expect(steps.map(({ state }) => state).join(" ")).toMatch(
        /^(?:passed ?)*(?:running ?)?(?:waiting ?)*$/,
      );
    expect((await call("messages.list", {})).total).toBe(0);
    await until(() => areas.includes("scenario-runs"));
  });

  test("say why a text cannot be run, as a run that is over", async () => {
    const run = await call("scenarios.run", { text: "name: [" });
    expect(run.report).toMatchObject({ state: "unusable", problems: [{ line: 1 }] });
  });

  test("can be ended, and are forgotten then", async () => {
    const long = small.replace(
      "advance: idle",
      "send: { type: track, event: Again, userId: u_2 }\n    repeat: 10000\n    every: 1s",
    );
    const { id } = await call("scenarios.run", { text: long });
    await call("scenarioRuns.delete", { id });
    expect((await call("scenarioRuns.list", {})).items).toEqual([]);
    await expect(call("scenarioRuns.get", { id })).rejects.toThrow("There is no run");
  });

  test("do not keep a stop waiting, also while a long advance is under way", async () => {
    const long = small
      .replace("{ status: 503 }, { status: 200 }", "{ status: 503 }")
      .replace("userId: u_1 }", "userId: u_1 }\n    repeat: 300\n    batch: 300");
    const { id } = await call("scenarios.run", { text: long });
    await until(
      async () => (await call("scenarioRuns.get", { id })).report.steps[1]?.state === "running",
    );
    stopped = true;
    await app.stop();
  });

  async function stopDuring(step: string, isBusy: () => boolean): Promise<void> {
    await call("scenarios.run", { text: `name: A\nsteps:\n  - ${step}\n` });
    await until(async () => isBusy());
    stopped = true;
    await app.stop();
  }

  test("do not keep a stop waiting for the end of a wait", async () => {
    const set = vi.spyOn(globalThis, "setTimeout");
    const cancelled = vi.spyOn(globalThis, "clearTimeout");
    onTestFinished(() => void vi.restoreAllMocks());
    const place = (): number => set.mock.calls.findIndex(([, ms]) => ms === 59_999);
    await stopDuring("wait: 59999ms", () => place() >= 0);
    expect(cancelled).toHaveBeenCalledWith(set.mock.results[place()]?.value);
  });

  test("do not keep a stop waiting for a receiver that does not answer", async () => {
    const sockets: Socket[] = [];
    const server = createServer((socket) => sockets.push(socket.on("error", () => undefined)));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    await stopDuring(`request: { url: "${url}", tries: 10 }`, () => sockets.length > 0);
    // All ten take a minute.
    expect(sockets.length).toBeLessThan(10);
  });

  test("count until they have ended, also those that are forgotten", async () => {
    const ending = Promise.withResolvers<void>();
    const scenarios = createScenarios({
      directory: null,
      own: typedCalls(app.api.call),
      async start(options) {
        const pipeline = await startPipeline(options);
        return { ...pipeline, stop: () => ending.promise.then(() => pipeline.stop()) };
      },
      onChange: () => undefined,
      report: (error) => reported.push(error),
    });
    const text = "name: Real time\nsteps:\n  - wait: 1m\n";
    const run = () => scenarios.handlers["scenarios.run"]({ text });
    const ids: string[] = [];
    for (let one = 0; one < 4; one += 1) {
      const started = await run();
      if (isProblem(started)) throw new Error(started.message);
      ids.push(started.id);
    }
    for (const id of ids) await scenarios.handlers["scenarioRuns.delete"]({ id });
    expect(await run()).toMatchObject({ code: "too_many_runs" });
    ending.resolve();
    await until(async () => !isProblem(await run()));
    await scenarios.stop();
  });

  test("do not run in any number at once", async () => {
    const runs = await Promise.all(
      [1, 2, 3, 4].map((seed) => call("scenarios.run", { text: small, seed })),
    );
    await expect(call("scenarios.run", { text: small })).rejects.toThrow(
      "4 scenarios are running already",
    );
    for (const run of runs) expect((await follow(run)).at(-1)).toMatchObject({ state: "passed" });
    expect((await call("scenarioRuns.list", {})).items.map(({ id }) => id)).toEqual(
      runs.map(({ id }) => id).toReversed(),
    );
  });

  test("give others a turn after each step", async () => {
    const steps = Array.from({ length: 200 }, () => "  - expect: { messages: { never: true } }");
    let turns = 0;
    let isOver = false;
    const count = (): void => {
      turns += 1;
      if (!isOver) setImmediate(count);
    };
    const run = await call("scenarios.run", { text: `name: Long\nsteps:\n${steps.join("\n")}` });
    count();
    const ended = new Promise<void>((resolve) =>
      app.api.changes.subscribe(async () => {
        const { report } = await call("scenarioRuns.get", { id: run.id });
        if (report.state !== "running") resolve();
      }),
    );
    await ended;
    isOver = true;
    expect(turns).toBeGreaterThan(200);
  });

  test("are answered in less than 1 MB, the newest first", async () => {
    const steps = Array.from(
      { length: 1500 },
      (_, n) => `  - expect: { messages: { never: true } }\n    name: ${"é".repeat(50)}${n}`,
    );
    const text = `name: Named\ndescription: ${"N".repeat(5000)}\nsteps:\n${steps.join("\n")}`;
    const runs = [];
    for (let seed = 1; seed <= 4; seed += 1) runs.push(await call("scenarios.run", { text, seed }));
    const { items } = await call("scenarioRuns.list", {});
    expect(Buffer.byteLength(JSON.stringify({ items }))).toBeLessThan(1_000_000);
    expect(items.map(({ report }) => report.steps.length + (report.stepsLeftOut ?? 0))).toEqual(
      runs.map(() => 1500),
    );
    expect(items[0]?.report.stepsLeftOut).toBeUndefined();
    expect(items[3]?.report.steps).toEqual([]);
    expect(items[0]?.report.description).toHaveLength(1000);
    for (const { id } of runs) await call("scenarioRuns.delete", { id });
  });
});
