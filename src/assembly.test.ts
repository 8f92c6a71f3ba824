import { expect, onTestFinished, test } from "vitest";
import { PortTaken } from "./app-errors.ts";
import { createCore, createDelivery, onLastingPorts, type Ports } from "./assembly.ts";
import { isProblem } from "./domain/problem.ts";
import { request } from "./store/store.fixture.ts";

test("a destination is deleted on a full disk too, and its deliveries are cancelled when there is room", async () => {
  const reported: unknown[] = [];
  const core = createCore({
    data: ":memory:",
    inThread: false,
    report: (error) => reported.push(error),
  });
  const { scheduler } = createDelivery(core, { dataDir: null, inThread: false, traces: null });
  onTestFinished(async () => {
    await scheduler.stop();
    core.changes.stop();
    core.store.close();
  });
  const { store, configuration, activity } = core;
  const destination = configuration.createDestination({
    ...{ name: "Out", sourceIds: [] },
    webhooks: [{ url: "http://127.0.0.1:1/", headers: {} }],
  });
  if (isProblem(destination)) throw new Error(destination.message);
  store.commit([request([{ to: [destination.id] }])]);
  const { record } = store;
  store.record = () => {
    throw Object.assign(new Error("full"), { code: "SQLITE_FULL" });
  };
  expect(configuration.deleteDestination(destination.id)).toBeNull();
  expect([store.trouble()?.code, configuration.destinations()]).toEqual(["store_unavailable", []]);
  store.record = record;
  scheduler.start();
  await activity.whenQuiet();
  expect([store.countByState().cancelled, reported]).toEqual([1, []]);
});

test("lasting ports are below 32,768, and others where one of them is taken", async () => {
  const tried: number[] = [];
  const startAfter =
    (failures: number, failure: Error) =>
    async (ports: Ports): Promise<string> => {
      const numbers = [ports.ingest, ports.endpoints, ports.endpointsTls];
      expect(new Set(numbers).size).toBe(3);
      tried.push(...numbers);
      if (tried.length <= failures * numbers.length) throw failure;
      return "started";
    };
  const taken = new PortTaken({ port: 20_000, role: "ingest" });
  expect(await onLastingPorts(startAfter(3, taken))).toBe("started");
  expect(tried).toHaveLength(12);
  expect(Math.min(...tried)).toBeGreaterThan(1024);
  expect(Math.max(...tried)).toBeLessThan(32_768);
  await expect(onLastingPorts(startAfter(Infinity, taken))).rejects.toBe(taken);
  const other = new Error("the disk is full");
  await expect(onLastingPorts(startAfter(Infinity, other))).rejects.toBe(other);
});
