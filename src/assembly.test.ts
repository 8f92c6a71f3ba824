import { expect, onTestFinished, test } from "vitest";
import { createCore, createDelivery } from "./assembly.ts";
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
