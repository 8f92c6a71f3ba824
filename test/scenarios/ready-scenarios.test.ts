/** The scenarios that come with Hookyard, run as CI would run them. */

import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import type { ScenarioReport } from "../../src/contract/scenarios.ts";
import { runHookyard } from "./run-hookyard.ts";

const directory = fileURLToPath(new URL("../../resources/scenarios/", import.meta.url));
const files = readdirSync(directory).filter((file) => file.endsWith(".yaml"));

test(`all ${files.length} of them pass`, async () => {
  const { code, out } = await runHookyard(["run", "--json", ...files], { cwd: directory });
  const { scenarios } = JSON.parse(out) as { scenarios: ScenarioReport[] };
  expect(scenarios.map(({ file, state }) => `${file}: ${state}`)).toEqual(
    files.map((file) => `${file}: passed`),
  );
  expect(code).toBe(0);
});
