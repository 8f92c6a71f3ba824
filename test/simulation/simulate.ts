/**
 * `npm run simulate -- --seed 7 --hours 100 --runs 20`: runs with the seeds 7 to 26, each until its
 * clock has gone on for 100 hours. `--seed 7:20 --seed 91` runs 20 hours of the first, and of each
 * as many runs. Ends with 1 at the first that fails, and says how to run it again. `--log` prints
 * each step.
 */

import { parseArgs } from "node:util";
import { Broken } from "./broken.ts";
import { Disk } from "./disk.ts";
import { Platform } from "./platform.ts";
import { Random } from "./random.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string", multiple: true, default: [String(Date.now() % 1_000_000_000)] },
    hours: { type: "string", default: "100" },
    runs: { type: "string", default: "1" },
    log: { type: "boolean", default: false },
  },
});
const runs = values.seed.flatMap((asked) => {
  const [first, hours = values.hours] = asked.split(":");
  return Array.from({ length: Number(values.runs) }, (_, run) => ({
    seed: Number(first) + run,
    hours: Number(hours),
  }));
});
const realTime = performance.now.bind(performance);
const print = (line: string): void => void process.stdout.write(`${line}\n`);

const platform = new Platform();
const disk = new Disk(() => platform.die());
const { Simulation } = await import("./simulation.ts");
// How long the validator takes to load does not follow from the seed.
await (await import("../../src/engine/plans/plans.ts")).loadPlans();

const startedAt = realTime();
for (const { seed, hours } of runs) {
  platform.begin(new Random(seed, 2));
  disk.begin(new Random(seed, 3));
  const simulation = new Simulation({
    seed,
    hours,
    platform,
    disk,
    log: values.log ? print : null,
  });
  process
    .removeAllListeners("uncaughtException")
    .on("uncaughtException", (error) => simulation.crash(error));
  process
    .removeAllListeners("unhandledRejection")
    .on("unhandledRejection", (error) => simulation.crash(error));
  try {
    const digest = await simulation.run();
    print(
      `seed ${seed}: ${Math.round(simulation.hours)} hours, ${simulation.step} steps, ${simulation.deaths} deaths, ${disk.statements} statements, ${digest}`,
    );
  } catch (error) {
    print(
      `seed ${seed} fails at step ${simulation.step}, after ${Math.round(simulation.hours)} hours:`,
    );
    if (error instanceof Broken) {
      print(
        `  broken: ${error.message}\n  expected: ${JSON.stringify(error.expected)}\n  actual: ${error.actual instanceof Error ? error.actual.stack : JSON.stringify(error.actual)}`,
      );
    } else print(error instanceof Error ? (error.stack ?? error.message) : String(error));
    print(`  again: npm run simulate -- --seed ${seed} --hours ${hours} --log`);
    process.exit(1);
  }
}
print(`${Math.round((realTime() - startedAt) / 1000)} s`);
process.exit(0);
