/** docs/scenarios.md: its scenarios run, its test runs, and it leaves no member out. */

import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { startInMemory } from "../../src/app.ts";
import { typedCalls } from "../../src/scenarios/run/pipeline.ts";
import { readScenario } from "../../src/scenarios/file/read-scenario.ts";
import { runRead } from "../../src/scenarios/run/run-scenario.ts";

const root = new URL("../../", import.meta.url);
const page = readFileSync(new URL("docs/scenarios.md", root), "utf8");
const blocks = [...page.matchAll(/^```yaml\n([\s\S]*?)^```/gm)].map(([, text = ""]) => text);

test.each(blocks)("%#: the scenario of the page passes", async (text) => {
  const report = await runRead({
    read: readScenario(text),
    async start({ startAt }) {
      const app = await startInMemory({ startAt, version: "0.0.0" });
      return { ...typedCalls(app.api.call), stop: app.stop };
    },
  });
  expect(report.problems).toEqual([]);
  expect(
    report.steps.flatMap(({ expectations }) => expectations).filter(({ passed }) => !passed),
  ).toEqual([]);
  expect(report.state).toBe("passed");
});

test("the test that the page shows is one that runs", () => {
  const [, code] = /^```ts\n([\s\S]*?)^```/m.exec(page) ?? [];
  expect(code).toBe(readFileSync(new URL("test/testing/outage.test.ts", root), "utf8"));
});

type Schema = { properties?: Record<string, Schema>; definitions?: Record<string, Schema> } & {
  [key: string]: unknown;
};

describe("the page names every member of a scenario", () => {
  const names = new Set<string>();
  const look = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    if (Array.isArray(value)) return value.forEach(look);
    const { properties, definitions = {}, ...rest } = value as Schema;
    for (const [name, member] of Object.entries(properties ?? {})) {
      names.add(name);
      look(member);
    }
    // What an audience's rule is made of is told on a page of its own.
    for (const [name, member] of Object.entries(definitions))
      if (name.startsWith("Scenario")) look(member);
    Object.values(rest).forEach(look);
  };
  look(JSON.parse(readFileSync(new URL("resources/scenario.schema.json", root), "utf8")));

  test.each([...names].toSorted())("%s", (name) => {
    expect(page).toMatch(new RegExp(`\`(?:[^\`\n]*[^\\w])?${name}(?:\\W[^\`\n]*)?\``));
  });
});
