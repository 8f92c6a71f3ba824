/**
 * The same file and the same seed give the same report, byte for byte, however busy the machine is.
 */

import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { startInMemory } from "../../src/app.ts";
import { typedCalls } from "../../src/scenarios/run/pipeline.ts";
import { readScenario } from "../../src/scenarios/file/read-scenario.ts";
import { runRead } from "../../src/scenarios/run/run-scenario.ts";
import { runHookyard } from "./run-hookyard.ts";

/**
 * Everything that could differ: webhooks beside each other, draws, held attempts, cut connections,
 * ids that the pipeline makes, ports in sentences, and expectations that fail.
 */
const eventful = `name: Eventful
endpoints:
  Flaky: [{ status: 503, chance: 0.4 }, { status: 200 }]
  Slow: [{ do: hang, times: 3 }, { status: 500, delay: 2s }]
  Cut: [{ do: reset, times: 4 }, { do: garbage }]
  Secure: [{ status: 200 }]
destinations:
  Three: { webhooks: [{ endpoint: Flaky }, { endpoint: Slow }, { endpoint: Cut }], sharedSecret: s }
  Secure: { webhooks: [{ endpoint: Secure, certificate: self-signed }] }
  Gone: { webhooks: [{ url: "http://127.0.0.1:9/", mayBeDown: true }] }
steps:
  - send: { type: track, event: Product Viewed }
    users: [u_1, u_2, u_3]
    repeat: 2
    every: 40s
    batch: 3
  - post: '{"batch":[{"type":"track","event":"No id","userId":"u_7"},7]}'
  - advance: 90s
  - expect:
      - deliveries: { state: delivered }
      - deliveries: { of: { destination: Gone }, attempts: 1 }
      - attempts: { of: { webhook: Slow }, result: 200 }
      - attempts: { of: { webhook: Cut }, result: timeout }
      - attempts: { of: { destination: Secure }, result: 200 }
      - attempts: { of: { event: No id }, result: 404 }
      - messages: { of: { state: rejected }, state: delivered }
      - requests: { answered: 200, signature: none }
      - clock: { nextDue: nothing }
      - deliveries: { of: { destination: Three }, state: delivered, within: 4h }
`;

async function report(seed: number): Promise<string> {
  const done = await runRead({
    read: readScenario(eventful),
    file: "eventful.yaml",
    seed,
    async start({ startAt }) {
      const app = await startInMemory({ startAt, version: "0.0.0" });
      return { ...typedCalls(app.api.call), stop: app.stop };
    },
  });
  return JSON.stringify(done, null, 2);
}

test("8 runs, some beside each other, give the same bytes; another seed gives others", async () => {
  const first = await report(1);
  expect(JSON.parse(first)).toMatchObject({ state: "failed", problems: [] });
  const others = (await Promise.all([1, 2, 3].map(() => several(2)))).flat();
  for (const other of [...others, await report(1)]) expect(other).toBe(first);
  expect(others).toHaveLength(6);
  expect(await report(2)).not.toBe(first);
});

async function several(times: number): Promise<string[]> {
  const reports: string[] = [];
  for (let run = 0; run < times; run += 1) reports.push(await report(1));
  return reports;
}

test("so do two processes", async () => {
  const cwd = fileURLToPath(new URL("../../resources/scenarios", import.meta.url));
  const args = ["run", "--json", "--seed", "5", "flaky.yaml", "one-of-three-down.yaml"];
  const [one, other] = await Promise.all([runHookyard(args, { cwd }), runHookyard(args, { cwd })]);
  expect(one?.out).toBe(other?.out);
  expect(one?.code).toBe(0);
});
