import { expect, test } from "vitest";
import type { DestinationId, SourceId } from "../domain/ids.ts";
import { isProblem } from "../domain/problem.ts";
import { drawUnit } from "../domain/random.ts";
import { openTestStore } from "../store/store.fixture.ts";
import { createChangeFeed } from "./changes.ts";
import { createConfiguration } from "./configuration.ts";

test("after any changes, what is in memory is what a start would read", () => {
  const { store } = openTestStore();
  const options = {
    store,
    now: () => 0,
    changes: createChangeFeed(),
    onChange: () => undefined,
    onDestinationDeleted: () => undefined,
  };
  const configuration = createConfiguration(options);
  let drawn = 0;
  const draw = (below: number): number => Math.floor(drawUnit(5, drawn++, 1) * below);
  const oneOf = <T>(values: readonly T[]): T | undefined => values[draw(values.length)];
  const source = (): SourceId => oneOf(sourceIds()) ?? (999 as SourceId);
  const destination = (): DestinationId =>
    oneOf(configuration.destinations())?.id ?? (999 as DestinationId);
  const sourceIds = (): SourceId[] => configuration.sources().map(({ id }) => id);
  const some = (): SourceId[] => sourceIds().filter(() => draw(3) === 0);
  const webhooks = [{ url: "http://127.0.0.1:9/", headers: {} }];
  const changes: (() => unknown)[] = [
    () => configuration.createSource({ name: "s", writeKey: `k${draw(20)}` }),
    () => configuration.createDestination({ name: "d", sourceIds: some(), webhooks }),
    () => configuration.updateSource(source(), { writeKey: `k${draw(20)}` }),
    () =>
      configuration.updateDestination(destination(), {
        sourceIds: some(),
      }),
    () => draw(3) === 0 && configuration.deleteSource(source()),
    () => draw(3) === 0 && configuration.deleteDestination(destination()),
    () => configuration.updateSource(source(), { faults: [] }),
    () => {
      const fail = (): void =>
        store.atomically(() => {
          configuration.createSource({ name: "gone", writeKey: "gone" });
          throw new Error("no");
        });
      expect(fail).toThrow("no");
      configuration.reload();
    },
  ];
  let most = 0;
  for (let step = 0; step < 300; step += 1) {
    oneOf(changes)?.();
    const read = createConfiguration(options);
    expect(configuration.sources()).toEqual(read.sources());
    expect(configuration.destinations()).toEqual(read.destinations());
    for (const id of [...sourceIds(), 999 as SourceId])
      expect(configuration.destinationsOf(id)).toEqual(read.destinationsOf(id));
    for (const { id } of read.destinations())
      expect(configuration.destination(id)).toEqual(read.destination(id));
    for (const key of ["gone", ...Array.from({ length: 20 }, (_, n) => `k${n}`)])
      expect(configuration.sourceByWriteKey(key)).toEqual(read.sourceByWriteKey(key));
    most = Math.max(most, read.sources().length);
  }
  expect(most).toBeGreaterThan(5);
  const faulty = configuration.createSource({ name: "faulty", writeKey: "faulty" });
  if (isProblem(faulty)) throw new Error(faulty.message);
  const { faults } = configuration.source(faulty.id) ?? {};
  configuration.updateSource(faulty.id, { name: "renamed" });
  expect(configuration.source(faulty.id)?.faults).toBe(faults);
  configuration.updateSource(faulty.id, { faults: [] });
  expect(configuration.source(faulty.id)?.faults).not.toBe(faults);
});
