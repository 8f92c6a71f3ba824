import { expect, test } from "vitest";
import { readScenario } from "../file/read-scenario.ts";
import { CallRefused } from "./pipeline.ts";
import { runRead } from "./run-scenario.ts";

test("settings that the pipeline refuses make the file unusable, at their place", async () => {
  const read = readScenario("name: A\nsettings: { vendor: shop }\nsteps:\n  - advance: 1h\n");
  const report = await runRead({
    read,
    start: async () => ({
      async call(name) {
        if (name === "clock.set") return { now: "2026-11-21T09:00:00Z" } as never;
        throw new CallRefused(name, { status: 400, code: "invalid", message: "No." });
      },
      stop: async () => undefined,
    }),
  });
  expect(report).toMatchObject({
    state: "unusable",
    problems: [{ line: 2, column: 11, message: "No." }],
  });
});
